#!/usr/bin/env python3
"""Does a node's other readers notice those who read nothing, or hardly anything?

    bench/slow_readers.py [--seconds 20] [--rounds 3] [--rate 20] [--ram-mib 256]

30 subscribers of one live track, and in turn the same 30 beside 10 that have stalled, half of them frozen processes and
half whose sessions live while nothing is taken, and 10 that take 10 kB a second. Asked are the throughput of the 30, and
how long their objects took from the publisher, at the 99th of a hundred; then the same of 30 that fetch, one object
after the other, beside 20 fetches of everything that stand still or crawl. And how much memory the node had at most,
beside what it may have: --ram-mib. Build first: cmake --preset bench && cmake --build build/bench.
"""

import argparse
import os
import signal
import statistics
import subprocess
import sys
import threading
import time
from pathlib import Path

from fetch import median, program
from live_track import LiveTrack, Node, Subscriber, subscribed, until
from value_store import GET, LOADED, PUT, STORED, LOOKUP, HELD, Values

SIZE = 160_000
GOOD, STALLED, CRAWLING = 30, 10, 10
CRAWL_BYTES = 10_000  # A second.
TRACK = "bench-slow--readers"


class SlowReader:
    """`kvcast moq sub` or `fetch` whose output is taken slowly, or not at all; its session lives on."""

    def __init__(self, kvcast, what, node, track, bytes_per_second):
        self.process = subprocess.Popen([kvcast, "moq", what, node.address, track, "--output", "-", "--timeout", "600"],
                                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.rate = bytes_per_second
        threading.Thread(target=self._crawl, daemon=True).start()

    def _crawl(self):
        while self.rate and os.read(self.process.stdout.fileno(), max(1, self.rate // 10)):
            time.sleep(0.1)

    def freeze(self):
        self.process.send_signal(signal.SIGSTOP)

    def end(self):
        self.process.kill()
        self.process.wait()


class Memory(threading.Thread):
    """The most that a process had, from when it was begun."""

    def __init__(self, pid):
        super().__init__(daemon=True)
        self.pid, self.most, self.over = pid, 0, threading.Event()
        self.start()

    def run(self):
        while not self.over.wait(0.05):
            pages = int(Path(f"/proc/{self.pid}/statm").read_text().split()[1])
            self.most = max(self.most, pages * os.sysconf("SC_PAGE_SIZE"))

    def end(self):
        self.over.set()
        self.join()
        return self.most


def slow_readers(kvcast, what, node, track):
    readers = [SlowReader(kvcast, what, node, track, 0 if i < STALLED else CRAWL_BYTES) for i in range(STALLED + CRAWLING)]
    return readers


def percentile(values, share):
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]


def subscriptions(args, kvcast, slow):
    """Bytes a second of all good subscribers; the 99th percentile of their delays, and of those after the first of them
    had it, since the publisher's tool looks at its input every 20 ms; the node's memory, how many were cut."""
    with Node(kvcast, "--ram", f"{args.ram_mib}MiB", "--admin", "127.0.0.1:0", "--cache-dir", "none") as node:
        track = LiveTrack(kvcast, node, TRACK, SIZE)
        good = [Subscriber(kvcast, node, TRACK, times=True) for _ in range(GOOD)]
        bad = slow_readers(kvcast, "sub", node, TRACK) if slow else []
        subscribed(node, 0, GOOD + len(bad))
        for reader in bad[:STALLED // 2]:
            reader.freeze()
        memory = Memory(node.process.pid)
        count = int(args.seconds * args.rate)
        track.send(count, args.rate)
        track.end()
        ends = [reader.end() for reader in good]
        cut = node.metric("kvcast_relay_subscriptions_cut_total")
        for reader in bad:
            reader.end()
        delays = [came - sent for reader in good for came, sent in zip(reader.came_at, track.sent_at)]
        spread = [came - min(at) for at in zip(*[reader.came_at for reader in good]) for came in at]
        seconds = max(reader.came_at[-1] for reader in good) - track.sent_at[0]
        objects = sum(end.get("objects", 0) for end in ends)
        if objects != GOOD * count:
            print(f"  only {objects} of {GOOD * count} objects came", flush=True)
        return objects * SIZE / seconds, percentile(delays, 0.99), percentile(spread, 0.99), memory.end(), cut


def fetches(args, kvcast, slow):
    """The same of engines that get values one after the other: the 99th percentile of gets, and the median."""
    library, count = program("libkvcast.so", args.build), 400
    with Node(kvcast, "--ram", f"{args.ram_mib}MiB", "--admin", "127.0.0.1:0", "--cache-dir", "none") as node:
        keys = [b"value %d" % i for i in range(count)]
        with Values(library, node.address, SIZE, count) as values:
            if set(values.run(PUT, keys)) != {STORED}:
                raise SystemExit("bench: not all was put")
        subprocess.run([kvcast, "moq", "pub", node.address, TRACK, "--size", str(SIZE), "--count", str(count),
                        "--group-objects", "16"], check=True, stdout=subprocess.DEVNULL)
        bad = slow_readers(kvcast, "fetch", node, TRACK) if slow else []
        until(lambda: node.metric("kvcast_relay_fetches_total") >= len(bad), "the slow readers did not come")
        for reader in bad[:STALLED // 2]:
            reader.freeze()
        memory, delays, errors = Memory(node.process.pid), [], []
        barrier = threading.Barrier(GOOD + 1)

        def engine(number):
            with Values(library, node.address, SIZE, 1) as values:
                until(lambda: set(values.run(LOOKUP, keys)) == {HELD}, "not listed")
                barrier.wait()
                end, at = time.monotonic() + args.seconds, number
                while (begun := time.monotonic()) < end:
                    if values.run(GET, [keys[at % count]]) != [LOADED]:
                        errors.append(at)
                    delays.append(time.monotonic() - begun)
                    at += 7
                    # Each at its own pace, so that it is not the machine's two cores that are measured.
                    time.sleep(max(0.0, begun + 1 / args.rate - time.monotonic()))

        engines = [threading.Thread(target=engine, args=(i,)) for i in range(GOOD)]
        for thread in engines:
            thread.start()
        barrier.wait()
        for thread in engines:
            thread.join()
        cut = node.metric("kvcast_relay_fetches_cut_total")
        for reader in bad:
            reader.end()
        if errors:
            print(f"  {len(errors)} gets failed", flush=True)
        return len(delays) * SIZE / args.seconds, percentile(delays, 0.99), statistics.median(delays), memory.end(), cut


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--rate", type=float, default=20, help="objects a second and reader")
    parser.add_argument("--ram-mib", type=int, default=256)
    parser.add_argument("--build", default="bench")
    args = parser.parse_args()
    kvcast = program("kvcast", args.build)
    for name, measure, second in (("subscribers", subscriptions, "p99 after the first"), ("fetches", fetches, "median")):
        results = {False: [], True: []}
        for _ in range(args.rounds):
            for slow, rounds in results.items():
                rounds.append(measure(args, kvcast, slow))
        print(f"{GOOD} {name} at {args.rate:.0f} objects of {SIZE} bytes a second, {args.rounds} rounds of {args.seconds:.0f} s")
        alone = median(results[False])
        for slow, rounds in results.items():
            rate, late, other, most, cut = median(rounds)
            lates = [result[1] * 1e3 for result in rounds]
            print(f"  {'beside 20 slow ones' if slow else 'alone':20} {rate / 1e6:6.1f} MB/s ({rate / alone[0]:.2f}), p99 "
                  f"{late * 1e3:.1f} ms ({min(lates):.1f} to {max(lates):.1f}; {late / alone[1]:.2f}), {second} {other * 1e3:.1f} ms ({other / alone[2]:.2f}); "
                  f"{most / 2**20:.0f} MiB at most, {most / 2**20 / args.ram_mib:.2f} of --ram; {cut:.0f} cut", flush=True)


if __name__ == "__main__":
    sys.exit(main())
