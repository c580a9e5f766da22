#!/usr/bin/env python3
"""Is our eviction as good as the better of LRU and S3-FIFO, whatever is asked for?

Makes traces of kinds of use that engines see, replays each with `kvcast store replay`, and prints what the default
hits and how far it is ahead of the better of the two.

    bench/traces.py [--kvcast bin/kvcast] [--keep FOLDER] [KIND...]
"""

import argparse
import heapq
import itertools
import json
import math
import random
import subprocess
import tempfile
from pathlib import Path

PERCENTS = (1, 2, 5, 10, 20)


class Blocks:
    """Names that nobody has had before."""

    def __init__(self):
        self.count = itertools.count()

    def new(self, number):
        return [next(self.count) for _ in range(number)]


def chats(seed, requests, systems, zipf, return_chance, wait, system_blocks=(1, 6), turn_blocks=(1, 8),
          one_off=0.0, whole_tail=False):
    """Chats that begin with one of some system prompts and come back after a log-normal wait (in requests), or prompts of
    60 blocks that never do. A turn's last block is partial, so the next turn has another, unless whole_tail."""
    rng, blocks = random.Random(seed), Blocks()
    prompts = [blocks.new(rng.randint(*system_blocks)) for _ in range(systems)]
    weights = [1 / (rank + 1) ** zipf for rank in range(systems)]
    waiting, trace, now = [], [], 0.0

    def ask(prompt):
        trace.append(prompt)
        if rng.random() < return_chance:
            heapq.heappush(waiting, (now + rng.lognormvariate(math.log(wait), 1), rng.random(), prompt))

    while len(trace) < requests:
        now += rng.expovariate(1)
        while waiting and waiting[0][0] <= now and len(trace) < requests:
            before = heapq.heappop(waiting)[2]
            ask((before if whole_tail else before[:-1]) + blocks.new(rng.randint(*turn_blocks)))
        if rng.random() < one_off:
            trace.append(blocks.new(max(1, int(rng.expovariate(1 / 60)))))
        else:
            first = blocks.new(rng.randint(*turn_blocks) + int(rng.expovariate(1 / 8)))
            ask(rng.choices(prompts, weights)[0] + first)
    return trace


def documents(seed, requests, count, zipf, drift=0.0):
    """Questions about documents, some of which are asked about more; with drift, which these are changes."""
    rng, blocks = random.Random(seed), Blocks()
    system = blocks.new(3)
    texts = [system + blocks.new(rng.randint(10, 80)) for _ in range(count)]
    weights = [1 / (rank + 1) ** zipf for rank in range(count)]
    ranks = rng.choices(range(count), weights, k=requests)
    return [texts[(rank + int(i * drift)) % count] + blocks.new(rng.randint(1, 4))
            for i, rank in enumerate(ranks)]


def mixed(seed, *parts):
    """Several services at one store, at random."""
    rng = random.Random(seed)
    turns = [number for number, part in enumerate(parts) for _ in part]
    rng.shuffle(turns)
    sources = [iter(part) for part in parts]
    return [[f"{number}.{block}" for block in next(sources[number])] for number in turns]


def agents(seed, requests, systems):
    return chats(seed, requests, systems, 0.8, 0.93, 5, system_blocks=(5, 15), turn_blocks=(1, 3), whole_tail=True)


KINDS = {
    "chats": lambda: chats(1, 8000, 40, 1.0, 0.7, 400),
    "fast-chats": lambda: chats(2, 8000, 5, 0.5, 0.8, 40),
    "whole-tails": lambda: chats(14, 6000, 40, 1.0, 0.7, 300, whole_tail=True),
    "few-requests": lambda: chats(13, 1200, 10, 1.0, 0.7, 60),
    "agents": lambda: agents(3, 8000, 20),
    "tools": lambda: chats(4, 12000, 60, 1.1, 0.35, 200, system_blocks=(3, 20), turn_blocks=(1, 10)),
    "one-offs": lambda: chats(5, 6000, 20, 1.0, 0.6, 300, one_off=0.5),
    "documents": lambda: documents(6, 6000, 800, 0.9),
    "drifting-documents": lambda: documents(7, 6000, 2000, 1.2, drift=0.1),
    "equal-documents": lambda: documents(8, 6000, 500, 0.3),
    "mixed": lambda: mixed(9, chats(10, 3000, 20, 1.0, 0.7, 300), documents(11, 2500, 400, 0.8), agents(12, 3000, 10)),
}


def replay(kvcast, file):
    rows = json.loads(subprocess.run(
        [kvcast, "store", "replay", file, "--json", "--policy", "lru,s3fifo,default,oracle"],
        check=True, capture_output=True, text=True).stdout)
    return {(row["policy"], row["capacity_percent"]): row["hit_percent"] for row in rows}


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--kvcast", default="bin/kvcast")
    arguments.add_argument("--keep", type=Path, help="write the traces into this folder")
    arguments.add_argument("kind", nargs="*", choices=[[], *KINDS])
    options = arguments.parse_args()
    print(f"{'trace':<20}" + "".join(f"{percent:>15} %" for percent in PERCENTS))
    with tempfile.TemporaryDirectory() as folder:
        for kind in options.kind or KINDS:
            file = (options.keep or Path(folder)) / f"{kind}.jsonl"
            file.write_text("".join(json.dumps({"hash_ids": blocks}) + "\n" for blocks in KINDS[kind]()))
            hits = replay(options.kvcast, file)
            cells = []
            for percent in PERCENTS:
                ours = hits["default", percent]
                ahead = ours - max(hits["lru", percent], hits["s3fifo", percent])
                cells.append(f"{ours:5.1f} {ahead:+4.1f} /{hits['oracle', percent]:5.1f}")
            print(f"{kind:<20}" + "".join(f"{cell:>17}" for cell in cells), flush=True)


if __name__ == "__main__":
    main()
