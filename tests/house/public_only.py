"""The example engine knows kvcast as any engine does: by its public headers.

Its tests may look further, since they need a node, and what it is made of.
"""

import re
from pathlib import Path

import tree

ENGINE = "examples/tinylm/"
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"](kvcast/[^>"]+)[>"]')
PUBLIC = re.compile(r"kvcast/kvcast(?:_\w+)?\.(?:h|hpp)")
TEST = re.compile(r"_test\.(?:cc|h)$")


def check(source: Path, build: Path) -> list[str]:
    del build
    complaints = []
    for name in tree.files(source):
        if not name.startswith(ENGINE) or TEST.search(name) or Path(name).suffix not in (".cc", ".h", ".inc"):
            continue
        for number, line in enumerate((tree.text(source / name) or "").splitlines(), 1):
            if (match := INCLUDE.match(line)) and not PUBLIC.fullmatch(match[1]):
                complaints.append(f"{name}:{number}: includes {match[1]}, which no engine has: only kvcast.h and kvcast.hpp, "
                                  "and what they are made of, are installed")
    return complaints


if __name__ == "__main__":
    tree.run(check)
