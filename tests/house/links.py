"""Every link in our documents leads somewhere: to a file of ours, and to a heading in it. So does
every source file that they name as code, by its path in the repository or below kvcast/."""

import re
from pathlib import Path
from urllib.parse import unquote

import tree

FENCE = re.compile(r"^ *(`{3,}|~{3,})")
HEADING = re.compile(r"^ {0,3}#{1,6}\s+(.*?)\s*#*\s*$")
UNDERLINE = re.compile(r"^ {0,3}(?:=+|-+)\s*$")
ANCHOR = re.compile(r"""<\w+[^>]*\b(?:id|name)=["']([^"']+)["']""")
LINKS = [
    re.compile(r"\]\(\s*<?([^)<>\s]+)>?(?:\s+[\"'(][^)]*)?\)"),         # [text](target "title")
    re.compile(r"^ {0,3}\[[^\]^][^\]]*\]:\s*<?([^<>\s]+)>?"),           # [label]: target
    re.compile(r"""<(?:a|img|source)\b[^>]*\b(?:href|src)=["']([^"']+)["']"""),
]
LABEL = re.compile(r"^ {0,3}\[([^\]^][^\]]*)\]:", re.MULTILINE)
REFERENCE = re.compile(r"\[([^\[\]]+)\]\[([^\[\]]*)\]")                # [text][label], [label][]
SOURCE_FILE = re.compile(r"`([\w.-]+(?:/[\w.-]+)+\.(?:cc|h|py))`")


def prose(content: str):
    """The numbered lines outside of code blocks, without the code in them."""
    fence = None
    for number, line in enumerate(content.splitlines(), 1):
        if match := FENCE.match(line):
            if fence is None:
                fence = match[1]
            elif match[1].startswith(fence):
                fence = None
        elif fence is None:
            yield number, line


def without_code(line: str) -> str:
    return re.sub(r"(`+)(?!`).*?(?<!`)\1(?!`)", "", line)


def slug(heading: str) -> str:
    """The anchor that GitHub makes of a heading."""
    heading = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", heading)  # A link counts as its text.
    heading = re.sub(r"<[^>]+>|[*`]", "", heading)
    heading = re.sub(r"[^\w\- ]", "", heading.lower())
    return heading.replace(" ", "-")


def anchors(content: str) -> set[str]:
    found: set[str] = set()
    seen: dict[str, int] = {}
    previous = ""
    for _, line in prose(content):
        found |= set(ANCHOR.findall(line))
        heading = None
        if match := HEADING.match(line):
            heading = match[1]
        elif UNDERLINE.match(line) and previous.strip():
            heading = previous.strip()
        if heading is not None:
            name = slug(heading)
            count = seen[name] = seen.get(name, -1) + 1
            found.add(f"{name}-{count}" if count else name)
        previous = "" if heading is not None else line
    return found


def complaint(source: Path, document: Path, target: str) -> str | None:
    """What is wrong with the link; None if it leads somewhere."""
    path, _, anchor = target.partition("#")
    path = unquote(path)
    # GitHub reads a leading slash from the root of the repository.
    file = source / path.lstrip("/") if path.startswith("/") else document.parent / path
    file = file.resolve() if path else document.resolve()
    if not file.is_relative_to(source.resolve()):
        return f"{target} leads out of the repository"
    if not file.exists():
        return f"{target} is not there"
    if anchor and file.suffix == ".md" and unquote(anchor) not in anchors(file.read_text()):
        return f"{target}: there is no such heading"
    return None


def dead_references(line: str, labels: set[str]) -> list[str]:
    """Labels that the line refers to and the document does not define."""
    used = [label or text for text, label in REFERENCE.findall(line)]
    return [label for label in used if " ".join(label.lower().split()) not in labels]


def is_source(source: Path, document: Path, path: str) -> bool:
    return any((folder / path).exists() for folder in (source, source / "kvcast", document.parent))


def check(source: Path, build: Path) -> list[str]:
    del build
    complaints = []
    for name in tree.files(source):
        if not name.endswith(".md"):
            continue
        document = source / name
        content = document.read_text()
        labels = {" ".join(label.lower().split()) for label in LABEL.findall(content)}
        for number, line in prose(content):
            complaints += [f"{name}:{number}: [{label}] is not defined"
                           for label in dead_references(without_code(line), labels)]
            for target in [t for pattern in LINKS for t in pattern.findall(without_code(line))]:
                if re.match(r"[a-zA-Z][\w+.-]*:|//", target):
                    continue  # Another site's.
                if wrong := complaint(source, document, target):
                    complaints.append(f"{name}:{number}: {wrong}")
            complaints += [f"{name}:{number}: {path} is not there"
                           for path in SOURCE_FILE.findall(line)
                           if not is_source(source, document, path)]
    return complaints


if __name__ == "__main__":
    tree.run(check)
