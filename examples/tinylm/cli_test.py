#!/usr/bin/env python3
"""What someone at a terminal sees of tinylm: cli_test.py PROGRAM"""
import pathlib
import subprocess
import sys
import unittest

import reference_tokenizer

HERE = pathlib.Path(__file__).resolve().parent


def tinylm(*arguments, stdin=b""):
    return subprocess.run([PROGRAM, *arguments], input=stdin, capture_output=True, timeout=60)


class Cli(unittest.TestCase):
    def test_the_prompts_have_the_ids_that_the_reference_gives_them(self):
        reference = reference_tokenizer.Tokenizer(HERE / "model" / "tokenizer.json")
        for path in sorted((HERE / "prompts").glob("*.txt")):
            printed = tinylm("tokenize", "--file", path).stdout
            self.assertEqual(path.with_suffix(".tokens").read_bytes(), printed)
            ids = [int(word) for word in printed.split()]
            self.assertEqual(ids, [0, *reference.encode(path.read_bytes().decode("utf-8"))])

    def test_what_is_tokenized_can_be_detokenized(self):
        for text in ["", "\n", "It's  one\r\n\ttext\u00a0\U0001f600 <s>", "<s>"]:
            for start in [[], ["--bare"]]:
                ids = tinylm("tokenize", *start, stdin=text.encode()).stdout
                again = tinylm("detokenize", *start, stdin=ids).stdout
                self.assertEqual(again.decode(), text)

    def test_text_and_ids_may_be_arguments(self):
        self.assertEqual(tinylm("tokenize", "a").stdout, b"0 66\n")
        self.assertEqual(tinylm("tokenize", "").stdout, b"0\n")
        self.assertEqual(tinylm("tokenize", "--bare", "--", "--").stdout.count(b" "), 0)
        self.assertEqual(tinylm("detokenize", "0", "66", "66").stdout, b"aa")

    def test_help_gives_an_example_to_try(self):
        for arguments in [[], ["tokenize"], ["detokenize"]]:
            shown = tinylm(*arguments, "--help")
            self.assertEqual(shown.returncode, 0)
            self.assertIn(b"Try:  tinylm", shown.stdout)

    def test_failures_are_one_line_and_a_status(self):
        for arguments, stdin, said in [
            (["tokenize", "--file", "/no/such/file"], b"", b"/no/such/file: No such file"),
            (["tokenize", "--file", "/"], b"", b"tinylm: /: "),
            (["tokenize"], b"ab\xff", b"byte 2: The text is not UTF-8"),
            (["detokenize"], b"1 2 x", b"standard input: byte 4: A token id was expected"),
            (["detokenize", "4096"], b"", b"There is no token 4096"),
            (["--model", "/no/such", "tokenize", "a"], b"", b"/no/such/tokenizer.json: "),
        ]:
            failed = tinylm(*arguments, stdin=stdin)
            self.assertEqual(failed.returncode, 1, arguments)
            self.assertEqual(failed.stdout, b"")
            self.assertIn(said, failed.stderr)
            self.assertEqual(failed.stderr.count(b"\n"), 1)

    def test_it_has_to_be_told_what_to_do(self):
        self.assertNotEqual(tinylm().returncode, 0)
        self.assertNotEqual(tinylm("tokenize", "--file", "f", "text").returncode, 0)
        self.assertNotEqual(tinylm("detokenize", "word").returncode, 0)


if __name__ == "__main__":
    PROGRAM = sys.argv.pop(1)
    unittest.main()
