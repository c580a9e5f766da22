"""What our documents show of kvcast is what kvcast does.

In README.md and docs/, every ```console block is read: a line "$ bin/kvcast ..." (or "$ kvcast
...") is run from the root of the repository, and what it prints must be what the lines below it
show. A line "..." stands for any number of lines, "…" within a line for any text. Commands of
other programs, and blocks marked ```console no-run, are left alone; so are those marked ```console
with-node, which need a node beside them: tests/road/guides_test.py runs those.

With --update, what kvcast prints is written into the documents instead.
"""

import difflib
import os
import re
import subprocess
import tempfile
from pathlib import Path
from typing import NamedTuple

import tree

OPENING = re.compile(r"^( *)(`{3,})console(?: +(.*))?$")
PATIENCE_S = 60


class Example(NamedTuple):
    command: str
    line: int          # Where the command stands, from 1.
    output: slice      # The lines (from 0) that show what it prints.
    indent: str


def examples(lines: list[str], mark: str | None = None, programs: str = "kvcast") -> list[Example]:
    """The commands of kvcast that a document shows, in blocks without a mark or with this one."""
    found = []
    at = 0
    while at < len(lines):
        opening = OPENING.match(lines[at])
        at += 1
        if not opening:
            continue
        end = at
        while end < len(lines) and lines[end].strip() != opening[2]:
            end += 1
        marks = {"no-run", "with-node"} & set((opening[3] or "").split())
        if marks == ({mark} if mark else set()):
            found += block(lines, at, end, opening[1], programs)
        at = end + 1
    return found


def block(lines: list[str], at: int, end: int, indent: str, programs: str):
    prompt = indent + "$ "
    while at < end:
        first = at
        command = lines[at].removeprefix(prompt)
        at += 1
        if not lines[first].startswith(prompt):
            continue
        while command.endswith("\\") and at < end:
            command = command[:-1] + lines[at].removeprefix(indent).removeprefix("> ")
            at += 1
        shown = at
        while at < end and not lines[at].startswith(prompt):
            at += 1
        last = at
        while last > shown and not lines[last - 1].strip():
            last -= 1  # A blank line before the next command is no output.
        if re.match(rf"(?:\./)?(?:bin/)?(?:{programs})\b", command):
            yield Example(command, first + 1, slice(shown, last), indent)


def matches(shown: list[str], printed: list[str]) -> bool:
    pattern = "".join(
        r"(?:.*\n)*?" if line.strip() == "..."
        else ".*".join(re.escape(part) for part in line.rstrip().split("…")) + r"\n"
        for line in shown)
    return bool(re.fullmatch(pattern, "".join(line.rstrip() + "\n" for line in printed)))


# Shown after two seconds, which on a busy machine anything may take.
PROGRESS = re.compile(r".+: (?:[\d.]+ \w+( of [\d.]+ \w+)?, [\d.]+ \w+/s(, .* left)?|done in .*)")


def execute(command: str, source: Path, program: str, scratch: str) -> list[str]:
    """What the command prints, both streams together. A crash or a stall is printed too."""
    link = Path(scratch) / "kvcast"
    if not link.exists():
        link.symlink_to(Path(program).resolve())
    command = re.sub(r"(?<![\w/.-])(?:\./)?bin/(kvcast|tinylm)(?![\w/.-])", r"\1", command)
    environment = os.environ | {"PATH": f"{scratch}:{os.environ['PATH']}", "HOME": scratch,
                                "NO_COLOR": "1", "LC_ALL": "C.UTF-8", "COLUMNS": "80"}
    try:
        ran = subprocess.run(["sh", "-c", command], cwd=source, env=environment, text=True,
                             timeout=PATIENCE_S, stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, errors="replace")
    except subprocess.TimeoutExpired:
        return [f"(still running after {PATIENCE_S} s)"]
    printed = [line for line in ran.stdout.rstrip().splitlines() if not PROGRESS.fullmatch(line)]
    if ran.returncode < 0 or ran.returncode > 128:
        printed.append(f"(crashed with status {ran.returncode})")
    return printed


def documents(source: Path) -> list[str]:
    return [name for name in tree.files(source)
            if name == "README.md" or (name.startswith("docs/") and name.endswith(".md"))]


def check(source: Path, build: Path, program: str, update: bool = False) -> list[str]:
    del build
    complaints = []
    for name in documents(source):
        path = source / name
        lines = path.read_text().split("\n")
        changed = False
        with tempfile.TemporaryDirectory() as scratch:
            ran = [(example, execute(example.command, source, program, scratch))
                   for example in examples(lines)]
        for example, printed in reversed(ran):  # From the end, as an update moves what follows.
            shown = [line.removeprefix(example.indent) for line in lines[example.output]]
            if matches(shown, printed):
                continue
            if update:
                lines[example.output] = [(example.indent + line).rstrip() for line in printed]
                changed = True
                continue
            difference = difflib.unified_diff(shown, printed, "shown", "printed", lineterm="")
            complaints.insert(0, "\n".join([f"{name}:{example.line}: {example.command}",
                                            *difference]))
        if changed:
            path.write_text("\n".join(lines))
    return complaints


if __name__ == "__main__":
    tree.run(check, "--program", "--update")
