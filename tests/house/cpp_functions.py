"""Where the functions of a C++ file begin and end, near enough to measure them.

No parser: comments, literals and directives are blanked, then braces are matched, and what stands
before a brace tells a function from a scope. A lambda is part of the function it stands in; where there is none, it
is one itself.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

BLANKED = re.compile(
    r'//[^\n]*|/\*.*?\*/'                             # Comments.
    r'|R"(?P<tag>[^()\\\s]{0,16})\(.*?\)(?P=tag)"'    # Raw strings, before plain ones.
    r'|"(?:\\.|[^"\\\n])*"'
    r"|(?:\bu8|(?<![0-9a-fA-F]))'(?:\\.|[^'\\\n])+'",   # Not the ' of 1'000.
    re.DOTALL)
DIRECTIVE = re.compile(r"^[ \t]*#[ \t]*(\w*)(?:[^\n]*\\\n)*[^\n]*$", re.MULTILINE)
# A macro on a line of its own ends no statement, though no semicolon follows.
MACRO = re.compile(r"^[ \t]*[A-Z][A-Z0-9_]+[ \t]*$", re.MULTILINE)
SCOPE = re.compile(r"^(?:template\b.*?>\s*)?(?:inline\s+|export\s+|typedef\s+)*"
                   r"(?:namespace|class|struct|union|enum|extern)\b"
                   r"(?!.*\)\s*(?:(?:const|noexcept|override|final|try)\b.*|&.*|->.*)?$)",
                   re.DOTALL)
UNNAMED = re.compile(r"\]\s*(?:\([^()]*\))?[^\](){}]*$")  # What stands before a lambda's brace.
MEMBER = re.compile(r"\)\s*(?:noexcept\s*)?:(?!:).*[\w>]\s*$", re.DOTALL)
MEMBERS = re.compile(r"\)\s*(?:noexcept\s*)?:(?!:)")  # Where a constructor's list of them begins.
LAMBDA = re.compile(r"(\w+)\s*=\s*\[[^\]]*\]")
TEST = re.compile(r"\b(?:TYPED_)?TEST(?:_[FP])?\s*\(\s*(\w+)\s*,\s*(\w+)")
NAME = re.compile(r"((?:[\w~]+(?:<[^()<>]*>)?\s*::\s*)*"
                  r"(?:operator\s*(?:\(\s*\)|[^\s(]+)|[\w~]+))\s*\(")


class Function(NamedTuple):
    name: str
    line: int
    lines: int


def functions(code: str) -> Iterator[Function]:
    code = MACRO.sub("", blank(code))
    first, last = without_directives(code), without_directives(code, keep_first=False)
    yield from measured(first)
    if last != first:
        yield from measured(last)


def measured(code: str) -> Iterator[Function]:
    begin = 0      # Where the statement before the next brace begins.
    depth = 0      # Braces open inside of the function (or initialiser) we are in.
    member = 0     # The same inside of a constructor's member initialiser.
    opened = None  # What stands before the function's brace, and where that begins.
    for brace in re.finditer(r"[{};]", code):
        step = {"{": 1, "}": -1, ";": 0}[brace[0]]
        if depth:
            depth += step
            if not depth and (name := name_of(opened[0])):
                first, last = line_of(code, opened[1]), line_of(code, brace.start())
                yield Function(name, first, last - first + 1)
        elif member:
            member += step
            continue
        elif step == 1:
            head = code[begin:brace.start()]
            # A default argument's braces are no body either, nor are those of a member's lambda.
            argument = head.count("(") > head.count(")") and (
                not UNNAMED.search(head) or MEMBERS.search(head))
            if argument or MEMBER.search(head):
                member = 1
                continue
            if not SCOPE.match(head.strip()):
                depth = 1
                opened = head, brace.start() - len(head.lstrip())
        if not depth:
            begin = brace.end()


def name_of(head: str) -> str | None:
    """The name of the function that `head` declares; None for an initialiser."""
    if test := TEST.search(head):
        return f"{test[1]}.{test[2]}"
    head = re.sub(r"^(?:\s*(?:public|private|protected)\s*:)+", "", head)
    if unnamed := LAMBDA.search(head):
        return unnamed[1]
    name = NAME.search(head)
    return re.sub(r"\s+", "", name[1]) if name else None


def blank(code: str) -> str:
    """The code with comments and literals emptied and every line where it was."""
    return BLANKED.sub(lambda match: '""' + "\n" * match[0].count("\n")
                       if match[0][0] in "\"'R" else "\n" * match[0].count("\n"), code)


def without_directives(code: str, keep_first: bool = True) -> str:
    """Of #if and #else only the first or only what follows, as their braces would not match together."""
    kept = []
    end = 0
    skipping = []  # For every #if around us, whether we leave out what we are in.
    for match in DIRECTIVE.finditer(code):
        between = code[end:match.start()]
        kept.append("\n" * between.count("\n") if any(skipping) else between)
        kept.append("\n" * match[0].count("\n"))
        end = match.end()
        if match[1].startswith("if"):
            skipping.append(not keep_first and has_else(code, match.end()))
        elif match[1].startswith("el") and skipping:
            skipping[-1] = keep_first
        elif match[1] == "endif" and skipping:
            skipping.pop()
    kept.append(code[end:])
    return "".join(kept)


def has_else(code: str, at: int) -> bool:
    """Whether the #if that ends at `at` has an #else or #elif."""
    depth = 0
    for match in DIRECTIVE.finditer(code, at):
        if match[1].startswith("if"):
            depth += 1
        elif match[1].startswith("el") and not depth:
            return True
        elif match[1] == "endif":
            if not depth:
                return False
            depth -= 1
    return False


def line_of(code: str, at: int) -> int:
    return code.count("\n", 0, at) + 1
