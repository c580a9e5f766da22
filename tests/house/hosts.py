"""No file of ours names the host of a package registry.

Where packages come from is for each machine to say. The hosts are spelt in parts here, as this
file is one of ours too; those in the machine's own package sources are added when it runs.
"""

import re
from pathlib import Path

import tree

HOSTS = [
    ("(?:deb|ftp|security|snapshot|archive|backports|packages|http|cdn-\\w+)(?:[.]\\w+)?", "debian",
     "org"),
    ("(?:http|ftp)", "debian", "net"),
    ("httpredir", "debian", "org"),
    ("apt", "llvm", "org"),
    ("(?:archive|ports|security|\\w+.archive)", "ubuntu", "com"),
    ("dl-cdn", "alpinelinux", "org"),
    ("(?:registry|npm)", "npmjs", "(?:org|com)"),
    ("registry", "npmmirror", "com"),
    ("registry", "yarnpkg", "com"),
    ("pypi", "(?:org|python[.]org)"),
    ("files", "pythonhosted", "org"),
    ("(?:conda|repo)", "anaconda", "(?:org|com)"),
    ("crates", "io"),
    ("(?:proxy|sum)", "golang", "org"),
    ("pkg", "go", "dev"),
    ("cran", "r-project", "org"),
    ("docker", "io"),
    ("(?:hub|registry-1|download)", "docker", "com"),
    ("ghcr", "io"),
    ("quay", "io"),
    ("gcr", "io"),
    ("pkg", "dev"),
    ("mcr", "microsoft", "com"),
    ("rubygems", "org"),
    ("repo1?", "maven(?:[.]apache)?", "org"),
    ("nuget", "org"),
    ("packagist", "org"),
    ("unpkg", "com"),
    ("jsdelivr", "net"),
    ("esm", "sh"),
    ("jsr", "io"),
    ("deno", "land"),
    ("huggingface", "co"),
    ("hf", "co"),
    ("modelscope", "cn"),
    ("conda-forge", "org"),
    ("(?:download|pypi)", "(?:pytorch|nvidia)", "(?:org|com)"),
    ("developer", "download", "nvidia", "com"),
    ("nvcr", "io"),
    ("dl", "fedoraproject", "org"),
    ("rpmfind", "net"),
    ("conan", "io"),
    ("cache", "nixos", "org"),
    ("formulae", "brew", "sh"),
    ("hackage", "haskell", "org"),
    ("metacpan", "org"),
    ("mirrors?", "(?:aliyun|tuna[.]tsinghua[.]edu|ustc[.]edu|kernel)", "(?:com|cn|org)"),
]


# Places that files of ours name for other reasons, whoever takes packages from there as well.
NO_REGISTRY = re.compile(r"[\d.]+|localhost[.].*|github[.]com|(?:.*[.])?amazonaws[.]com")


def readable(source: Path) -> str:
    """Sources with passwords may be for root alone."""
    try:
        return (tree.text(source) if source.is_file() else None) or ""
    except PermissionError:
        return ""


def machine_hosts(apt: Path) -> list[str]:
    """The hosts that this machine takes packages from. Caches on loopback have no name."""
    parts = apt / "sources.list.d"
    sources = [apt / "sources.list", *parts.glob("*.list"), *parts.glob("*.sources")]
    hosts = set()
    for source in sources:
        hosts |= set(re.findall(r"://(?:[^/@\s]*@)?([\w-]+(?:\.[\w-]+)+)", readable(source)))
    return sorted(host for host in hosts if not NO_REGISTRY.fullmatch(host))


def check(source: Path, build: Path, apt: Path = Path("/etc/apt")) -> list[str]:
    del build
    dot = re.escape(".")
    names = [dot.join(parts) for parts in HOSTS] + [re.escape(h) for h in machine_hosts(apt)]
    # Not as part of a longer name, and not the word that a sentence ends with.
    host = re.compile(rf"(?<![\w-])(?:{'|'.join(names)})(?![\w-]|\.\w)", re.IGNORECASE)
    complaints = []
    for name in tree.files(source):
        content = tree.text(source / name) or ""
        for line, words in enumerate(content.splitlines(), 1):
            if match := host.search(words):
                complaints.append(f"{name}:{line}: names the package host {match[0]}")
    return complaints


if __name__ == "__main__":
    tree.run(check)
