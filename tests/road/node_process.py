"""A node as a process of its own, for tests that go the whole road."""

import os
import re
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path

PATIENCE_S = 60  # Only so as not to hang.
NOT_HERE = 77  # What CTest takes for skipped.
FINDING = re.compile(r"(?:Address|Leak|Thread|UndefinedBehavior)Sanitizer: |: runtime error: ")


def need_library(library: str):
    """Where only a node is built, the library is another build's, which may not be there."""
    if not Path(library).exists():
        print(f"{library} has not been built", file=sys.stderr)
        sys.exit(NOT_HERE)


def until(what, says: str, patience_s: float = PATIENCE_S):
    """Waits for it to be so; returns what it said then."""
    end = time.monotonic() + patience_s
    while not (so := what()):
        if time.monotonic() > end:
            raise AssertionError(says)
        time.sleep(0.02)
    return so


class Node:
    """with Node(kvcast) as node: node.address is what --node takes."""

    def __init__(self, kvcast: str, *options: str, environment: dict[str, str] | None = None):
        self.scratch = tempfile.TemporaryDirectory()
        folder = Path(self.scratch.name)
        self.ready = ready = folder / "address"
        self.log = folder / "log"
        lazy = [] if "--ram" in options else ["--no-prefault"]  # Gigabytes are not for tests.
        # Nor is the home of whoever tests: the directory is the node's own.
        if not {"--disk", "--bucket", "--cache-dir", "--config"} & set(options):
            lazy += ["--cache-dir", "none"]
        self.state = folder / "state"
        if "--state-dir" in options:
            self.state = Path(options[options.index("--state-dir") + 1])
        else:
            lazy += ["--state-dir", self.state]
        if "--listen" not in options:
            lazy += ["--listen", "127.0.0.1:0"]
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [kvcast, "serve", *lazy, "--ready-file", ready, *options], stdout=log, stderr=log,
                env=os.environ | (environment or {}))
        end = time.monotonic() + PATIENCE_S
        while not ready.exists():
            if self.process.poll() is not None or time.monotonic() > end:
                said = self.log.read_text()
                self.stop()
                raise RuntimeError(f"The node did not start. It said:\n{said}")
            time.sleep(0.01)
        self.address = ready.read_text().strip()

    def page(self, path: str) -> tuple[int, str]:
        """What its admin port answers."""
        said = self.state / "admin-address"
        place = until(lambda: said.exists() and said.read_text().strip(), "no admin port")
        try:
            with urllib.request.urlopen(f"http://{place}{path}", timeout=PATIENCE_S) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as refused:
            return refused.code, refused.read().decode()

    def metric(self, name: str) -> float:
        """Over all of its labels."""
        return sum(float(value) for value in re.findall(rf"^{name}(?:{{.*}})? ([0-9.e+]+)$", self.page("/metrics")[1],
                                                        re.MULTILINE))

    def await_upstream(self):
        until(lambda: "upstream connected" in self.log.read_text(), "no upstream came")

    def stop(self) -> int:
        """Asks it to end; how it did. What a sanitizer has found in it fails the test, even where the node went on."""
        self.process.terminate()
        try:
            status = self.process.wait(PATIENCE_S)
        finally:
            self.process.kill()
            said = self.log.read_text(errors="replace") if self.log.exists() else ""  # It was stopped before.
            self.scratch.cleanup()
        if FINDING.search(said):
            raise AssertionError(f"A sanitizer found something in the node. It said:\n{said}")
        return status

    def __enter__(self):
        return self

    def __exit__(self, *raised):
        self.stop()
