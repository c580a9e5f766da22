"""Plants ledgers that add up, and ledgers that do not."""

import subprocess
import unittest

from ledger import check
from planted import Planted

HEAD = "# Ledger\n\n## Fuzzing\n\n| commit | fuzzer | executions | found |\n|---|---|---|---|\n"


class Ledger(Planted):
    def setUp(self):
        super().setUp()
        self.plant("kvcast/io/a_fuzz.cc", "")
        self.plant("kvcast/io/b_fuzz.cc", "")

    def of(self, rows: str, sentence: str) -> list[str]:
        self.plant("docs/ledger.md", HEAD + rows + "\n" + sentence + "\n\n## Simulation\n\n"
                   "| c | `a_fuzz` | 5 | not a fuzzer's row |\n")
        return check(self.source, self.build)

    def test_a_ledger_that_adds_up_passes(self):
        rows = ("| `1` | `a_fuzz`, `b_fuzz` | 400,000 each | none |\n"
                "| `2` | `a_fuzz` / `b_fuzz` | 1,600,000 / 9 | none |\n"
                "| `3` and `4` | `b_fuzz` | 1 and 100,000 | none |\n")
        self.assertEqual(self.of(rows, "Of a million executions in all, there are still missing: "
                                 "of `b_fuzz` 499,990."), [])

    def test_a_fuzzer_that_nobody_ran_is_missed(self):
        rows = "| `1` | `a_fuzz` | 1,000,000 | none |\n"
        self.assert_one(self.of(rows, "Of a million executions in all none is missing."),
                        "docs/ledger.md:9", "b_fuzz 1,000,000")
        self.assertEqual(self.of(rows, "Of a million executions in all, `b_fuzz` all."), [])

    def test_a_sum_that_is_out_of_date_is_found(self):
        rows = "| `1` | `a_fuzz` / `b_fuzz` | 1,000,000 / 999,999 | none |\n"
        self.assert_one(self.of(rows, "Of a million executions in all: `b_fuzz` 2."), "b_fuzz 1 ")

    def test_a_fuzzer_of_the_foundation_may_miss_nothing(self):
        self.plant("kvcast/catalog/c_fuzz.cc", "")
        rows = "| `1` | `a_fuzz`, `b_fuzz`, `c_fuzz` | 1,000,000 / 1,000,000 / 999,999 | none |\n"
        self.assert_one(self.of(rows, "Of a million executions in all: `c_fuzz` 1."),
                        "docs/ledger.md:9", "c_fuzz is of the foundation")

    def test_a_fuzzer_that_is_gone_is_not_missed(self):
        rows = "| `1` | `a_fuzz`, `b_fuzz` | 1,000,000 each | none |\n"
        self.assert_one(self.of(rows, "Of a million executions in all: `c_fuzz` 7."), "c_fuzz 0")

    def git(self, *words: str) -> str:
        command = ["git", "-c", "user.name=x", "-c", "user.email=x@example.com", "-C", str(self.source), *words]
        return subprocess.run(command, capture_output=True, check=True, text=True).stdout.strip()

    def test_a_commit_that_nobody_can_check_out_is_found(self):
        self.git("init", "--quiet")
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", "first")
        landed = self.git("rev-parse", "--short=7", "HEAD")
        tree = self.git("rev-parse", "HEAD^{tree}")
        rows = "| `%s` | `a_fuzz`, `b_fuzz` | 1,000,000 each | none |\n"
        said = "Of a million executions in all none is missing."
        self.assertEqual(self.of(rows % landed, said), [])
        # A folder has a name of the same form.
        self.plant("docs/performance.md", f"On `{landed}`, then on `{tree}`.\n")
        self.git("add", "--all")
        complaints = self.of(rows % "0123abc", said)
        self.assertEqual(len(complaints), 2)
        self.assertIn("docs/ledger.md:7: there is no commit 0123abc", complaints[0])
        self.assertIn(f"docs/performance.md:1: there is no commit {tree}", complaints[1])

    def test_a_parser_that_has_changed_since_it_was_fuzzed_is_said(self):
        self.plant("kvcast/kv/kv_file_fuzz.cc", "")
        self.plant("kvcast/kv/kv_file.cc", "a line\n" * 100)
        self.git("init", "--quiet")
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", "first")
        commit = self.git("rev-parse", "--short=7", "HEAD")
        rows = "| `%s` | `a_fuzz`, `b_fuzz`, `kv_file_fuzz` | 1,000,000 each | none |\n" % commit
        enough = "Of a million executions in all none is missing.\n"
        said = enough + "Changed since it last ran: `kv_file_fuzz`.\n"
        self.assertEqual(self.of(rows, enough), [])
        self.assert_one(self.of(rows, said), "what kv_file_fuzz looks into has changed by 0 lines")
        self.plant("kvcast/kv/kv_file.cc", "a line\n" * 100 + "another\n" * 51)
        self.assert_one(self.of(rows, enough), "what kv_file_fuzz looks into has changed by 51 lines")
        self.assertEqual(self.of(rows, said), [])

    def test_a_fuzzer_of_the_foundation_says_what_it_looks_into(self):
        self.plant("kvcast/kv/new_fuzz.cc", "")
        self.git("init", "--quiet")
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", "first")
        commit = self.git("rev-parse", "--short=7", "HEAD")
        rows = "| `%s` | `a_fuzz`, `b_fuzz`, `new_fuzz` | 1,000,000 each | none |\n" % commit
        self.assert_one(self.of(rows, "Of a million executions in all none is missing."), "PARSERS", "new_fuzz")

    def test_without_its_history_no_commit_is_looked_up(self):
        rows = "| `0123abc` | `a_fuzz`, `b_fuzz` | 1,000,000 each | none |\n"
        self.assertEqual(self.of(rows, "Of a million executions in all none is missing."), [])

    def test_numbers_that_belong_to_nobody_are_found(self):
        rows = "| `1` | `a_fuzz`, `b_fuzz` | 1,000,000 / 1,000,000 / 3 | none |\n"
        self.assertIn("2 fuzzers and 3 numbers", self.of(rows, "")[0])


if __name__ == "__main__":
    unittest.main()
