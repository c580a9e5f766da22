#!/usr/bin/env python3
"""The tools of `kvcast moq` with a node, each a process of its own: moq_test.py KVCAST"""

import hashlib
import json
import random
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from node_process import PATIENCE_S, Node

LONG = "120"  # Seconds, only so as not to hang.


def moq(*words, stdin=b""):
    return subprocess.run([KVCAST, "moq", *map(str, words)], input=stdin, capture_output=True,
                          timeout=PATIENCE_S * 3)


def start(*words, **options):
    return subprocess.Popen([KVCAST, "moq", *map(str, words)], stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, **options)


def lines(out: bytes, kind: str) -> list[dict]:
    return [line for line in map(json.loads, out.splitlines()) if line["type"] == kind]


class Subscriber:
    """with Subscriber(node, track, ...) as sub: it is subscribed."""

    def __init__(self, node, track, *options):
        self.process = start("sub", node.address, track, "--timeout", LONG, *options)
        self.first = self.process.stderr.readline()

    def __enter__(self):
        return self

    def __exit__(self, *raised):
        self.process.kill()
        self.process.communicate()


class Moq(unittest.TestCase):
    def publish(self, node, *words):
        done = moq("pub", node.address, *words)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_a_subscriber_gets_every_byte_of_what_is_published_after_it(self):
        payloads = [random.Random(size).randbytes(size) for size in (0, 1, 65536, 2 << 20)]
        with tempfile.TemporaryDirectory() as scratch, Node(KVCAST) as node:
            folder = Path(scratch)
            files = []
            for index, payload in enumerate(payloads):
                files.append(folder / f"in{index}")
                files[-1].write_bytes(payload)
            self.publish(node, "demo--t", "--count", "1")
            with Subscriber(node, "demo--t", "--output", folder / "out") as sub:
                self.assertIn(b"largest object so far: {0, 0}", sub.first)
                self.publish(node, "demo--t", *files, "--first-group", "1", "--group-objects", "2")
                out, err = sub.process.communicate(timeout=PATIENCE_S * 3)
                self.assertEqual(sub.process.returncode, 0, err)
            received = [folder / "out" / name for name in ("1-0", "1-1", "2-0", "2-1")]
            self.assertEqual([path.read_bytes() for path in received], payloads)
            self.assertIn(hashlib.sha256(payloads[3]).hexdigest()[:16].encode(), out)
            self.assertIn(b"the publisher is done, TRACK_ENDED (0x2)", err)

    def test_as_many_objects_as_are_wanted_are_enough(self):
        with Node(KVCAST) as node:
            self.publish(node, "demo--t", "--count", "1")
            with Subscriber(node, "demo--t", "--count", "3") as sub:
                publisher = start("pub", node.address, "demo--t", "--first-group", "1", "--count",
                                  "1000000", "--rate", "50")
                out, err = sub.process.communicate(timeout=PATIENCE_S * 3)
                publisher.send_signal(2)
                told, _ = publisher.communicate(timeout=PATIENCE_S)
            self.assertEqual(sub.process.returncode, 0, err)
            self.assertEqual(len(out.splitlines()), 3)
            # Ctrl-C ends a publisher in good order.
            self.assertEqual(publisher.returncode, 0)
            self.assertRegex(told, rb"published demo--t: \d+ objects")

    def test_silence_ends_a_subscription_and_is_said(self):
        with Node(KVCAST) as node:
            publisher = start("pub", node.address, "demo--t", "-", stdin=subprocess.PIPE)
            while moq("status", node.address, "demo--t").returncode != 0:
                self.assertIsNone(publisher.poll())
            quiet = moq("sub", node.address, "demo--t", "--timeout", "1")
            self.assertEqual(quiet.returncode, 1)
            self.assertIn(b"nothing came for 1 s", quiet.stderr)
            publisher.communicate(b"hello", timeout=PATIENCE_S)
            self.assertEqual(publisher.returncode, 0)
            fetched = moq("fetch", node.address, "demo--t", "--output", "-")
            self.assertEqual(fetched.stdout, b"hello", fetched.stderr)

    def test_what_is_being_published_is_listed(self):
        with Node(KVCAST) as node:
            publisher = start("pub", node.address, "demo-a--one", "--count", "2", "--stay", "600")
            try:
                found = []
                while not found:
                    self.assertIsNone(publisher.poll())
                    listed = moq("ls", node.address, "demo", "--json")
                    self.assertEqual(listed.returncode, 0, listed.stderr)
                    found = [(track["track"], track["largest"])
                             for track in lines(listed.stdout, "track") if track["largest"]]
                self.assertEqual(found, [("demo-a--one", {"group": 0, "object": 1})])
                self.assertEqual(moq("ls", node.address, "other").stdout, b"")
            finally:
                publisher.send_signal(2)
                publisher.communicate(timeout=PATIENCE_S)

    def test_a_relay_that_goes_away_is_an_error_and_no_hang(self):
        node = Node(KVCAST)
        try:
            self.publish(node, "demo--t", "--count", "1")
            with Subscriber(node, "demo--t") as sub:
                node.stop()
                _, err = sub.process.communicate(timeout=PATIENCE_S * 3)
                self.assertEqual(sub.process.returncode, 1)
                self.assertIn(b"says that it is leaving", err)
                self.assertIn(b"closed the session", err)
        finally:
            node.process.kill()


if __name__ == "__main__":
    KVCAST = sys.argv.pop()
    unittest.main()
