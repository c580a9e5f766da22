"""Build files name what they build, and flags belong to a target.

A glob takes in whatever lies there, and is not read again when a file is added; a flag for a whole
folder reaches targets that nobody thought of.
"""

import re
from pathlib import Path

import tree

FORBIDDEN = {
    "collects files by a pattern": re.compile(
        r"\bfile\s*\(\s*GLOB(?:_RECURSE)?\b|\baux_source_directory\s*\(", re.IGNORECASE),
    "sets flags for a whole folder": re.compile(
        r"(?<![\w_])(?:add_compile_options|add_compile_definitions|add_definitions|add_link_options"
        r"|include_directories|link_directories|link_libraries|set_directory_properties)\s*\("
        r"|\bset_property\s*\(\s*DIRECTORY\b"
        r"|\b(?:set|list)\s*\(\s*(?:APPEND\s+|PREPEND\s+)?CMAKE_(?:C|CXX|EXE_LINKER|SHARED_LINKER)_FLAGS(?:_\w+)?\b"
        r"|\bstring\s*\(\s*(?:APPEND|PREPEND)\s+CMAKE_\w*FLAGS\w*\b", re.IGNORECASE),
}


def check(source: Path, build: Path) -> list[str]:
    del build
    complaints = []
    for name in tree.files(source):
        if Path(name).name != "CMakeLists.txt" and Path(name).suffix != ".cmake":
            continue
        # A call may go over several lines, and a comment is none.
        content = re.sub(r"#[^\n]*", "", tree.text(source / name) or "")
        for what, pattern in FORBIDDEN.items():
            complaints += [f"{name}:{content.count(chr(10), 0, match.start()) + 1}: {what}: {match[0]}"
                           for match in pattern.finditer(content)]
    return complaints


if __name__ == "__main__":
    tree.run(check)
