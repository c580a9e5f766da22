#!/usr/bin/env python3
"""What a node keeps on disk is there after its death: storage_test.py KVCAST"""

import json
import os
import signal
import struct
import subprocess
import sys
import tempfile
import unittest
import unittest.mock
from pathlib import Path

from cache_files import BLOCK, values, write_model, write_prompt
from node_process import PATIENCE_S, Node, until

DISK_BYTES = "bytes=1GiB"


def run(*command):
    return subprocess.run([str(word) for word in command], capture_output=True, text=True,
                          timeout=PATIENCE_S * 2)


class Storage(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name)
        self.disk = self.folder / "disk"
        write_model(self.folder / "model")

    def start(self, *options) -> Node:
        node = Node(KVCAST, "--disk", f"{self.disk},{DISK_BYTES}", *options)
        self.addCleanup(node.stop)
        return node

    def command(self, what: str, node: Node, name: str, file: str, *more):
        done = run(KVCAST, what, self.folder / f"{name}.tokens", self.folder / file, "--model",
                   self.folder / "model", "--node", node.address, "--json", *more)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def check(self, node: Node, name: str, tokens: int):
        got = self.command("get", node, name, f"{name}.back")
        self.assertEqual((got["found"], got["tokens"]), (tokens // BLOCK, tokens))
        self.assertEqual(values(self.folder / f"{name}.safetensors"),
                         values(self.folder / f"{name}.back"))

    def test_what_was_acknowledged_is_there_after_a_kill(self):
        write_prompt(self.folder, "a", 5 * BLOCK, seed=1)
        node = self.start("--ram", "64MiB")
        put = self.command("put", node, "a", "a.safetensors", "--durability", "disk")
        self.assertEqual((put["sent"], put["durability"]), (5, "disk"))
        node.process.send_signal(signal.SIGKILL)
        node.process.wait(PATIENCE_S)
        again = self.start("--ram", "64MiB")
        self.check(again, "a", 5 * BLOCK)

    def test_what_is_durable_already_is_not_sent_again(self):
        write_prompt(self.folder, "a", 5 * BLOCK, seed=1)
        node = self.start("--ram", "64MiB")

        def sent(*more):
            put = self.command("put", node, "a", "a.safetensors", "--rung", "BF16", *more)
            return put["sent"], put["skipped"], put["durability"]

        def in_the_end(wanted, *more):  # A node that is slow to say what it has is sent it once more.
            until(lambda: sent(*more) == wanted, f"{more}: {wanted}")

        self.assertEqual(sent(), (5, 0, None))
        self.assertEqual(sent("--durability", "disk"), (5, 0, "disk"))  # It was in memory alone.
        in_the_end((0, 5, "disk"), "--durability", "disk")
        node.process.send_signal(signal.SIGKILL)
        node.process.wait(PATIENCE_S)
        node = self.start("--ram", "64MiB")
        in_the_end((0, 5, "disk"), "--durability", "disk")

    def test_a_node_serves_more_than_its_memory_holds(self):
        tokens = 32 * BLOCK  # 32 MiB, and memory for a third of it.
        write_prompt(self.folder, "a", tokens, seed=1)
        node = self.start("--ram", "16MiB")
        put = self.command("put", node, "a", "a.safetensors", "--durability", "disk")
        self.assertEqual((put["sent"], put["durability"]), (32, "disk"))
        self.check(node, "a", tokens)
        self.assertEqual(node.stop(), 0)
        # Who stops in good order leaves nothing that the next start would have to move.
        stat = json.loads(run(KVCAST, "store", "stat", self.disk, "--json").stdout)
        self.assertNotIn("open", {segment["state"] for segment in stat["segments"]})
        self.check(self.start("--ram", "16MiB"), "a", tokens)

    def test_durability_that_a_node_does_not_have_is_refused(self):
        write_prompt(self.folder, "a", BLOCK, seed=1)
        with Node(KVCAST) as node:
            put = run(KVCAST, "put", self.folder / "a.tokens", self.folder / "a.safetensors",
                      "--model", self.folder / "model", "--node", node.address, "--durability",
                      "disk")
        self.assertEqual(put.returncode, 1)
        self.assertIn("keeps nothing on disk", put.stderr)

    def test_a_bucket_that_does_not_answer_keeps_nobody_from_a_disk(self):
        write_prompt(self.folder, "a", 2 * BLOCK, seed=1)
        keys = {"AWS_ACCESS_KEY_ID": "nobody", "AWS_SECRET_ACCESS_KEY": "nothing"}
        with unittest.mock.patch.dict(os.environ, keys):
            node = self.start("--bucket", "s3://none,endpoint=http://127.0.0.1:1")
        refused = run(KVCAST, "put", self.folder / "a.tokens", self.folder / "a.safetensors",
                      "--model", self.folder / "model", "--node", node.address, "--durability",
                      "bucket")
        self.assertEqual(refused.returncode, 1)
        self.assertIn("The bucket has not been read yet", refused.stderr)
        put = self.command("put", node, "a", "a.safetensors", "--durability", "disk")
        self.assertEqual((put["sent"], put["durability"]), (2, "disk"))
        self.check(node, "a", 2 * BLOCK)

    def test_a_directory_is_refused_with_a_reason(self):
        self.start()
        refusals = {
            f"{self.disk},{DISK_BYTES}": "Another process",
            f"{self.folder / 'small'},bytes=1MiB": "too few",
            f"{self.folder / 'none'},class=tape": "class=tape",
        }
        foreign = self.folder / "foreign"
        node = Node(KVCAST, "--disk", f"{foreign},{DISK_BYTES}")
        node.stop()
        block = (foreign / "superblock").read_bytes()
        (foreign / "superblock").write_bytes(other_version(block))
        refusals[f"{foreign},{DISK_BYTES}"] = "version"
        for flag, reason in refusals.items():
            with self.subTest(flag), self.assertRaises(RuntimeError) as refused:
                Node(KVCAST, "--disk", flag).stop()
            self.assertIn(reason, str(refused.exception))


def crc32c(data: bytes) -> int:
    value = 0xFFFFFFFF
    for byte in data:
        value ^= byte
        for _ in range(8):
            value = value >> 1 ^ (0x82F63B78 if value & 1 else 0)
    return value ^ 0xFFFFFFFF


def other_version(superblock: bytes) -> bytes:
    """The same, whole, and of a version that nobody knows."""
    block = superblock[:8] + struct.pack("<I", 99) + superblock[12:4092]
    return (block + struct.pack("<I", crc32c(block))) * 2


if __name__ == "__main__":
    KVCAST = sys.argv.pop()
    unittest.main()
