#!/usr/bin/env python3
"""How much of a long, lossy link does a FETCH use, and TCP over the same link?

    bench/wide_area.py [--mbit 400] [--rtt-ms 50] [--loss-percent 1] [--queue-kib 5000] [--mib 500] [--rounds 3]

Two network namespaces with a link between them (kvcast/io/namespace_link.cc): node in one, reader in the other, each
round over a new connection; in turn with iperf3 over TCP, BBR and cubic, where the kernel has them. Loss is both
ways. Needs to be root. Build first: cmake --preset bench && cmake --build build/bench.
"""

import argparse
import os
import subprocess

from fetch import Node, iperf3, median, program

NEAR, FAR = f"kvcast-near-{os.getpid()}", f"kvcast-far-{os.getpid()}"


def ip(*words):
    subprocess.run(["ip", *words], check=True)


def inside(name):
    return ["ip", "netns", "exec", name]


def measure(args):
    for number, name in enumerate((NEAR, FAR), 1):
        ip("-n", name, "link", "set", "lo", "up")
        for way in ("rmem", "wmem") if args.tcp_window_mib else ():
            sizes = f"4096 1048576 {args.tcp_window_mib * 2**20}"
            subprocess.run([*inside(name), "sysctl", "-qw", f"net.ipv4.tcp_{way}={sizes}"], check=False)
        ip("-n", name, "addr", "add", f"10.77.0.{number}/24", "dev", "wide0")
        ip("-n", name, "link", "set", "wide0", "up", "txqueuelen", "10000")
    kernel = subprocess.run(["sysctl", "-n", "net.ipv4.tcp_available_congestion_control"], capture_output=True,
                            text=True).stdout.split()
    results = {}
    meter = program("fetch_meter", args.build)
    nodes = {}
    for control in args.controls:
        nodes[control] = Node(meter, args.mib if control != "cubic" else 5, 1452, control, "fast", "10.77.0.1:0",
                              inside(NEAR))
    for _ in range(args.rounds):
        for control, node in nodes.items():
            results.setdefault(f"kvcast, {control}", []).append(node.fetch(inside(FAR)))
        for control in ("bbr", "cubic"):
            if control in kernel:
                results.setdefault(f"iperf3 -C {control}", []).append(
                    iperf3(0, control, "10.77.0.2", inside(FAR), inside(NEAR), args.tcp_seconds))
            else:
                results.setdefault(f"iperf3 -C {control}", [])
    for node in nodes.values():
        node.stop()
    print(f"{args.mbit} Mbit/s, {args.rtt_ms} ms there and back, {args.loss_percent} % lost each way, "
          f"{args.rounds} rounds of {args.mib} MiB")
    for name, rounds in results.items():
        rounds = [r for r in rounds if r]
        if not rounds:
            print(f"  {name:22} not in this kernel, or it failed")
            continue
        rates = [r[0] * 8 / 1e6 for r in rounds]
        print(f"  {name:22} {median(rounds)[0] * 8 / 1e6:6.1f} Mbit/s ({min(rates):.0f} to {max(rates):.0f}), "
              f"{median(rounds)[0] * 8 / 1e6 / args.mbit:.2f} of the link")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mbit", type=float, default=400)
    parser.add_argument("--rtt-ms", type=float, default=50)
    parser.add_argument("--loss-percent", type=float, default=1)
    parser.add_argument("--queue-kib", type=int, default=5000)
    parser.add_argument("--mib", type=int, default=500)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--tcp-seconds", type=int, default=10)
    parser.add_argument("--tcp-window-mib", type=int, default=0, help="let TCP's windows grow so far, not only as far as "
                        "the kernel lets them by default")
    parser.add_argument("--controls", nargs="+", default=["bbr", "cubic"])
    parser.add_argument("--build", default="bench")
    args = parser.parse_args()
    if os.geteuid() != 0:
        raise SystemExit("bench: network namespaces are root's")
    link = None
    try:
        for name in (NEAR, FAR):
            ip("netns", "add", name)
        link = subprocess.Popen([program("namespace_link", args.build), NEAR, FAR, str(args.mbit),
                                 str(args.rtt_ms / 2), str(args.loss_percent), str(args.queue_kib)],
                                stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        if link.stdout.readline().strip() != "ready":
            raise SystemExit("bench: the link did not come up")
        measure(args)
    finally:
        if link:
            link.stdin.close()
            print("  the link, both ways: " + "; ".join(link.stdout.read().split("\n")[:2]))
            link.wait()
        for name in (NEAR, FAR):
            subprocess.run(["ip", "netns", "del", name], check=False)


if __name__ == "__main__":
    main()
