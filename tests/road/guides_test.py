#!/usr/bin/env python3
"""What guides show of kvcast beside a node is what it does: guides_test.py KVCAST TINYLM

Runs the blocks that are marked ```console with-node, document by document and from above, in a folder of their own, where the
examples lie too. "$ kvcast serve ..." starts a node, which takes the place of the one before; where it listens is what the document
calls localhost:4433, and $node is its address.
"""

import difflib
import os
import shlex
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/house"))

import docs_run  # noqa: E402
from node_process import Node  # noqa: E402

SHOWN = "localhost:4433"


class Guides(unittest.TestCase):
    def check(self, document: str):
        lines = (ROOT / document).read_text().split("\n")
        examples = docs_run.examples(lines, mark="with-node", programs="kvcast|tinylm")
        self.assertGreater(len(examples), 3)
        before = Path.cwd()
        node = None
        with tempfile.TemporaryDirectory() as scratch:
            os.chdir(scratch)
            Path("examples").symlink_to(ROOT / "examples")
            Path("tinylm").symlink_to(TINYLM)  # Where commands are looked for.
            try:
                for example in examples:
                    if example.command.removeprefix("bin/").startswith("kvcast serve"):
                        if node:
                            node.stop()
                        node = Node(KVCAST, *shlex.split(example.command)[2:])
                        os.environ["node"] = node.address
                        continue
                    self.compare(document, lines, example, scratch, node)
            finally:
                os.chdir(before)
                if node:
                    node.stop()

    def compare(self, document, lines, example, scratch, node):
        place = f"localhost:{node.address.split('#')[0].rsplit(':', 1)[1]}" if node else SHOWN
        command = example.command.replace(SHOWN, place) if node else example.command
        printed = [line.replace(place, SHOWN)
                   for line in docs_run.execute(command, Path(scratch), KVCAST, scratch)]
        shown = [line.removeprefix(example.indent) for line in lines[example.output]]
        difference = difflib.unified_diff(shown, printed, "shown", "printed", lineterm="")
        self.assertTrue(docs_run.matches(shown, printed),
                        "\n".join([f"{document}:{example.line}: {example.command}", *difference]))

    def test_access(self):
        self.check("docs/guides/access.md")

    def test_certificates(self):
        self.check("docs/guides/certificates.md")

    def test_moq_tools(self):
        self.check("docs/guides/moq-tools.md")

    def test_readme(self):
        self.check("README.md")

    def test_share_a_cache(self):
        self.check("docs/guides/share-a-cache.md")


if __name__ == "__main__":
    TINYLM = Path(sys.argv.pop()).resolve()
    KVCAST = str(Path(sys.argv.pop()).resolve())
    unittest.main()
