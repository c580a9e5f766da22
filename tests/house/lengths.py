"""Files that a reader finishes, functions that fit a screen.

What is longer stands in lengths.txt with its figure, and may only shrink: the list is a ratchet.
"""

import ast
from pathlib import Path

import tree
from cpp_functions import functions
from layering import CODE

FUNCTION = 70
LIST = "tests/house/lengths.txt"


def limit(name: str) -> int | None:
    """The most lines a file may have."""
    path = Path(name)
    if path.suffix == ".py":
        return 400
    if path.suffix not in CODE:
        return None
    if path.stem.endswith(("_test", "_bench", "_fuzz")) or path.parts[0] in {"tests", "bench"}:
        return 600
    return 500 if path.suffix in {".cc", ".cpp", ".cxx", ".c"} else 250


def python_functions(code: str):
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name, node.lineno, node.end_lineno - node.lineno + 1


def measure(source: Path) -> dict[str, tuple[int, int, int]]:
    """By "file" or "file:function": its lines, its limit, and the line where it begins."""
    figures = {}
    for name in tree.files(source):
        most = limit(name)
        code = tree.text(source / name) if most else None
        if code is None:
            continue
        figures[name] = len(code.splitlines()), most, 1
        for function, line, lines in (
                python_functions(code) if name.endswith(".py") else functions(code)):
            key = f"{name}:{function}"
            if lines > figures.get(key, (0,))[0]:  # Of overloads, the longest counts.
                figures[key] = lines, FUNCTION, line
    return figures


def unmeasured(source: Path) -> list[str]:
    """Places where something ends as functions do, and none that was found does."""
    places = []
    for name in tree.files(source):
        if Path(name).suffix not in CODE or (code := tree.text(source / name)) is None:
            continue
        found = {function.line + function.lines - 1 for function in functions(code)}
        places += [f"{name}:{line}" for line, content in enumerate(code.splitlines(), 1)
                   if content == "}" and line not in found]
    return places


def exceptions(source: Path) -> dict[str, int]:
    path = source / LIST
    lines = path.read_text().splitlines() if path.is_file() else []
    pairs = [line.rsplit(maxsplit=1) for line in lines if line.strip() and line[0] != "#"]
    return {name: int(figure) for name, figure in pairs}


def check(source: Path, build: Path) -> list[str]:
    del build
    figures = measure(source)
    allowed = exceptions(source)
    complaints = [f"{LIST}: {name} is not there; take it off" for name in allowed
                  if name not in figures]
    complaints += [f"{place}: what ends here could not be measured; mend cpp_functions.py, or say "
                   "behind the brace which namespace it closes" for place in unmeasured(source)]
    for name, (lines, most, line) in figures.items():
        listed = allowed.get(name)
        where = f"{name.split(':')[0]}:{line}"
        if listed is None:
            if lines > most:
                complaints.append(f"{where}: {name} has {lines} lines, more than {most}: "
                                  "which two things live there?")
        elif lines <= most:
            complaints.append(f"{LIST}: {name} has {lines} lines, within {most}: take it off")
        elif lines < listed:
            complaints.append(f"{LIST}: {name} shrank to {lines} lines: lower it to {lines}")
        elif lines > listed:
            complaints.append(f"{where}: {name} grew from {listed} to {lines} lines; it may only "
                              "shrink")
    return complaints


if __name__ == "__main__":
    tree.run(check)
