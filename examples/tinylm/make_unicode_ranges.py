#!/usr/bin/env python3
"""Writes unicode_ranges.inc: which code points are letters, numbers and white space.

    make_unicode_ranges.py            write it anew, from the Unicode version this Python knows
    make_unicode_ranges.py --check    tell whether it would be written the same (what ctest runs)

Another Unicode version than the file's has other letters: --check then exits with 77, skipped.
"""
import pathlib
import sys
import unicodedata

FILE = pathlib.Path(__file__).resolve().parent / "unicode_ranges.inc"
COLUMNS = 100
SKIPPED = 77


def kind(code):
    """L for \\p{L}, N for \\p{N}, S for Unicode's White_Space, nothing for the rest."""
    category = unicodedata.category(chr(code))[0]
    if category in "LN":
        return category
    return "S" if category == "Z" or 9 <= code <= 13 or code == 0x85 else ""


def ranges():
    first, current = 0, ""
    for code in range(0x110001):
        now = kind(code) if code < 0x110000 else ""
        if now != current:
            if current:
                yield f"{{0x{first:x}, 0x{code - 1:x}, {current}}},"
            first, current = code, now


def written():
    lines = [f"// Unicode {unicodedata.unidata_version}, by make_unicode_ranges.py. "
             "First, last and kind; ascending."]
    line = ""
    for entry in ranges():
        if len(line) + 1 + len(entry) > COLUMNS:
            lines.append(line)
            line = ""
        line += (" " if line else "") + entry
    return "\n".join([*lines, line]) + "\n"


def main():
    if sys.argv[1:] == []:
        FILE.write_text(written(), encoding="ascii")
    elif sys.argv[1:] == ["--check"]:
        found, expected = FILE.read_text(encoding="ascii"), written()
        if found.splitlines()[0] != expected.splitlines()[0]:
            print(f"Not compared: this Python knows Unicode {unicodedata.unidata_version}.")
            sys.exit(SKIPPED)
        if found != expected:
            sys.exit(f"{FILE.name} is not what {pathlib.Path(__file__).name} writes.")
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
