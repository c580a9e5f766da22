"""The ledger says itself how much of a million executions each fuzzer still lacks; this adds it up.

A fuzzer that nobody has ever run for long would otherwise be the one that nobody misses.
"""

import re
from pathlib import Path

import tree

GOAL = 1_000_000
# What everything else rests on. Of these nothing may be missing, said or not.
FOUNDATION = ("kvcast/base/", "kvcast/object/", "kvcast/catalog/", "kvcast/kv/")
LEDGER = "docs/ledger.md"
SENTENCE = "Of a million executions in all"


def number(words: str) -> int:
    """One number, or several that are added: "769,399 and 563,355"."""
    return sum(int(part.replace(",", "")) for part in re.findall(r"\d[\d,]*\d|\d", words))


def of_a_row(cells: list[str]) -> dict[str, int]:
    fuzzers = re.findall(r"`(\w+_fuzz)`", cells[1])
    counts = cells[2].split(" / ")
    if len(counts) == 1:
        counts *= len(fuzzers)
    if len(counts) != len(fuzzers):
        raise ValueError(f"{len(fuzzers)} fuzzers and {len(counts)} numbers")
    return {fuzzer: number(count) for fuzzer, count in zip(fuzzers, counts)}


def ran(lines: list[str]) -> tuple[dict[str, int], list[str]]:
    """What the table of fuzzers adds up to, and what cannot be read of it."""
    total: dict[str, int] = {}
    complaints = []
    section = ""
    for at, line in enumerate(lines, 1):
        section = line[3:] if line.startswith("## ") else section
        cells = [cell.strip() for cell in line.split("|")[1:-1]]
        if section != "Fuzzing" or len(cells) != 4 or "_fuzz`" not in cells[1]:
            continue
        try:
            for fuzzer, count in of_a_row(cells).items():
                total[fuzzer] = total.get(fuzzer, 0) + count
        except ValueError as error:
            complaints.append(f"{LEDGER}:{at}: {error}")
    return total, complaints


def check(source: Path, build: Path) -> list[str]:
    del build
    lines = (tree.text(source / LEDGER) or "").splitlines()
    total, complaints = ran(lines)
    said: dict[str, int] = {}
    at = 1
    for line_number, line in enumerate(lines, 1):
        if line.startswith(SENTENCE):
            at = line_number
            for fuzzer, missing in re.findall(r"`(\w+_fuzz)` (all|\d[\d,]*\d|\d)", line):
                said[fuzzer] = GOAL if missing == "all" else number(missing)
    fuzzers = {Path(name).stem: name for name in tree.files(source) if name.endswith("_fuzz.cc")}
    for fuzzer in sorted(fuzzers | said.keys()):
        missing = max(0, GOAL - total.get(fuzzer, 0)) if fuzzer in fuzzers else 0
        if said.get(fuzzer, 0) != missing:
            complaints.append(
                f"{LEDGER}:{at}: of {fuzzer} {missing:,} executions are missing of a million, "
                f"and it says {said.get(fuzzer, 0):,}")
        if missing and fuzzers[fuzzer].startswith(FOUNDATION):
            complaints.append(
                f"{LEDGER}:{at}: {fuzzer} is of the foundation and has {missing:,} executions to "
                f"go: ./dev fuzz SECONDS {fuzzer}")
    return complaints


if __name__ == "__main__":
    tree.run(check)
