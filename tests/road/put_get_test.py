#!/usr/bin/env python3
"""A cache goes from a file through a node into another file: put_get_test.py KVCAST TINYLM"""

import json
import struct
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from node_process import PATIENCE_S, Node

ROOT = Path(__file__).resolve().parents[2]
MODEL = ROOT / "examples/tinylm/model"
PROMPT = ROOT / "examples/tinylm/prompts/shared-prefix-a.txt"
BLOCK = 128


def run(*command, stdin=b""):
    return subprocess.run([str(word) for word in command], input=stdin, capture_output=True,
                          timeout=PATIENCE_S)


def tensors(path: Path) -> dict[str, tuple[list[int], bytes]]:
    """By name: shape and bytes."""
    data = path.read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8:8 + length])
    return {name: (entry["shape"], data[8 + length + entry["data_offsets"][0]:
                                        8 + length + entry["data_offsets"][1]])
            for name, entry in header.items() if name != "__metadata__"}


class PutGet(unittest.TestCase):
    def test_a_loaded_prefix_is_what_was_published_byte_by_byte(self):
        text = PROMPT.read_bytes()[:2500]
        with tempfile.TemporaryDirectory() as scratch, Node(KVCAST) as node:
            folder = Path(scratch)
            self.assertEqual(
                run(TINYLM, "prefill", "--out", folder / "a.safetensors", stdin=text).returncode, 0)
            for name, ending in [("a", b""), ("b", b" Another ending.")]:
                ids = run(TINYLM, "tokenize", stdin=text + ending).stdout
                (folder / f"{name}.tokens").write_bytes(ids)
            common = ["--model", MODEL, "--model-name", "tinylm", "--node", node.address, "--json"]
            put = run(KVCAST, "put", folder / "a.tokens", folder / "a.safetensors", *common)
            self.assertEqual(put.returncode, 0, put.stderr)
            blocks = len((folder / "a.tokens").read_text().split()) // BLOCK
            self.assertEqual([(rung["rung"], rung["sent"]) for rung in json.loads(put.stdout)["rungs"]],
                             [("BF16-lossless", blocks), ("KTC-medium", blocks)])
            get = run(KVCAST, "get", folder / "b.tokens", folder / "b.safetensors", *common)
            self.assertEqual(get.returncode, 0, get.stderr)
            self.assertEqual([run["rung"] for run in json.loads(get.stdout)["runs"]], ["BF16-lossless"])
            tokens = json.loads(get.stdout)["tokens"]
            self.assertGreaterEqual(tokens, 3 * BLOCK)
            published, loaded = tensors(folder / "a.safetensors"), tensors(folder / "b.safetensors")
            self.assertEqual(published.keys(), loaded.keys())
            for name, (shape, values) in loaded.items():
                self.assertEqual(shape[0], tokens)
                self.assertEqual(values, published[name][1][:len(values)], name)

    def test_every_rung_is_published_and_loaded(self):
        rungs = ["BF16", "BF16-lossless", "Int8", "FP8", "Int4", "FP4", "AC", "KTC-fine", "KTC-medium",
                 "KTC-coarse"]
        text = PROMPT.read_bytes()[:1500]
        with tempfile.TemporaryDirectory() as scratch, Node(KVCAST) as node:
            folder = Path(scratch)
            run(TINYLM, "prefill", "--out", folder / "a.safetensors", stdin=text)
            (folder / "a.tokens").write_bytes(run(TINYLM, "tokenize", stdin=text).stdout)
            common = ["--model", MODEL, "--model-name", "tinylm", "--node", node.address, "--json"]
            ladder = [word for rung in rungs for word in ("--rung", rung)]
            put = run(KVCAST, "put", folder / "a.tokens", folder / "a.safetensors", *common, *ladder)
            self.assertEqual(put.returncode, 0, put.stderr)
            published = tensors(folder / "a.safetensors")
            for rung, told in zip(rungs, json.loads(put.stdout)["rungs"]):
                back = folder / f"{rung}.safetensors"
                get = run(KVCAST, "get", folder / "a.tokens", back, *common, "--rung", rung)
                self.assertEqual(get.returncode, 0, get.stderr)
                self.assertEqual(json.loads(get.stdout)["bytes"], told["bytes"], rung)
                loaded = tensors(back)
                exact = all(values == published[name][1][:len(values)]
                            for name, (_, values) in loaded.items())
                self.assertEqual(exact, rung in ("BF16", "BF16-lossless"), rung)

    def test_a_text_goes_on_the_same_wherever_its_cache_comes_from(self):
        text = PROMPT.read_bytes()[:2500]
        generate = [TINYLM, "generate", "--tokens", "20", "--timing"]
        with Node(KVCAST) as node:
            shared = [*generate, "--node", node.address]
            first = run(*shared, stdin=text)
            self.assertIn(b"0 of them loaded", first.stderr)
            self.assertRegex(first.stderr, rb"published: (\d+) blocks, \1 of them new.*BF16-lossless")
            self.assertRegex(first.stderr, rb"published: (\d+) blocks, \1 of them new.*KTC-medium")
            for ending in [b"", b"\n\nWhat does it cost?\n"]:
                loaded = run(*shared, stdin=text + ending)
                computed = run(*generate, stdin=text + ending)
                self.assertRegex(loaded.stderr, rb"tokens, [1-9]\d+ of them loaded")
                self.assertIn(b", 0 of them new", loaded.stderr)
                self.assertEqual(loaded.stdout, computed.stdout)
                self.assertGreater(len(loaded.stdout), 20)

    def test_a_node_ends_when_it_is_asked_to(self):
        self.assertEqual(Node(KVCAST).stop(), 0)


if __name__ == "__main__":
    TINYLM = sys.argv.pop()
    KVCAST = sys.argv.pop()
    unittest.main()
