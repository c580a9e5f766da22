"""The product speaks of itself only.

Not of the tickets it was made from, the places it was made in, or what somebody meant to do later:
a reader has none of these. The words are spelt in parts, as this file is read too.
"""

import re
from pathlib import Path

import tree

# Inputs of fuzzers may say anything.
NOT_READ = ("tests/corpus/",)

FOREIGN = {
    "refers to a ticket": re.compile(
        r"\b(?:issues?|tickets?|bugs?|PR|MR|pull request)(?:(?: |-|: ?)#?|#)\d+\b"
        r"|\b(?:fix(?:es|ed)?|close[sd]?|resolve[sd]?|refs?)(?: |-|: ?)?#\d+"
        r"|(?<!\])\(#\d+\)|\bGH-\d+|/(?:issues|pull)/\d+", re.IGNORECASE),
    "puts something off": re.compile(r"\b(?:TO" r"DO|FIX" r"ME|X" r"XX|HA" r"CK)\b"),
    "names a place where it was made": re.compile(
        r"(?<![\w.\-/])/(?:wor" r"k|home/\w+|Users/\w+)/"),
    "tells how it was made": re.compile(
        r"\b(?:AI|machine|LLM)[- ](?:generated|written|assisted)\b|\bco-authored" r"-by\b"
        r"|\b(?:generated|written|made) (?:by|with) (?:an? )?(?:AI|LLM|assistant|chat ?bot|agent)\b"
        r"|\bas an? (?:AI|language) model\b|\b(?:this|last|next|earlier|previous) ses" r"sion's (?:work|note)"
        r"|\b(?:closing|hand-?over) no" r"tes?\b|\bhel" r"pers? with fresh eyes\b|\bsub-?age" r"nts?\b",
        re.IGNORECASE),
}
# A document's line that something was to take the place of: a name in capitals, and nothing else.
PLACEHOLDER = re.compile(r"\W*[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+\W*")
BESIDE = re.compile(r"\.\./sha" r"red\b")


def complaints_about(name: str, line: str) -> list[str]:
    found = [f"{what}: {match[0]}" for what, pattern in FOREIGN.items()
             if (match := pattern.search(line))]
    if name.endswith(".md") and PLACEHOLDER.fullmatch(line):
        found.append(f"holds a place for something: {line.strip()}")
    # A test may look for foreign data, as long as it is skipped without.
    if BESIDE.search(line) and not re.search(r"skip", line, re.IGNORECASE):
        found.append("needs data that users do not have (say that the test is skipped without)")
    return found


def check(source: Path, build: Path) -> list[str]:
    del build
    return [f"{name}:{number}: {complaint}"
            for name in tree.files(source) if not name.startswith(NOT_READ)
            for number, line in enumerate((tree.text(source / name) or "").splitlines(), 1)
            for complaint in complaints_about(name, line)]


if __name__ == "__main__":
    tree.run(check)
