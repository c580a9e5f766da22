"""Every source and every header compiles alone.

Builds other than `dev` compile many sources as one, where a file may lean on what its neighbour
includes. This check compiles each by itself, as far as its meaning, and every header too that no
source includes before all else. It reads compile_commands.json of a build in which each source
stands alone.
"""

import json
import os
import re
import shlex
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import tree

FIRST_INCLUDE = re.compile(r'^\s*#\s*include\s+["<]([^">]+)[">]', re.MULTILINE)


def first_include(path: Path) -> str | None:
    match = FIRST_INCLUDE.search(tree.text(path) or "")
    return match[1] if match else None


def meaning_only(command: str, file: str) -> list[str]:
    """The compiler's words without the file, without an output, up to the program's meaning."""
    words = shlex.split(command)
    if "-o" in words:
        at = words.index("-o")
        del words[at:at + 2]
    return [word for word in words if word not in ("-c", file)] + ["-fsyntax-only"]


def tasks(source: Path, build: Path) -> dict[str, tuple[list[str], str, str]]:
    """File to (compiler's words, folder to run it in, text to read): one task per file of ours."""
    found, own = {}, {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        path = Path(entry["file"])
        if not path.is_relative_to(source) or path.is_relative_to(build):
            continue
        name = path.relative_to(source).as_posix()
        words = meaning_only(entry["command"], entry["file"])
        found[name] = ([*words, entry["file"]], entry["directory"], "")
        # A header is compiled as the sources beside it are; tests have more in reach than others.
        kind = (path.parent, "_test." in path.name)
        own.setdefault(kind, (words, entry["directory"]))
        own.setdefault((path.parent, True), (words, entry["directory"]))
    leading = {first_include(source / name) for name in found}
    for name in tree.files(source):
        path = source / name
        kind = (path.parent, "_test." in path.name)
        if path.suffix == ".h" and name not in leading and (kind in own or (path.parent, True) in own):
            words, folder = own.get(kind) or own[(path.parent, True)]
            found[name] = ([*words, "-x", "c++", "-"], folder, f'#include "{name}"\n')
    return found


def complaint_about(name: str, task: tuple[list[str], str, str]) -> str | None:
    words, folder, given = task
    ran = subprocess.run(words, cwd=folder, input=given, capture_output=True, text=True)
    if ran.returncode == 0:
        return None
    said = [line for line in ran.stderr.splitlines() if "error" in line] or ran.stderr.splitlines()
    return f"{name}: does not compile alone: {said[0] if said else 'the compiler failed'}"


def check(source: Path, build: Path) -> list[str]:
    source, build = source.resolve(), build.resolve()
    work = tasks(source, build)
    if not work:
        return [f"{build}/compile_commands.json names no file of {source}"]
    jobs = int(os.environ.get("KVCAST_JOBS") or os.cpu_count() or 1)
    complaints, told = [], time.monotonic()
    with ThreadPoolExecutor(jobs) as pool:
        for done, complaint in enumerate(pool.map(complaint_about, work.keys(), work.values()), 1):
            complaints += [complaint] if complaint else []
            if time.monotonic() - told > 30:
                print(f"{done} of {len(work)} files", file=sys.stderr, flush=True)
                told = time.monotonic()
    return complaints


if __name__ == "__main__":
    tree.run(check)
