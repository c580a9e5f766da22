#!/usr/bin/env python3
"""Plays the simulator's worlds with each planted bug, and says which find it, by which seed.

usage: planted_bugs.py KVCAST_SIM     (of a build by the preset `planted`)

Fails if fewer than nine of ten are found, or if a world finds something where nothing is planted.
"""
import re
import subprocess
import sys
from pathlib import Path

# Worlds, and how many seeds each may need: a few seconds of each.
WORLDS = {"network": (100, 200), "road": (0, 100), "catalog": (0, 200), "store": (0, 12), "disk": (0, 6)}
CAUGHT_MIN = 9


def bug_names(header: Path) -> list[str]:
    body = re.search(r"enum class PlantedBug[^{]*\{(.*?)\};", header.read_text(), re.S).group(1)
    return re.findall(r"^\s*(k\w+)", body, re.M)


def play(program: str, bug: int, world: str) -> str | None:
    """What was found, in a word, or None."""
    first, count = WORLDS[world]
    command = [program, "--bug", str(bug), world, "--seed", str(first), "--count", str(count)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    except subprocess.TimeoutExpired:
        return "comes to no end"
    if done.returncode == 0:
        return None
    said = (done.stdout.strip() or done.stderr.strip()).splitlines()
    return said[0][:110] if said else f"stopped, {done.returncode}"


def main() -> int:
    program = sys.argv[1]
    names = bug_names(Path(__file__).parent.parent / "kvcast/base/planted.h")
    caught = 0
    wrong = False
    for number, name in enumerate(names):
        found = {world: play(program, number, world) for world in WORLDS}
        hits = [f"{world}: {what}" for world, what in found.items() if what]
        if number == 0:
            wrong = bool(hits)
        caught += bool(hits) and number > 0
        print(f"{number:2} {name}: " + ("\n      ".join(hits) if hits else "not found"), flush=True)
    print(f"{caught} of {len(names) - 1} planted bugs are found")
    return 1 if wrong or caught < CAUGHT_MIN else 0


if __name__ == "__main__":
    sys.exit(main())
