"""Shows outputs that a stand-in for kvcast does and does not print."""

import unittest

from docs_run import check, matches
from planted import Planted

PROGRAM = """#!/bin/sh
case $1 in
  hello) echo hello; echo "$2" >&2 ;;
  many) seq 1 9 ;;
  where) ls ;;
  crash) echo about to; kill -SEGV $$ ;;
esac
"""


class DocsRun(Planted):
    def setUp(self):
        super().setUp()
        self.program = self.build / "stand-in"
        self.program.write_text(PROGRAM)
        self.program.chmod(0o755)

    def complaints(self, update: bool = False) -> list[str]:
        return check(self.source, self.build, str(self.program), update)

    def show(self, *lines: str, kind: str = "console", name: str = "README.md") -> None:
        self.plant(name, "\n".join(["Text.", f"```{kind}", *lines, "```", "More."]) + "\n")

    def test_what_it_prints_passes(self):
        self.show("$ bin/kvcast hello you", "hello", "you", "", "$ ls /gone", "whatever",
                  "$ kvcast hello \\", "> you 2>&1 | sort -r", "you", "hello")
        self.assertEqual(self.complaints(), [])

    def test_what_it_does_not_print_fails_and_is_shown(self):
        self.show("$ bin/kvcast hello you", "hello", "they", name="docs/deep/guide.md")
        self.assert_one(self.complaints(), "docs/deep/guide.md:3: bin/kvcast hello you",
                        "-they", "+you")

    def test_output_that_is_left_out_fails(self):
        self.show("$ bin/kvcast hello you")
        self.assert_one(self.complaints(), "+hello")

    def test_commands_run_at_the_root(self):
        self.show("$ ./bin/kvcast where", "README.md")
        self.assertEqual(self.complaints(), [])

    def test_a_crash_fails_though_all_else_is_as_shown(self):
        self.show("$ bin/kvcast crash", "about to")
        self.assert_one(self.complaints(), "crashed")

    def test_blocks_that_are_not_to_be_run(self):
        self.show("$ bin/kvcast hello you", "nonsense", kind="console no-run")
        self.assertEqual(self.complaints(), [])
        self.show("$ bin/kvcast hello you", "nonsense", kind="console with-node")
        self.assertEqual(self.complaints(), [])
        self.show("$ bin/kvcast hello you", "nonsense", kind="sh")
        self.assertEqual(self.complaints(), [])
        self.show("$ bin/kvcast hello you", "nonsense", name="notes/else.md")
        self.assertEqual(self.complaints(), [])

    def test_a_block_in_a_list(self):
        self.plant("README.md", "- a\n\n  ```console\n  $ kvcast hello you\n  hello\n  yu\n  ```\n")
        self.assert_one(self.complaints(), "README.md:4", "-yu")

    def test_update_writes_what_is_printed(self):
        self.show("$ bin/kvcast hello you", "old", "$ bin/kvcast many", "1", "...", "9",
                  "$ bin/kvcast hello me")
        self.assertEqual(self.complaints(update=True), [])
        self.assertEqual((self.source / "README.md").read_text().split("\n"), [
            "Text.", "```console", "$ bin/kvcast hello you", "hello", "you", "$ bin/kvcast many",
            "1", "...", "9", "$ bin/kvcast hello me", "hello", "me", "```", "More.", ""])
        self.assertEqual(self.complaints(), [])


class Matching(unittest.TestCase):
    def test_dots_stand_for_lines(self):
        self.assertTrue(matches(["a", "...", "z"], ["a", "b", "c", "z"]))
        self.assertTrue(matches(["a", "...", "z"], ["a", "z"]))
        self.assertFalse(matches(["a", "...", "z"], ["a", "b", "c"]))

    def test_an_ellipsis_stands_for_text_within_a_line(self):
        self.assertTrue(matches(["took … ms (…)"], ["took 1.5 ms (fast)"]))
        self.assertFalse(matches(["took … ms"], ["took", "1 ms"]))
        self.assertFalse(matches(["a.c"], ["abc"]))


if __name__ == "__main__":
    unittest.main()
