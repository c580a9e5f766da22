"""A node as a process of its own, for tests that go the whole road."""

import os
import subprocess
import tempfile
import time
from pathlib import Path

PATIENCE_S = 60  # Only so as not to hang.


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
        if "--state-dir" not in options:
            lazy += ["--state-dir", folder / "state"]
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [kvcast, "serve", *lazy, "--listen", "127.0.0.1:0", "--ready-file", ready, *options], stdout=log, stderr=log,
                env=os.environ | (environment or {}))
        end = time.monotonic() + PATIENCE_S
        while not ready.exists():
            if self.process.poll() is not None or time.monotonic() > end:
                said = self.log.read_text()
                self.stop()
                raise RuntimeError(f"The node did not start. It said:\n{said}")
            time.sleep(0.01)
        self.address = ready.read_text().strip()

    def stop(self) -> int:
        """Asks it to end; how it did."""
        self.process.terminate()
        try:
            return self.process.wait(PATIENCE_S)
        finally:
            self.process.kill()
            self.scratch.cleanup()

    def __enter__(self):
        return self

    def __exit__(self, *raised):
        self.stop()
