#!/usr/bin/env python3
"""What a node keeps in a bucket outlives the node: tools/s3_server run bucket_test.py KVCAST"""

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

import s3_call
from cache_files import BLOCK, values, write_model, write_prompt
from node_process import PATIENCE_S, Node


def run(*command):
    return subprocess.run([str(word) for word in command], capture_output=True, text=True,
                          timeout=PATIENCE_S * 2)


class Bucket(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name)
        write_model(self.folder / "model")
        # Each test has a prefix of its own.
        self.prefix = self.id().rsplit(".", 1)[-1]
        self.place = f"s3://{s3_call.BUCKET}/{self.prefix}"

    def start(self, *options) -> Node:
        node = Node(KVCAST, "--ram", "64MiB", "--bucket", self.place, *options)
        self.addCleanup(node.stop)
        return node

    def kill(self, node: Node):
        node.process.send_signal(signal.SIGKILL)
        node.process.wait(PATIENCE_S)

    def command(self, what: str, node: Node, name: str, file: str, *more):
        done = run(KVCAST, what, self.folder / f"{name}.tokens", self.folder / file, "--model",
                   self.folder / "model", "--node", node.address, "--json", *more)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def put(self, node: Node, name: str, blocks: int, level: str):
        # An object a token, which packs are there for.
        put = self.command("put", node, name, f"{name}.safetensors", "--durability", level, "--rung", "BF16")
        self.assertEqual((put["sent"], put["durability"]), (blocks, level))

    def check(self, node: Node, name: str, blocks: int):
        got = self.command("get", node, name, f"{name}.back")
        self.assertEqual((got["found"], got["tokens"]), (blocks, blocks * BLOCK))
        self.assertEqual(values(self.folder / f"{name}.safetensors"),
                         values(self.folder / f"{name}.back"))

    def store(self, *words) -> str:
        done = run(KVCAST, "store", *words)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def wait_for_uploads(self):
        """Until nothing more comes to the bucket."""
        before, keys = None, s3_call.keys(self.prefix + "/")
        while keys != before:
            time.sleep(1)
            before, keys = keys, s3_call.keys(self.prefix + "/")

    def tracks(self, place) -> list[str]:
        return [track["track"] for track in json.loads(self.store("ls", place, "--json"))]

    def answers(self, node: Node, track: str) -> list:
        """How a node answers TRACK_STATUS, FETCH and SUBSCRIBE."""
        said = []
        for words in (["status", node.address, track, "--json"],
                      ["fetch", node.address, track, "--json"],
                      ["sub", node.address, track, "--json", "--timeout", "60"]):
            done = run(KVCAST, "moq", *words)
            place = node.address.split("#")[0]
            # How long it took, and who says so.
            own = r'"seconds": ?[0-9.e-]+|node/[0-9a-f]{32}'
            said.append([done.returncode, *(re.sub(own, "", text).replace(place, "")
                                            for text in (done.stdout, done.stderr))])
        self.assertEqual(said[0][0], 0, said[0])
        self.assertEqual(said[1][0], 0, said[1])
        return said

    def test_a_fresh_node_answers_for_one_that_was_lost(self):
        write_prompt(self.folder, "a", 5 * BLOCK, seed=1)
        lost = self.start()
        self.put(lost, "a", 5, "bucket")
        (track,) = self.tracks(self.place)
        before = self.answers(lost, track)
        self.kill(lost)
        fresh = self.start()
        for now, then in zip(self.answers(fresh, track), before):
            self.assertEqual(now[0], then[0], now)
            self.assertEqual(now[1], then[1])
            self.assertEqual(now[2], then[2])
        self.check(fresh, "a", 5)

    def test_nodes_that_share_a_bucket_take_over_what_a_disk_node_put_there(self):
        write_prompt(self.folder, "a", 3 * BLOCK, seed=2)
        write_prompt(self.folder, "b", 2 * BLOCK, seed=100_000)
        first = self.start("--disk", f"{self.folder / 'disk'},bytes=1GiB")
        self.put(first, "a", 3, "disk")
        self.put(first, "b", 2, "bucket")
        self.kill(first)
        fresh = self.start()
        self.check(fresh, "b", 2)
        (track,) = self.tracks(self.place)  # Of b alone: nobody asked for more.
        self.kill(fresh)
        again = self.start("--disk", f"{self.folder / 'disk'},bytes=1GiB")
        self.check(again, "a", 3)
        self.check(again, "b", 2)

    def test_any_number_of_shards_finds_what_any_other_has_put(self):
        for number, name in enumerate("abcdef"):
            write_prompt(self.folder, name, 2 * BLOCK, seed=10_000 * (number + 1))
        for shards, names in ((2, "abc"), (1, "def")):
            node = self.start("--shards", str(shards))
            for name in names:
                self.put(node, name, 2, "bucket")
            self.kill(node)
        tracks = self.tracks(self.place)
        self.assertEqual(len(tracks), 6)
        answers = {}
        for shards in (1, 2, 3):
            node = self.start("--shards", str(shards))
            status = json.loads(node.page("/status.json")[1])
            held = sum(tier["objects"] for tier in status["tiers"] if tier["kind"] == "bucket")
            self.assertEqual((held, status["listed_blocks"]), (6 * 2 * BLOCK, 12), shards)
            for track in tracks:
                answer = self.answers(node, track)
                self.assertEqual(answers.setdefault(track, answer), answer, shards)
            self.kill(node)

    def test_a_node_serves_more_than_its_memory_holds(self):
        write_prompt(self.folder, "a", 32 * BLOCK, seed=5)  # 32 MiB, and memory for a third of it.
        node = Node(KVCAST, "--ram", "16MiB", "--bucket", self.place)
        self.addCleanup(node.stop)
        self.put(node, "a", 32, "bucket")
        self.check(node, "a", 32)

    def test_what_a_disk_evicts_is_in_the_bucket(self):
        disk = f"{self.folder / 'disk'},bytes=321MiB"  # The least there is.
        # So that all groups of a segment may be on their way at once.
        node = Node(KVCAST, "--ram", "4GiB", "--no-prefault", "--disk", disk, "--bucket", self.place)
        self.addCleanup(node.stop)
        prompts = [f"p{i}" for i in range(8)]
        for i, name in enumerate(prompts):
            write_prompt(self.folder, name, 48 * BLOCK, seed=1_000_000 * (i + 1))  # 48 MiB.
            self.put(node, name, 48, "disk")
            self.wait_for_uploads()  # What is evicted faster than it can be sent is not kept.
        self.assertEqual(node.stop(), 0)
        # With nothing in memory, and more blocks than the disk has room for.
        again = Node(KVCAST, "--ram", "128MiB", "--disk", disk, "--bucket", self.place)
        self.addCleanup(again.stop)
        for name in prompts:
            self.check(again, name, 48)
        in_bucket = json.loads(self.store("stat", self.place, "--json"))["objects"]
        self.assertGreater(in_bucket, (len(prompts) * 48 - 321) * BLOCK)

    def test_the_tools_read_a_bucket_as_they_do_a_directory(self):
        write_prompt(self.folder, "a", 4 * BLOCK, seed=3)
        node = self.start()
        self.put(node, "a", 4, "bucket")
        self.assertEqual(node.stop(), 0)
        (track,) = self.tracks(self.place)
        stat = json.loads(self.store("stat", self.place, "--json"))
        self.assertEqual(stat["objects"], 4 * BLOCK)
        self.assertEqual(json.loads(self.store("verify", self.place, "--json"))["damage"], [])
        # Through a file into a directory and back into another bucket.
        file, disk, other = self.folder / "all.kvcast", self.folder / "disk", self.place + "-2"
        self.store("export", self.place, file)
        self.store("import", file, disk)
        self.assertEqual(self.tracks(disk), [track])
        self.store("export", disk, self.folder / "again.kvcast")
        self.store("import", self.folder / "again.kvcast", other)
        self.assertEqual(self.tracks(other), [track])
        self.place = other
        self.check(self.start(), "a", 4)

    def test_verify_finds_what_is_damaged_in_a_bucket_and_nobody_gets_it(self):
        write_prompt(self.folder, "a", BLOCK, seed=4)
        node = self.start()
        self.put(node, "a", 1, "bucket")
        self.assertEqual(node.stop(), 0)
        largest = max(s3_call.keys(self.prefix + "/"), key=lambda key: len(s3_call.call("GET", key)))
        pack = bytearray(s3_call.call("GET", largest))
        pack[len(pack) // 2] ^= 1
        s3_call.call("PUT", largest, body=bytes(pack))
        verify = run(KVCAST, "store", "verify", self.place, "--json")
        self.assertEqual(verify.returncode, 1, verify.stderr)
        self.assertEqual(len(json.loads(verify.stdout)["damage"]), 1, verify.stdout)
        again = self.start()
        got = run(KVCAST, "get", self.folder / "a.tokens", self.folder / "a.back", "--model",
                  self.folder / "model", "--node", again.address)
        self.assertEqual(got.returncode, 1)
        self.assertIn("No block could be loaded", got.stderr)

    def test_a_bucket_that_is_not_to_be_had_is_named_with_the_reason(self):
        refusals = {
            "s3://": "no bucket",
            f"{self.place},style=round": "style=round",
            f"{self.place},bytes=1KiB": "too few",
            f"{self.place},credentials={self.folder / 'none'}": "none",
        }
        for flag, reason in refusals.items():
            with self.subTest(flag), self.assertRaises(RuntimeError) as refused:
                Node(KVCAST, "--bucket", flag).stop()
            self.assertIn(reason, str(refused.exception))
        absent = run(KVCAST, "store", "ls", f"s3://{s3_call.BUCKET}/nothing")
        self.assertEqual(absent.returncode, 1)
        self.assertIn("no pack", absent.stderr)


if __name__ == "__main__":
    KVCAST = sys.argv.pop()
    os.environ["AWS_ACCESS_KEY_ID"] = s3_call.ACCESS_KEY
    os.environ["AWS_SECRET_ACCESS_KEY"] = s3_call.SECRET_KEY
    os.environ["AWS_ENDPOINT_URL_S3"] = s3_call.ENDPOINT
    s3_call.call("PUT")
    unittest.main()
