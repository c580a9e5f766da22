#!/usr/bin/env python3
"""What do shards cost?

    bench/shards.py [--rounds 7] [--mib 500] [--shards 2] [--aead fast] [--datagram 65000]

One FETCH of 160 KB objects from a node's memory over loopback, as in bench/fetch.py, from a node of one shard and from
one of several, by a connection whose home has the track and by one whose home has not, and by one of each at once. CPU
is the node's, in seconds per GB. Rounds are interleaved; ratios are of medians. The limit is 1.1.
"""

import argparse
import statistics
import subprocess
import sys
from pathlib import Path

from fetch import Node, program


def cpu_seconds(pid):
    """To the nanosecond, where a tick would be a twentieth of a round. No thread of the node's ends meanwhile."""
    return sum(int(each.read_text().split()[0]) for each in Path(f"/proc/{pid}/task").glob("*/schedstat")) / 1e9


class ShardedNode(Node):
    def __init__(self, meter, mib, datagram, aead, shards):
        self.shards = shards
        self.prefix, self.meter, self.times = [], meter, 1
        self.options = [str(datagram), "distance", aead]
        self.mib = str(mib)
        self.process = subprocess.Popen([meter, "node", "127.0.0.1:0", self.mib, *self.options, str(shards)],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.address, self.fingerprint = self.process.stdout.readline().split()

    def measure(self, places):
        """CPU seconds of the node per GB, and bytes a second, of one reader for each place at once."""
        before = cpu_seconds(self.process.pid)
        readers = [subprocess.Popen([self.meter, "read", self.address, self.fingerprint, self.mib, *self.options, "1",
                                     str(self.shards), place], stdout=subprocess.PIPE, text=True) for place in places]
        outputs = [reader.communicate()[0].split() for reader in readers]
        if any(reader.returncode != 0 for reader in readers):
            raise SystemExit("bench: a fetch failed")
        total = sum(int(size) for size, _ in outputs)
        return ((cpu_seconds(self.process.pid) - before) / (total / 1e9),
                sum(int(size) / float(seconds) for size, seconds in outputs))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--mib", type=int, default=500)
    parser.add_argument("--shards", type=int, default=2)
    parser.add_argument("--build", default="bench")
    parser.add_argument("--aead", default="fast")
    parser.add_argument("--datagram", type=int, default=65000)
    args = parser.parse_args()
    meter = program("fetch_meter", args.build)
    one = ShardedNode(meter, args.mib, args.datagram, args.aead, 1)
    several = ShardedNode(meter, args.mib, args.datagram, args.aead, args.shards)
    cases = {"one shard": (one, ["own"]), "own shard": (several, ["own"]), "other shard": (several, ["other"]),
             "one shard, two readers": (one, ["own", "own"]), "both, two readers": (several, ["own", "other"])}
    results = {name: [] for name in cases}
    for _ in range(args.rounds):
        for name, (node, places) in cases.items():
            results[name].append(node.measure(places))
    one.stop()
    several.stop()
    print(f"{args.aead}, datagrams of {args.datagram} bytes, {args.rounds} rounds of {args.mib} MiB, {args.shards} shards")
    worst = 0
    for name, rounds in results.items():
        base = "one shard, two readers" if "two" in name else "one shard"
        cpu, rate = (statistics.median(column) for column in zip(*rounds))
        ratio = cpu / statistics.median(r[0] for r in results[base])
        worst = max(worst, ratio)
        print(f"  {name:24} CPU s/GB {cpu:.3f} ({min(r[0] for r in rounds):.3f} to {max(r[0] for r in rounds):.3f}), "
              f"{ratio:.2f} of one shard   {rate / 1e9:.2f} GB/s")
    return 0 if worst <= 1.1 else 1


if __name__ == "__main__":
    sys.exit(main())
