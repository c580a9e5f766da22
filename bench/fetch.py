#!/usr/bin/env python3
"""What do MoQT, the relay and the store leave of QUIC's speed, and QUIC of TCP's?

    bench/fetch.py [--rounds 5] [--mib 500] [--aead gnutls fast] [--datagrams 1452 8900 65000] [--hot]

One FETCH of 160 KB objects from a node's memory over loopback, node and reader a process each, in turn with peers,
which run by themselves:

    KVCAST_BARE_QUIC=PROGRAM        one bulk stream over the same libraries, with no protocol above it.
    KVCAST_BARE_QUIC_FAST=PROGRAM   The second with libipsec-mb. Called as PROGRAM mtu=N total=MIB cc=cubic pin=0
                                    where crt.pem and key.pem are, each prints a line with "X GB/s".
    iperf3 -C cubic                 TCP, unencrypted.

The bare program sends the same 64 MiB again and again, and TCP even less, which a processor's cache may hold, while a
node's memory holds more than any cache. --hot has a track of 60 MiB fetched as often as makes up --mib instead: what
is left of the difference then is software.

A peer that is not there is left out. Ratios are of medians, rounds interleaved: what disturbs one disturbs the
others. CPU is in seconds per GB, of the end that sends and the end that receives. Build first: cmake --preset bench
&& cmake --build build/bench.
"""

import argparse
import json
import os
import re
import shutil
import statistics
import subprocess
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HOT_MIB = 60
TICKS = os.sysconf("SC_CLK_TCK")


def program(name, build):
    found = [p for p in (ROOT / "build" / build).rglob(name) if p.is_file() and os.access(p, os.X_OK)]
    if not found:
        raise SystemExit(f"bench: there is no {name} in build/{build}: build it first")
    return str(found[0])


def cpu_seconds(pid):
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def run_with_cpu(command, **kwargs):
    """Its output, and the CPU seconds that it took."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, **kwargs)
    output = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return output if process.returncode == 0 else "", usage.ru_utime + usage.ru_stime


class Node:
    """A node with a track in its memory, in a process of its own."""

    def __init__(self, meter, mib, datagram, control, aead, address="127.0.0.1:0", prefix=(), times=1):
        self.prefix, self.meter, self.times = list(prefix), meter, times
        self.options = [str(datagram), control, aead]
        self.mib = str(mib)
        self.process = subprocess.Popen(self.prefix + [meter, "node", address, self.mib] + self.options,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        words = self.process.stdout.readline().split()
        if len(words) != 2:
            raise SystemExit("bench: the node did not start")
        self.address, self.fingerprint = words

    def fetch(self, prefix=None):
        """Bytes a second, and CPU seconds per GB of the node and of the reader."""
        before = cpu_seconds(self.process.pid)
        command = [self.meter, "read", self.address, self.fingerprint, self.mib, *self.options, str(self.times)]
        output, reader = run_with_cpu((self.prefix if prefix is None else list(prefix)) + command)
        if not output:
            return None
        size, seconds = output.split()
        gb = int(size) / 1e9
        return int(size) / float(seconds), (cpu_seconds(self.process.pid) - before) / gb, reader / gb

    def stop(self):
        self.process.stdin.close()
        self.process.wait()


def bare_quic(path, directory, mib, datagram):
    if not path:
        return None
    output, _ = run_with_cpu([path, f"mtu={datagram}", f"total={mib}", "cc=cubic", "pin=0"], cwd=directory)
    rate = re.search(r"([0-9.]+) GB/s", output)
    cpu = dict(re.findall(r"(srv|GB/cpu-s) cpu ([0-9.]+)s", output))
    if not rate or "TIME LIMIT" in output:
        return None
    gb = mib * 2**20 / 1e9
    return float(rate[1]) * 1e9, float(cpu.get("srv", "nan")) / gb, float(cpu.get("GB/cpu-s", "nan")) / gb


def iperf3(mib, control="cubic", host="127.0.0.1", server_prefix=(), client_prefix=(), seconds=None):
    """The client sends, as iperf3 does it."""
    if not shutil.which("iperf3"):
        return None
    port = str(20000 + os.getpid() % 20000)
    server = subprocess.Popen(list(server_prefix) + ["iperf3", "-s", "-1", "--forceflush", "-p", port], stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, text=True)
    server.stdout.readline()
    while "listening" not in (line := server.stdout.readline()) and line:
        pass
    amount = ["-t", str(seconds)] if seconds else ["-n", f"{mib}M"]
    output, _ = run_with_cpu(list(client_prefix) + ["iperf3", "-J", "-c", host, "-p", port, "-C", control] + amount)
    server.terminate()
    server.communicate()
    if not output:
        return None
    end = json.loads(output)["end"]
    received = end["sum_received"]
    gb = received["bytes"] / 1e9
    cpu = end["cpu_utilization_percent"]
    scale = received["seconds"] / 100 / gb
    return received["bits_per_second"] / 8, cpu["host_total"] * scale, cpu["remote_total"] * scale


def median(rounds):
    return [statistics.median(column) for column in zip(*rounds)] if rounds else None


def compare(args, datagram, aead):
    bare = os.environ.get("KVCAST_BARE_QUIC_FAST" if aead == "fast" else "KVCAST_BARE_QUIC")
    results = {"kvcast": [], "bare QUIC": [], "iperf3 -C cubic": []}
    with tempfile.TemporaryDirectory() as directory:
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                        "-keyout", "key.pem", "-out", "crt.pem", "-days", "2", "-subj", "/CN=localhost"],
                       cwd=directory, check=bare is not None, capture_output=True)
        times = max(1, args.mib // HOT_MIB) if args.hot else 1
        node = Node(program("fetch_meter", args.build), HOT_MIB if args.hot else args.mib, datagram, "distance", aead,
                    times=times)
        for _ in range(args.rounds):
            for name, result in (("bare QUIC", bare_quic(bare, directory, args.mib, datagram)),
                                 ("kvcast", node.fetch()),
                                 ("iperf3 -C cubic", iperf3(args.mib * 4))):
                if result:
                    results[name].append(result)
        node.stop()
    ours = median(results["kvcast"])
    print(f"\n{aead}, datagrams of {datagram} bytes, {args.rounds} rounds of {args.mib} MiB"
          f"{', in cache' if args.hot else ''}")
    for name, rounds in results.items():
        if rounds:
            rate, sender, receiver = median(rounds)
            spread = f"{min(r[0] for r in rounds) / 1e9:.2f} to {max(r[0] for r in rounds) / 1e9:.2f}"
            ratio = "" if name == "kvcast" or not ours else f"   kvcast has {ours[0] / rate:.2f} of it"
            print(f"  {name:16} {rate / 1e9:5.2f} GB/s ({spread})  CPU s/GB: sends {sender:.2f}, receives "
                  f"{receiver:.2f}{ratio}", flush=True)
        else:
            print(f"  {name:16} left out")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--mib", type=int, default=500)
    parser.add_argument("--build", default="bench")
    parser.add_argument("--aead", nargs="+", default=["gnutls", "fast"])
    parser.add_argument("--datagrams", nargs="+", type=int, default=[1452, 8900, 65000])
    parser.add_argument("--hot", action="store_true")
    args = parser.parse_args()
    for aead in args.aead:
        for datagram in args.datagrams:
            compare(args, datagram, aead)


if __name__ == "__main__":
    main()
