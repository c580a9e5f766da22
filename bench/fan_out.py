#!/usr/bin/env python3
"""Do many subscribers cost the origin, or a relay, more than one does?

    bench/fan_out.py [--subscribers 1 8 64] [--objects 300] [--rounds 3] [--egress-mb 160]

A publisher, an origin, a relay below it and so many subscribers of one track, a process each. Objects of 160 KB come at
a rate that has the relay send --egress-mb a second at most, so that live objects need not wait. Asked are the
payloads that left the origin, and what the relay sent in a second of processor time. Build first: cmake --preset bench
&& cmake --build build/bench.
"""

import argparse

from fetch import cpu_seconds, median, program
from live_track import LiveTrack, Node, Subscriber, subscribed

SIZE = 160_000
TRACK = "bench-fan--out"


def fan_out(args, kvcast, count):
    """How often the content left the origin, and the relay's bytes per CPU second."""
    with Node(kvcast, "--ram", "512MiB", "--admin", "127.0.0.1:0") as origin, \
            Node(kvcast, "--ram", "512MiB", "--admin", "127.0.0.1:0", "--upstream", origin.address) as relay:
        relay.await_upstream()
        track = LiveTrack(kvcast, origin, TRACK, SIZE)
        readers = [Subscriber(kvcast, relay, TRACK) for _ in range(count)]
        subscribed(relay, 0, count)
        left, sent = (node.metric("kvcast_relay_sent_bytes_total") for node in (origin, relay))
        busy = cpu_seconds(relay.process.pid)
        track.send(args.objects, min(args.rate_max, args.egress_mb * 1e6 / SIZE / count))
        track.end()
        whole = sum(reader.end().get("objects") == args.objects for reader in readers)
        busy = cpu_seconds(relay.process.pid) - busy
        sent = relay.metric("kvcast_relay_sent_bytes_total") - sent
        left = origin.metric("kvcast_relay_sent_bytes_total") - left
        if whole != count:
            print(f"  only {whole} of {count} subscribers got all", flush=True)
        return left / (args.objects * SIZE), sent / busy


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--subscribers", nargs="+", type=int, default=[1, 8, 64])
    parser.add_argument("--objects", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--egress-mb", type=float, default=160)
    parser.add_argument("--rate-max", type=float, default=1000, help="objects a second, whoever subscribes")
    parser.add_argument("--build", default="bench")
    args = parser.parse_args()
    kvcast = program("kvcast", args.build)
    results = {count: [] for count in args.subscribers}
    for _ in range(args.rounds):
        for count, rounds in results.items():
            rounds.append(fan_out(args, kvcast, count))
    print(f"{args.rounds} rounds of {args.objects} objects of {SIZE} bytes, {args.egress_mb:.0f} MB/s from the relay")
    alone = median(results[args.subscribers[0]])[1]
    for count, rounds in results.items():
        left, pace = median(rounds)
        paces = [result[1] / 1e9 for result in rounds]
        print(f"  {count:3} subscribers: {left:.3f} times the content left the origin; the relay sent {pace / 1e9:.2f} GB "
              f"({min(paces):.2f} to {max(paces):.2f}) per CPU second, {pace / alone:.2f} of {args.subscribers[0]}'s")


if __name__ == "__main__":
    main()
