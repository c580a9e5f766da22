"""Includes point down only.

A module's files include the module itself and its declared DEPS, nothing else of ours. What lies
in a module's folder is listed in its kvcast_module call, and the other way round. Pure modules
stand on pure modules only and include nothing of the machine. Whatever a module's library and
programs are linked with is among its DEPS.
"""

import graphlib
import re
from pathlib import Path

import tree

# Whatever an #include may name: that a module has no .hpp is for its list to say.
CODE = {".h", ".hh", ".hpp", ".hxx", ".inc", ".inl", ".ipp", ".cc", ".cpp", ".cxx", ".c"}
KINDS = ("sources", "tests", "benches", "fuzzers", "programs")
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
# Whatever else might be one: by a macro, in digraphs, among comments.
STRING = re.compile(r'//.*|"(?:\\.|[^"\\])*"')
HIDDEN_INCLUDE = re.compile(r"(?:#|%:)\s*(?:/\*.*?\*/\s*)*(?:include|import)\b")

# Everything else is pure, so that no module stops being so unnoticed.
IMPURE = {"io", "engine", "host"}

# What engines include is installed as it lies here, outside of all modules, and one of them keeps
# what it promises.
PUBLIC = {"engine": "kvcast/kvcast"}

# However the DEPS may change: nothing below the waist knows of tensors, and the simulator that
# reached the machine would prove nothing.
NEVER = {
    "relay": {"kv", "codec"},
    "store": {"kv", "codec"},
    "moqt": {"kv", "codec"},
    "sim": {"io", "engine", "host"},
}

# Sockets, threads, clocks, files, entropy. <chrono> is not among them: its durations are values,
# and who asks its clocks is found by the purity check. So is who asks <cstdlib> for getenv.
MACHINE = re.compile(
    r"(?:thread|mutex|shared_mutex|condition_variable|future|semaphore|latch|barrier|stop_token"
    r"|fstream|iostream|filesystem|random|ctime|csignal|syncstream"
    r"|(?:dirent|dlfcn|fcntl|netdb|poll|pthread|sched|semaphore|signal|time|unistd|liburing)\.h"
    r"|(?:arpa|linux|net|netinet|sys|CLI|ngtcp2|spdlog)/.*)")


def check(source: Path, build: Path) -> list[str]:
    modules = {module["name"]: module for module in tree.modules(build)}
    complaints = graph(modules)
    for module in modules.values():
        complaints += listed(source, module)
        complaints += includes(source, module, modules)
        complaints += linked(module, modules)
    if "sim" not in modules and (source / "sim").is_dir():
        complaints.append("sim: is no module, so that nothing keeps it from the machine")
    return complaints


def graph(modules: dict[str, dict]) -> list[str]:
    complaints = []
    for name, module in modules.items():
        if not module["pure"] and name not in IMPURE:
            complaints.append(f"{name}: is not declared PURE; only {sorted(IMPURE)} need not be")
        for dep in module["deps"]:
            if dep not in modules:
                complaints.append(f"{name}: depends on {dep}, which is no module")
            elif module["pure"] and not modules[dep]["pure"]:
                complaints.append(f"{name}: is pure and depends on {dep}, which is not")
            if dep in NEVER.get(name, ()):
                complaints.append(f"{name}: must never depend on {dep}")
    try:
        graphlib.TopologicalSorter({n: m["deps"] for n, m in modules.items()}).prepare()
    except graphlib.CycleError as cycle:
        complaints.append("modules depend on each other: " + " -> ".join(cycle.args[1]))
    return complaints


def listed(source: Path, module: dict) -> list[str]:
    """Files that no kvcast_module call lists, and listed ones that are not there."""
    folder = tree.folder_of(source, module["name"])
    present = {path.relative_to(folder).as_posix() for path in folder.rglob("*")
               if path.suffix in CODE}
    named = {name for kind in KINDS for name in module[kind]}
    where = folder.relative_to(source).as_posix()
    return ([f"{where}/{name}: not listed in {where}/CMakeLists.txt"
             for name in sorted(present - named)] +
            [f"{where}/CMakeLists.txt: lists {name}, which is not there"
             for name in sorted(named - present)])


def includes(source: Path, module: dict, modules: dict[str, dict]) -> list[str]:
    folder = tree.folder_of(source, module["name"])
    allowed = {tree.folder_of(source, name).relative_to(source).as_posix()
               for name in [module["name"], *module["deps"]] if name in modules}
    complaints = []
    for name in [n for kind in KINDS for n in module[kind]]:
        path = folder / name
        for line, quote, target in included(path):
            where = f"{path.relative_to(source).as_posix()}:{line}"
            if target is None:
                complaints.append(f"{where}: an include that is not written as #include \"FILE\" "
                                  "or <FILE>")
                continue
            if name in module["benches"] and target.startswith("bench/"):
                continue  # What benchmarks share.
            # Which quotes are used does not matter to the compiler: the root is on its path.
            ours = quote == '"' or (source / target.split("/")[0]).is_dir()
            if module["name"] in PUBLIC and target.startswith(PUBLIC[module["name"]]):
                continue
            if ours and (".." in Path(target).parts or
                         not any(target.startswith(f"{home}/") for home in allowed)):
                complaints.append(f"{where}: includes \"{target}\"; {module['name']} may include "
                                  f"{', '.join(sorted(allowed))}, by path from the root")
            if module["pure"] and name in module["sources"] and MACHINE.fullmatch(target):
                complaints.append(f"{where}: includes {target}; {module['name']} is pure")
    return complaints


def included(path: Path):
    if not path.is_file():
        return
    for line, content in enumerate(path.read_text().splitlines(), 1):
        if match := INCLUDE.match(content):
            yield line, match[1], match[2]
        elif HIDDEN_INCLUDE.search(STRING.sub("", content)):
            yield line, None, None


def linked(module: dict, modules: dict[str, dict]) -> list[str]:
    """Modules that something of this one is linked with although it does not depend on them."""
    reached = {name for name in modules
               if re.search(rf"\bkvcast_{name}\b", module["links"])}
    return [f"{module['name']}: is linked with {name}, which is not among its DEPS"
            for name in sorted(reached - {module["name"], *module["deps"]})]


if __name__ == "__main__":
    tree.run(check)
