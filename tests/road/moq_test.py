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


class Publisher:
    """with Publisher(node, track, ...) as pub: it is announced. "-" lets a test say what it sends."""

    def __init__(self, node, track, *options):
        self.process = start("pub", node.address, track, *options, stdin=subprocess.PIPE)
        while moq("status", node.address, track).returncode != 0:
            if self.process.poll() is not None:
                raise RuntimeError(self.process.communicate()[1])

    def stop(self):
        self.process.send_signal(2)
        return self.process.communicate(timeout=PATIENCE_S)[0]

    def __enter__(self):
        return self

    def __exit__(self, *raised):
        self.process.kill()
        self.process.communicate()


class Moq(unittest.TestCase):
    def test_a_subscriber_gets_every_byte_of_what_is_published_after_it(self):
        size = 2 << 20
        data = random.Random(1).randbytes(2 * size + 65536)
        with tempfile.TemporaryDirectory() as scratch, Node(KVCAST) as node:
            out = Path(scratch) / "out"
            with Publisher(node, "demo--t", "-", "--size", "2MiB", "--group-objects", "2") as pub, \
                    Subscriber(node, "demo--t", "--output", out) as sub:
                self.assertIn(b"largest object so far: none", sub.first)
                pub.process.communicate(data, timeout=PATIENCE_S)
                self.assertEqual(pub.process.returncode, 0)
                told, err = sub.process.communicate(timeout=PATIENCE_S * 3)
                self.assertEqual(sub.process.returncode, 0, err)
            received = [(out / name).read_bytes() for name in ("0-0", "0-1", "1-0")]
            self.assertEqual([len(payload) for payload in received], [size, size, 65536])
            self.assertEqual(b"".join(received), data)
            self.assertIn(hashlib.sha256(received[2]).hexdigest()[:16].encode(), told)
            self.assertIn(b"the publisher is done, TRACK_ENDED (0x2)", err)

    def test_as_many_objects_as_are_wanted_are_enough(self):
        with Node(KVCAST) as node, \
                Publisher(node, "demo--t", "--count", "1000000", "--rate", "50") as pub:
            with Subscriber(node, "demo--t", "--count", "3") as sub:
                out, err = sub.process.communicate(timeout=PATIENCE_S * 3)
            self.assertEqual(sub.process.returncode, 0, err)
            self.assertEqual(len(out.splitlines()), 3)
            # Ctrl-C ends a publisher in good order.
            self.assertRegex(pub.stop(), rb"published demo--t: \d+ objects")
            self.assertEqual(pub.process.returncode, 0)

    def test_a_publisher_whose_track_has_ended_before_is_told_so(self):
        with Node(KVCAST) as node:
            once = moq("pub", node.address, "demo--t", "--count", "1")
            self.assertEqual(once.returncode, 0, once.stderr)
            again = moq("pub", node.address, "demo--t", "--first-group", "1", "--count", "100000",
                        "--size", "64KiB")
            self.assertEqual(again.returncode, 1)
            self.assertIn(b"MALFORMED_TRACK (0x12)", again.stderr)

    def test_silence_ends_a_subscription_and_is_said(self):
        with Node(KVCAST) as node, Publisher(node, "demo--t", "-") as pub:
            # Long enough for a busy machine to answer at all.
            quiet = moq("sub", node.address, "demo--t", "--timeout", "5")
            self.assertEqual(quiet.returncode, 1)
            self.assertIn(b"nothing came for 5 s", quiet.stderr)
            pub.process.communicate(b"hello", timeout=PATIENCE_S)
            fetched = moq("fetch", node.address, "demo--t", "--output", "-")
            self.assertEqual(fetched.stdout, b"hello", fetched.stderr)

    def test_a_line_can_be_read_when_its_object_has_come(self):
        with Node(KVCAST) as node, Publisher(node, "demo--t", "-") as pub, Subscriber(node, "demo--t") as sub:
            for word in (b"hello", b"again!"):
                pub.process.stdin.write(word)
                pub.process.stdin.flush()
                self.assertIn(b"%d bytes" % len(word), sub.process.stdout.readline())

    def test_what_is_being_published_is_listed(self):
        with Node(KVCAST) as node, \
                Publisher(node, "demo-a--one", "--count", "2", "--stay", "600") as pub:
            found = []
            while not found:
                self.assertIsNone(pub.process.poll())
                listed = moq("ls", node.address, "demo", "--json")
                self.assertEqual(listed.returncode, 0, listed.stderr)
                found = [(track["track"], track["largest"])
                         for track in lines(listed.stdout, "track") if track["largest"]]
            self.assertEqual(found, [("demo-a--one", {"group": 0, "object": 1})])
            self.assertEqual(moq("ls", node.address, "other").stdout, b"")

    def test_a_namespace_is_announced_and_its_track_asked_for(self):
        with Node(KVCAST) as node:
            publisher = start("pub", node.address, "demo-a--one", "--announce", "namespace", "--wait",
                              LONG, "--count", "3")
            try:
                self.assertIn(b"demo-a is announced", publisher.stderr.readline())
                listed = moq("ls", node.address, "demo", "--json")
                self.assertEqual([line["namespace"] for line in lines(listed.stdout, "namespace")],
                                 ["demo-a"], listed.stderr)
                seen = moq("sub", node.address, "demo-a--one", "--json", "--timeout", LONG)
                self.assertEqual(seen.returncode, 0, seen.stderr)
                self.assertEqual(len(lines(seen.stdout, "object")), 3)
                self.assertIn(b"demo-a--one: 3 objects", publisher.communicate()[0])
            finally:
                publisher.kill()
                publisher.communicate()

    def test_all_cases_of_the_interop_runner_pass(self):
        with Node(KVCAST) as node:
            ran = subprocess.run([KVCAST, "interop", "--relay", f"moqt://{node.address}"],
                                 capture_output=True, timeout=PATIENCE_S)
            self.assertEqual(ran.returncode, 0, ran.stdout.decode())
            self.assertEqual(ran.stdout.count(b"\nok "), 6, ran.stdout.decode())

    def test_a_relay_that_goes_away_is_an_error_and_no_hang(self):
        with Node(KVCAST) as node, Publisher(node, "demo--t", "-"), \
                Subscriber(node, "demo--t") as sub:
            node.process.terminate()
            _, err = sub.process.communicate(timeout=PATIENCE_S * 3)
            self.assertEqual(sub.process.returncode, 1)
            self.assertIn(b"says that it is leaving", err)
            # Whichever comes first: the publisher leaves as well.
            self.assertRegex(err, b"closed the session|the publisher is done, INTERNAL_ERROR")


if __name__ == "__main__":
    KVCAST = sys.argv.pop()
    unittest.main()
