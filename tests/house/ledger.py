"""The ledger says itself how much of a million executions each fuzzer still lacks; this adds it up.

A fuzzer that nobody has ever run for long would otherwise be the one that nobody misses, and one that ran before its parser was
written anew would count for what it has never seen. And who names a commit, there or beside
a measurement, names one that can be checked out: on a branch it may have had another name than it landed under.
"""

import re
import subprocess
import sys
from pathlib import Path

import tree

GOAL = 1_000_000
# What everything else rests on. Of these nothing may be missing, said or not.
FOUNDATION = ("kvcast/base/", "kvcast/object/", "kvcast/catalog/", "kvcast/kv/")
# What each of these looks into, below kvcast/, without .h and .cc. Where that has changed by more than so many lines since the
# fuzzer last ran for long, the ledger says so.
PARSERS = {
    "golden_file_fuzz": ["base/golden_file"],
    "json_fuzz": ["base/json", "base/json_place"],
    "properties_fuzz": ["object/properties"],
    "track_name_fuzz": ["object/track_name"],
    "acknowledgement_fuzz": ["catalog/acknowledgement", "catalog/block_key"],
    "catalog_fuzz": ["catalog/catalog_object", "catalog/delta", "catalog/holdings"],
    "catalog_track_fuzz": ["catalog/catalog_track", "catalog/node_greeting"],
    "forget_list_fuzz": ["catalog/forget_list"],
    "cache_track_fuzz": ["kv/cache_track"],
    "kv_file_fuzz": ["kv/kv_file", "kv/safetensors"],
    "model_config_fuzz": ["kv/model_config", "kv/model_family", "kv/config_dtype", "kv/layer_group"],
    "model_files_fuzz": ["kv/model_files", "kv/config_dtype"],
    "token_list_fuzz": ["kv/token_list"],
    "value_piece_fuzz": ["kv/value_piece"],
}
CHANGED_LINES = 50
CHANGED = "Changed since it last ran"
LEDGER = "docs/ledger.md"
NAME_COMMITS = (LEDGER, "docs/performance.md")
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


def git(source: Path, *words: str, told: str = "") -> str:
    command = ["git", "-c", "safe.directory=*", "-C", str(source), *words]
    return subprocess.run(command, input=told, capture_output=True, check=True, text=True).stdout


def has_history(source: Path) -> bool:
    """Whether all commits are here that ever were part of it."""
    try:
        return (source / ".git").exists() and git(source, "rev-parse", "--is-shallow-repository") == "false\n"
    except (OSError, subprocess.CalledProcessError):
        return False


def gone(source: Path) -> list[str]:
    """Commits that are named and that nobody can check out."""
    if not has_history(source):
        print("ledger: there is no whole history here, so commits were not looked up", file=sys.stderr)
        return []
    named = [(f"{name}:{at}", commit)
             for name in NAME_COMMITS if (source / name).is_file()
             for at, line in enumerate((tree.text(source / name) or "").splitlines(), 1)
             for commit in re.findall(r"`([0-9a-f]{7,40})`", line)]
    said = git(source, "cat-file", "--batch-check=%(objecttype)",
               told="".join(f"{commit}^{{commit}}\n" for _, commit in named)).splitlines()
    return [f"{place}: there is no commit {commit}; if it was made on a branch, name the one that it landed in"
            for (place, commit), kind in zip(named, said, strict=True) if kind != "commit"]


def last_runs(lines: list[str]) -> dict[str, str]:
    """The commit of each fuzzer's last row."""
    rows = [line.split("|")[1:3] for line in lines if re.match(r"\| `[0-9a-f]{7,40}`.*_fuzz`", line)]
    return {fuzzer: re.findall(r"`([0-9a-f]{7,40})`", commit)[-1]
            for commit, fuzzers in rows for fuzzer in re.findall(r"`(\w+_fuzz)`", fuzzers)}


def changed(source: Path, lines: list[str], fuzzers: dict[str, str]) -> list[str]:
    """Parsers of the foundation that are no longer what was run, where the ledger does not say so."""
    if not has_history(source):
        return []
    at, said = next(((at, line) for at, line in enumerate(lines, 1) if line.startswith(CHANGED)), (1, ""))
    runs = last_runs(lines)
    complaints = [f"tests/house/ledger.py: PARSERS does not say what {fuzzer} looks into"
                  for fuzzer in sorted(fuzzers)
                  if fuzzers[fuzzer].startswith(FOUNDATION) and fuzzer not in PARSERS]
    for fuzzer in sorted(PARSERS.keys() & fuzzers.keys() & runs.keys()):
        names = [f"kvcast/{stem}{end}" for stem in PARSERS[fuzzer] for end in (".h", ".cc")]
        try:
            counts = git(source, "diff", "--numstat", runs[fuzzer], "--", *names)
        except subprocess.CalledProcessError:
            continue  # There is no such commit, which is said elsewhere.
        count = sum(int(word) for line in counts.splitlines() for word in line.split("\t")[:2])
        if (count > CHANGED_LINES) != (f"`{fuzzer}`" in said):
            complaints.append(f"{LEDGER}:{at}: what {fuzzer} looks into has changed by {count} lines since it last ran, on "
                              f"{runs[fuzzer]}; more than {CHANGED_LINES} are to be said under \"{CHANGED}\", and no fewer")
    return complaints


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
    return complaints + gone(source) + changed(source, lines, fuzzers)


if __name__ == "__main__":
    tree.run(check)
