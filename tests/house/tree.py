"""What every check of the house needs: the files of the source tree, and one way to report.

A check is a function from (source, build) to a list of complaints. Its file runs it as a program,
its test runs it on a planted tree.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path

NOT_OURS = {".git", "build", "bin", "node_modules", "__pycache__", ".cache", ".venv"}


def files(source: Path) -> list[str]:
    """Paths relative to `source`: what git tracks; outside of a checkout, whatever is there."""
    if (source / ".git").exists():
        git = ["git", "-c", "safe.directory=*", "-C", str(source), "ls-files", "-z"]
        try:
            listed = subprocess.run(git, capture_output=True, check=True, text=True).stdout
            return sorted(name for name in listed.split("\0") if name and (source / name).is_file())
        except (OSError, subprocess.CalledProcessError):
            pass  # No git here: look for ourselves.
    return sorted(walk(source, source))


def walk(source: Path, folder: Path):
    for entry in folder.iterdir():
        if entry.name in NOT_OURS:
            continue
        if entry.is_dir() and not entry.is_symlink():
            yield from walk(source, entry)
        elif entry.is_file():
            yield entry.relative_to(source).as_posix()


def text(path: Path) -> str | None:
    """The file's text, or None where it is not a text."""
    try:
        content = path.read_bytes().decode("utf-8")
    except UnicodeDecodeError:
        return None
    return None if "\0" in content else content


def modules(build: Path) -> list[dict]:
    """What every kvcast_module call declared; written when the build is configured."""
    return json.loads((build / "modules.json").read_text())


def folder_of(source: Path, module: str) -> Path:
    inside = source / "kvcast" / module
    return inside if inside.is_dir() else source / module


def run(check, *options: str) -> None:
    """Runs a check as a program. Options beyond the two folders reach it by keyword."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--source", type=Path, required=True)
    parser.add_argument("--build", type=Path, required=True)
    for option in options:
        parser.add_argument(option, **({} if option == "--program" else {"action": "store_true"}))
    complaints = check(**vars(parser.parse_args()))
    for complaint in complaints:
        print(complaint)
    sys.exit(1 if complaints else 0)
