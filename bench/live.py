#!/usr/bin/env python3
"""Live prefill to decode: how long after one engine another one has the prompt, and its first token.

    bench/live.py KVCAST TINYLM [--runs N] [--relay]

Two engines as processes of their own, on one machine, through one node, or with --relay through an
origin and an edge. The first computes a prompt of 27 whole blocks and some more, and publishes each
block as it is computed; the second follows. Both tell the moments by the machine's clock.

  last block  from when the first engine says that the last whole block is computed until the second
              has it in its pages
  first token from when the first engine has computed the whole prompt until the second has written
              its first token; next to what computing a block takes

The first computes, the second mostly waits: the figures want two processors that nobody else uses.
"""

import argparse
import re
import statistics
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests/road"))
from node_process import PATIENCE_S, Node  # noqa: E402

PROMPT = ROOT / "examples/tinylm/prompts/shared-prefix-a.txt"


def moment(told: str, what: str) -> float:
    found = re.search(rf"clock: .*?\b{what} ([0-9.]+) ms", told)
    if not found:
        sys.exit(f"No {what} in:\n{told}")
    return float(found[1])


def once(tinylm: str, published_to: str, followed_at: str) -> dict[str, float]:
    command = [tinylm, "generate", "--timing", "--tokens", "1", "--file", PROMPT]
    second = subprocess.Popen([*command, "--node", followed_at, "--follow", "60"], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True)
    first = subprocess.Popen([*command, "--node", published_to, "--live"], stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True)
    a, b = (engine.communicate(timeout=PATIENCE_S)[1] for engine in (first, second))
    tokens = int(re.search(r"prompt: (\d+) tokens", a)[1])
    loaded = int(re.search(r"tokens, (\d+) of them loaded", b)[1])
    if loaded != tokens // 128 * 128:
        sys.exit(f"The second engine has {loaded} of {tokens} tokens:\n{a}{b}")
    block = (moment(a, "prefilled") - moment(a, "loaded")) / tokens * 128
    return {"last block": moment(b, "loaded") - moment(a, "last block ready"),
            "first token": moment(b, "first token") - moment(a, "prefilled"), "a block's prefill": block}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kvcast")
    parser.add_argument("tinylm")
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--relay", action="store_true")
    options = parser.parse_args()
    runs = []
    for _ in range(options.runs):  # A node that has the prompt already would be told nothing.
        with Node(options.kvcast) as origin:
            if options.relay:
                with Node(options.kvcast, "--upstream", origin.address) as edge:
                    runs.append(once(options.tinylm, origin.address, edge.address))
            else:
                runs.append(once(options.tinylm, origin.address, origin.address))
    print(f"{'ms':18}{'median':>8}{'most':>8}")
    for name in runs[0]:
        values = [run[name] for run in runs]
        print(f"{name:18}{statistics.median(values):8.1f}{max(values):8.1f}")
    within = sum(run["last block"] <= 50 and run["first token"] < run["a block's prefill"] for run in runs)
    print(f"within 50 ms, and within a block's prefill: {within} of {len(runs)} runs")
    return 0 if within == len(runs) else 1


if __name__ == "__main__":
    sys.exit(main())
