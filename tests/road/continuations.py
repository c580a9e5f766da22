#!/usr/bin/env python3
"""A model goes on from a loaded cache as it goes on from a computed one.

    continuations.py KVCAST TINYLM [--prompts 6] [--lossy 2] [--tokens 40] [--seed 1]
    tools/s3_server run tests/road/continuations.py KVCAST TINYLM --prompts 200 --lossy 40

Random pieces of our own documentation are prompts. Their caches go to an origin, which is then started anew with nothing
but one kind of tier, and come back through two relays. What the model writes after a cache that changed no bit must be
what it writes after a prefill, token by token; for the other rungs it is told where it first differs. Blocks come
from memory, from a disk, and, where there is an S3 server, from a bucket.
"""

import argparse
import json
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import s3_call
from node_process import PATIENCE_S, Node

ROOT = Path(__file__).resolve().parents[2]
MODEL = ROOT / "examples/tinylm/model"
NAMED = ["--model", MODEL, "--model-name", "tinylm", "--json"]  # As tinylm names it itself.
BLOCK = 128
CONTEXT = 4096  # Tokens that the model looks at.
EXACT = ["BF16-lossless", "BF16"]
LOSSY = ["Int8", "FP8", "Int4", "FP4", "AC", "KTC-fine", "KTC-medium", "KTC-coarse"]


def run(*command, stdin: bytes = b"") -> bytes:
    done = subprocess.run([str(word) for word in command], input=stdin, capture_output=True, timeout=PATIENCE_S)
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, command))}\nfailed: {done.stderr.decode(errors='replace')}")
    return done.stdout


def pieces(count: int, longest: int, seed: int) -> list[str]:
    """Prompts of all lengths from a block on, each from somewhere in a document."""
    chance = random.Random(seed)
    texts = [path.read_text() for path in sorted((ROOT / "docs").rglob("*.md"))]
    texts = [text for text in texts if len(text) > 4000]
    found = []
    for _ in range(count):
        text = chance.choice(texts)
        length = chance.randint(900, min(longest, len(text) - 1))
        begin = chance.randrange(len(text) - length)
        found.append(text[begin:begin + length])
    return found


class Prompt:
    """One prompt: its tokens, the cache a prefill makes, and what the model writes after that."""

    def __init__(self, folder: Path, number: int, text: str, count: int):
        self.tokens, self.cache, self.count = folder / f"{number}.tokens", folder / f"{number}.safetensors", count
        self.text = text.encode()
        self.tokens.write_bytes(run(TINYLM, "tokenize", stdin=self.text))
        self.blocks = len(self.tokens.read_text().split()) // BLOCK
        run(TINYLM, "prefill", "--out", self.cache, stdin=self.text)
        self.computed = self.write()

    def write(self, *options) -> list[str]:
        """Token ids, after as many blocks were loaded as there are, if a node is named."""
        done = subprocess.run([TINYLM, "generate", "--ids", "--timing", "--tokens", str(self.count), *options],
                              input=self.text, capture_output=True, timeout=PATIENCE_S)
        said = done.stderr.decode(errors="replace")
        loaded = re.search(r"(\d+) of them loaded", said)
        if done.returncode or not loaded or int(loaded[1]) != (self.blocks * BLOCK if options else 0):
            raise SystemExit(f"{self.tokens}, {self.blocks} blocks, {options}: {said}")
        return done.stdout.decode().split()

    def await_at(self, node: Node, rungs: list[str]):
        """Until a node that was started just now has heard of it from above."""
        end = time.monotonic() + PATIENCE_S
        while True:
            # Which ends with status 1 if there is nothing yet.
            told = subprocess.run([KVCAST, "find", self.tokens, "--node", node.address, *NAMED],
                                  capture_output=True, timeout=PATIENCE_S)
            found = {rung: 0 for rung in rungs}
            for offer in json.loads(told.stdout)["offers"] if told.stdout else []:
                if offer["rung"] in found:
                    found[offer["rung"]] += offer["blocks"]
            if all(blocks >= self.blocks for blocks in found.values()):
                return
            if time.monotonic() > end:
                raise SystemExit(f"{self.tokens}: of {self.blocks} blocks the edge knows {found}.")
            time.sleep(0.1)

    def put(self, node: Node, rungs: list[str], durability: str):
        told = json.loads(run(KVCAST, "put", self.tokens, self.cache, "--node", node.address, *NAMED,
                              "--durability", durability, *(word for rung in rungs for word in ("--rung", rung))))
        if any(rung["sent"] != self.blocks for rung in told.get("rungs", [told])):
            raise SystemExit(f"Not all blocks were published: {told}")


def first_other(left: list[str], right: list[str]) -> int | None:
    """The first token that is another one, counted from 1."""
    for at, (one, other) in enumerate(zip(left, right), 1):
        if one != other:
            return at
    return None if len(left) == len(right) else min(len(left), len(right)) + 1


def compare(prompts: list[Prompt], origin: Node, tier: str, lossy: int) -> dict[str, list]:
    """By rung: where each prompt's continuation first differs, if it does."""
    differing = {}
    relay = ["--ram", "256MiB", "--no-prefault", "--admin", "127.0.0.1:0", "--upstream"]
    with Node(KVCAST, *relay, origin.address) as middle, Node(KVCAST, *relay, middle.address) as edge, \
         ThreadPoolExecutor(os.cpu_count()) as workers:
        for number, prompt in enumerate(prompts):
            prompt.await_at(edge, EXACT[:1] + (LOSSY if number < lossy else []))
        for rung in EXACT[:1] + LOSSY:
            some = prompts if rung in EXACT else prompts[:lossy]
            differing[rung] = list(workers.map(
                lambda prompt, rung=rung: first_other(
                    prompt.computed, prompt.write("--node", edge.address, "--rung", rung)), some))
        served = {node: [relay.metric(f"kvcast_upstream_{what}_total") for what in ("objects", "bytes")]
                  for node, relay in {"edge": edge, "middle": middle}.items()}
        above = origin.metric("kvcast_store_memory_hits_total")
        below = origin.metric("kvcast_store_lower_hits_total")
    # Catalogs come from memory wherever the blocks are; nothing else does that the tier has.
    if (below > 0 if tier == "memory" else below <= above) or above + below < served["middle"][0]:
        raise SystemExit(f"{above:.0f} objects came from the origin's memory and {below:.0f} from below, of {served}: that is "
                         f"not what {tier} means.")
    if not all(objects for objects, _ in served.values()):
        raise SystemExit(f"Not all came through both relays: {served}")
    print(f"from {tier}: {above if tier == 'memory' else below:.0f} objects of the origin, {served['middle'][0]:.0f} through the first relay and "
          f"{served['edge'][0]:.0f} through the second, {served['edge'][1] / 2**20:.1f} MiB")
    return differing


def main(arguments) -> int:
    totals: dict[str, list] = {}
    # In characters; no token of ours has fewer than two on average in prose.
    longest = min(arguments.longest, 2 * (CONTEXT - arguments.tokens))
    tiers = ["memory", "disk"] + (["bucket"] if s3_call.ENDPOINT else [])
    with tempfile.TemporaryDirectory() as scratch, ThreadPoolExecutor(os.cpu_count()) as workers:
        folder = Path(scratch)
        prompts = list(workers.map(lambda part: Prompt(folder, *part, arguments.tokens),
                                   enumerate(pieces(arguments.prompts, longest, arguments.seed))))
        print(f"{len(prompts)} prompts of {min(p.blocks for p in prompts)} to {max(p.blocks for p in prompts)} blocks, "
              f"{arguments.tokens} tokens written after each", flush=True)
        for tier, share in zip(tiers, (prompts[i::len(tiers)] for i in range(len(tiers)))):
            storage = {"memory": ["--ram", "1GiB", "--no-prefault"],
                       "disk": ["--ram", "256MiB", "--no-prefault", "--disk", f"{folder / 'disk'},bytes=2GiB"],
                       "bucket": ["--ram", "256MiB", "--no-prefault", "--bucket",
                                  f"s3://{s3_call.BUCKET}/continuations-{os.getpid()}"]}[tier]
            storage += ["--admin", "127.0.0.1:0"]
            lossy = -(-arguments.lossy // len(tiers))
            origin = Node(KVCAST, *storage)
            try:
                for number, prompt in enumerate(share):
                    prompt.put(origin, EXACT[:1] + (LOSSY if number < lossy else []), tier)
                if tier != "memory":  # What it had in memory is gone with it.
                    origin.stop()
                    origin = Node(KVCAST, *storage)
                told = compare(share, origin, tier, lossy)
            finally:
                origin.stop()
            for rung, differing in told.items():
                totals.setdefault(rung, []).extend(differing)
            same = sum(at is None for at in told[EXACT[0]])
            print(f"from {tier}: {same} of {len(share)} prompts continue as computed, at {EXACT[0]}", flush=True)
    print(f"\n{'rung':14} prompts  same  first other token, earliest / median")
    for rung, differing in totals.items():
        others = sorted(at for at in differing if at is not None)
        where = f"{others[0]} / {statistics.median(others):.0f}" if others else "-"
        print(f"{rung:14} {len(differing):7} {len(differing) - len(others):5}  {where}")
    wrong = [at for at in totals[EXACT[0]] if at is not None]
    if wrong:
        print(f"FAILED: {len(wrong)} continuations differ although no bit may have changed.")
    return 1 if wrong else 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kvcast")
    parser.add_argument("tinylm")
    parser.add_argument("--prompts", type=int, default=6)
    parser.add_argument("--lossy", type=int, default=2, help="of how many of them the other rungs are tried")
    parser.add_argument("--tokens", type=int, default=40)
    parser.add_argument("--longest", type=int, default=8 * CONTEXT, help="in characters; the context has the last word")
    parser.add_argument("--seed", type=int, default=1)
    told = parser.parse_args()
    KVCAST, TINYLM = told.kvcast, told.tinylm
    os.environ |= {"AWS_ACCESS_KEY_ID": s3_call.ACCESS_KEY, "AWS_SECRET_ACCESS_KEY": s3_call.SECRET_KEY,
                   "AWS_ENDPOINT_URL_S3": s3_call.ENDPOINT} if s3_call.ENDPOINT else {}
    if s3_call.ENDPOINT:
        s3_call.call("PUT")
    sys.exit(main(told))
