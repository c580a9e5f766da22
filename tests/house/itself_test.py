"""Plants what readers of the product could not follow; in parts, as the check reads this too."""

import unittest

from itself import check
from planted import Planted

BESIDE = "../sha" "red/x"


class Itself(Planted):
    def complaints(self) -> list[str]:
        return check(self.source, self.build)

    def test_a_product_that_speaks_of_itself_passes(self):
        self.plant("README.md", "# 1\nColour #123456, heading [a](#12). The issue is #include.\n"
                   "The issue, 2 of them: bugs. Set `KVCAST_JOBS` to 3.\n| KVCAST_JOBS | cores |\n")
        self.plant("a.sh", f"mktemp /tmp/x.XX{'XX'}XX  # network/working, a/work/b, hackers\n")
        self.plant("a_test.cc", f'if (!Exists("{BESIDE}")) GTEST_SKIP();\n')
        self.plant("tests/corpus/f/1", "TO" "DO\n")
        self.plant("a.png", b"\xff TO" b"DO")
        self.assertEqual(self.complaints(), [])

    def test_what_a_reader_could_not_follow(self):
        for words in ["see issue" " #12", "as issue" " 2 says", "bug" "-17", "PR" " 8",
                      "fixes" " #3", "store: retry (" "#45)", "GH" "-12",
                      "example.com/x/issues" "/9", "// TO" "DO: later", "# FIX" "ME", "X" "XX",
                      "cd /wor" "k/main", "/home" "/ann/kvcast", "AI" "-generated",
                      "written by an" " LLM", "the closing" " note", "a sub" "agent did",
                      "Co-Authored" "-By: x", f'Read("{BESIDE}")']:
            with self.subTest(words):
                self.plant("notes.txt", f"\n{words}\n")
                self.assert_one(self.complaints(), "notes.txt:2")

    def test_a_place_that_nobody_filled(self):
        for words in ["BENCH" "_TABLE", "  {{RESULTS" "_TABLE}}", "<!-- LEDGER" "_ROWS -->"]:
            with self.subTest(words):
                self.plant("docs/a.md", f"\n{words}\n")
                self.assert_one(self.complaints(), "docs/a.md:2", "holds a place")


if __name__ == "__main__":
    unittest.main()
