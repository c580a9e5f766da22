#!/usr/bin/env python3
"""One engine publishes a prompt while it computes it, another follows: live_test.py KVCAST TINYLM"""

import functools
import subprocess
import sys
import unittest
from pathlib import Path

from node_process import PATIENCE_S, Node

PROMPTS = Path(__file__).resolve().parents[2] / "examples/tinylm/prompts"
BLOCKS = 27  # Whole ones, that both prompts have in common.


def engine(prompt: str, node: str, *options: str) -> subprocess.Popen:
    return subprocess.Popen(
        [TINYLM, "generate", "--timing", "--ids", "--tokens", "8", "--file", PROMPTS / f"shared-prefix-{prompt}.txt",
         "--node", node, *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


# An engine that is slow, as under a sanitizer, is not one that has stopped.
FOLLOW = ["--follow", str(PATIENCE_S / 3), "--pause", str(PATIENCE_S / 3)]


def following(node: str, *options: str) -> subprocess.Popen:
    """An engine that waits by now for another one to begin."""
    follower = engine("b", node, *options)
    told = follower.stderr.readline()
    if told != "waiting for another engine\n":
        raise RuntimeError(told + follower.communicate(timeout=PATIENCE_S)[1])
    return follower


@functools.cache  # Under a sanitizer it takes long, and says the same again.
def alone(prompt: str) -> str:
    return subprocess.run([TINYLM, "generate", "--ids", "--tokens", "8", "--file", PROMPTS / f"shared-prefix-{prompt}.txt"],
                          capture_output=True, text=True, timeout=PATIENCE_S, check=True).stdout


class Live(unittest.TestCase):
    def follow(self, published_to: str, followed_at: str):
        follower = following(followed_at, *FOLLOW)
        first = engine("a", published_to, "--live")
        told_a, told_b = first.communicate(timeout=PATIENCE_S), follower.communicate(timeout=PATIENCE_S)
        self.assertEqual((first.returncode, follower.returncode), (0, 0), told_a[1] + told_b[1])
        self.assertIn(f"published: {BLOCKS} blocks, {BLOCKS} of them new", told_a[1])
        self.assertIn(f"{BLOCKS * 128} of them loaded", told_b[1])
        self.assertIn("followed: ", told_b[1])
        self.assertEqual(told_a[0], alone("a"))
        self.assertEqual(told_b[0], alone("b"))

    def test_who_follows_goes_on_as_if_it_had_computed_all_itself(self):
        with Node(KVCAST) as node:
            self.follow(node.address, node.address)

    def test_the_same_through_a_relay(self):
        with Node(KVCAST) as origin, Node(KVCAST, "--upstream", origin.address) as edge:
            self.follow(origin.address, edge.address)

    def test_who_comes_in_the_middle_or_at_the_end_has_it_all(self):
        with Node(KVCAST) as node:
            first = engine("a", node.address, "--live")
            follower = engine("b", node.address, *FOLLOW)
            told_a, told_b = first.communicate(timeout=PATIENCE_S), follower.communicate(timeout=PATIENCE_S)
            late = engine("b", node.address, *FOLLOW).communicate(timeout=PATIENCE_S)
            for told in [told_b, late]:
                self.assertIn(f"{BLOCKS * 128} of them loaded", told[1], told_a[1])
                self.assertEqual(told[0], alone("b"))

    def test_who_waits_for_nobody_computes(self):
        with Node(KVCAST) as node:
            follower = engine("b", node.address, "--follow", "0.1")
            said, told = follower.communicate(timeout=PATIENCE_S)
            self.assertEqual(said, alone("b"))
            self.assertIn(" 0 of them loaded", told)

    def test_a_publisher_that_is_killed_costs_its_follower_what_it_had_not_sent(self):
        with Node(KVCAST) as node:
            follower = following(node.address, *FOLLOW[:2])
            first = engine("a", node.address, "--live", "--tokens", "500")
            first.stdout.readline()  # It has computed the prompt, and may or may not have sent it all.
            first.kill()
            first.communicate()
            said, told = follower.communicate(timeout=PATIENCE_S)
            self.assertEqual(said, alone("b"), told)


if __name__ == "__main__":
    KVCAST, TINYLM = sys.argv[1:3]
    del sys.argv[1:3]
    unittest.main()
