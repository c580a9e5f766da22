#!/usr/bin/env python3
"""What someone at a terminal sees of tinylm: cli_test.py PROGRAM"""
import pathlib
import subprocess
import sys
import tempfile
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

    def test_a_text_goes_on_the_same_whether_its_cache_is_computed_or_loaded(self):
        shared = (HERE / "prompts" / "shared-prefix-a.txt").read_bytes()[:600]
        with tempfile.TemporaryDirectory() as scratch:
            cache = pathlib.Path(scratch) / "cache.safetensors"
            self.assertEqual(tinylm("prefill", "--out", cache, stdin=shared).returncode, 0)
            for rest in [b"", b"\n\nWhat does it cost?\n"]:
                generate = ["generate", "--tokens", "20", "--timing"]
                computed = tinylm(*generate, stdin=shared + rest)
                loaded = tinylm(*generate, "--cache", cache, stdin=shared + rest)
                self.assertEqual(loaded.stdout, computed.stdout)
                self.assertGreater(len(loaded.stdout), 20)
                self.assertRegex(computed.stderr, rb"prompt: \d+ tokens, 0 of them loaded\n"
                                                  rb"first token after [\d.]+ ms\n"
                                                  rb"then \d+ tokens/s\n$")
                self.assertRegex(loaded.stderr, rb"tokens, [1-9]\d+ of them loaded")
            another = tinylm(*generate, "--cache", cache, "Another prompt.")
            self.assertIn(b", 1 of them loaded", another.stderr)  # The <s> of all documents.

    def test_draws_repeat_with_their_seed(self):
        def drawn(seed):
            return tinylm("generate", "--tokens", "10", "--temperature", "1", "--seed", seed,
                          "The").stdout
        self.assertEqual(drawn("1"), drawn("1"))
        self.assertNotEqual(drawn("1"), drawn("2"))

    def test_help_gives_an_example_to_try(self):
        for arguments in [[], ["generate"], ["prefill"], ["tokenize"], ["detokenize"]]:
            shown = tinylm(*arguments, "--help")
            self.assertEqual(shown.returncode, 0)
            self.assertIn(b"Try:  tinylm", shown.stdout)

    def test_failures_are_one_line_and_a_status(self):
        for arguments, stdin, said in [
            (["tokenize", "--file", "/no/such/file"], b"", b"/no/such/file: Cannot open it: No such file"),
            (["tokenize", "--file", "/"], b"", b"tinylm: /: "),
            (["tokenize"], b"ab\xff", b"byte 2: The text is not UTF-8"),
            (["detokenize"], b"1 2 x", b'standard input: byte 4: No token id begins here'),
            (["detokenize", "4096"], b"", b"There is no token 4096"),
            (["--model", "/no/such", "tokenize", "a"], b"", b"/no/such/tokenizer.json: "),
            (["generate", "--tokens", "4096", "a"], b"", b"4098 tokens; the model looks at 4096"),
            (["generate", "--cache", "/no/such/file", "a"], b"", b"/no/such/file: "),
            (["generate", "--cache", PROGRAM, "a"], b"", PROGRAM.encode() + b": "),
            (["generate", "--node", "nonsense", "a"], b"", b'"nonsense" does not say where'),
            (["prefill", "--out", "/no/such/file", "a"], b"", b"/no/such: "),
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
        self.assertNotEqual(tinylm("prefill", "no file to write").returncode, 0)
        self.assertNotEqual(tinylm("generate", "--temperature", "-1", "a").returncode, 0)


if __name__ == "__main__":
    PROGRAM = sys.argv.pop(1)
    unittest.main()
