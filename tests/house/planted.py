"""A small tree to plant violations in, for the tests of the checks."""

import json
import tempfile
import unittest
from pathlib import Path


class Planted(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.source = Path(scratch.name) / "source"
        self.build = Path(scratch.name) / "out"
        self.source.mkdir()
        self.build.mkdir()

    def plant(self, name: str, content: str | bytes = "") -> Path:
        path = self.source / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    def declare(self, *modules: dict) -> None:
        """Writes modules.json; what a declaration leaves out is empty, and a module is pure."""
        empty = {"pure": True, "archive": "", "deps": [], "sources": [], "tests": [],
                 "benches": [], "fuzzers": [], "programs": [], "links": ""}
        declared = [empty | module for module in modules]
        (self.build / "modules.json").write_text(json.dumps(declared))

    def assert_one(self, complaints: list[str], *words: str) -> None:
        """Exactly one complaint, which says these words."""
        self.assertEqual(len(complaints), 1, complaints)
        for word in words:
            self.assertIn(word, complaints[0])
