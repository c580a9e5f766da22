#!/usr/bin/env python3
"""Living with a node, as whoever operates one does: living_test.py KVCAST

Its configuration file, its pages, how it stops, and how it reads its certificates and limits again.
"""

import json
import signal
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from node_process import PATIENCE_S, Node, until


def kvcast(*words: str) -> subprocess.CompletedProcess:
    return subprocess.run([KVCAST, *words], text=True, capture_output=True, timeout=PATIENCE_S)


class Living(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name)
        self.config = self.folder / "node.toml"

    def node(self, *options: str) -> Node:
        # As it would be started, but for what tests must not touch.
        node = Node(KVCAST, "--ram", "64MiB", "--no-prefault", "--admin", "127.0.0.1:0", *options)
        self.addCleanup(node.stop)
        return node

    def configured(self, text: str, *options: str) -> Node:
        self.config.write_text('[cache]\ndirectory = "none"\n' + text)
        return self.node("--config", str(self.config), *options)

    def certificate(self, name: str) -> Path:
        folder = self.folder / name
        self.assertEqual(kvcast("cert", "authority", str(folder)).returncode, 0)
        self.assertEqual(kvcast("cert", "node", str(folder), "--name", "localhost").returncode, 0)
        return folder

    def follower(self, node: Node) -> subprocess.Popen:
        """A client that is connected, and stays."""
        process = subprocess.Popen(
            [KVCAST, "moq", "sub", node.address, "a-b--track", "--rendezvous", "60"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        until(lambda: self.peers(node) == 1, "nobody came")
        return process

    def peers(self, node: Node) -> int:
        return json.loads(node.page("/status.json")[1])["peer_count"]

    def test_pages_tell_of_it(self):
        node = self.configured("[limits]\npublished_max = 7\n")
        self.assertEqual(node.page("/healthz"), (200, "ok\n"))
        self.assertEqual(node.page("/readyz"), (200, "ready\n"))
        status, metrics = node.page("/metrics")
        self.assertEqual(status, 200)
        self.assertIn('\nkvcast_canary_seconds_bucket{le="+Inf"} ', metrics)
        self.assertIn("\nkvcast_relay_fetches_total 0\n", metrics)  # The canary's is none.
        self.assertTrue(json.loads(node.page("/status.json")[1])["ready"])
        kvcast("moq", "fetch", node.address, "a-b--track", "0")
        missed = json.loads(node.page("/misses.json")[1])
        self.assertEqual([(miss["reason"], miss["track"]) for miss in missed],
                         [("no_track", "a-b--track")])

    def test_a_file_that_makes_no_sense_is_refused_with_its_line(self):
        self.config.write_text('[memory]\nrma = "1GiB"\n')
        refused = kvcast("serve", "--config", str(self.config))
        self.assertEqual(refused.returncode, 2)
        self.assertIn(f"{self.config}:2: There is no 'rma' in [memory]. Did you mean 'ram'?",
                      refused.stderr)

    def test_without_a_word_it_keeps_a_directory_in_the_users_cache(self):
        cache = self.folder / "cache"
        with Node(KVCAST, "--ram", "64MiB", "--no-prefault", "--admin", "127.0.0.1:0",
                  "--cache-dir", "auto", "--cache-bytes", "1GiB",
                  environment={"XDG_CACHE_HOME": str(cache)}) as node:
            tiers = json.loads(node.page("/status.json")[1])["tiers"]
            self.assertEqual([tier["kind"] for tier in tiers], ["ram", "disk"])
            self.assertEqual(tiers[1]["where"], str(cache / "kvcast"))
            self.assertEqual(tiers[1]["bytes_max"], 1 << 30)

    def test_sigterm_ends_it_well_also_with_a_peer_that_stays(self):
        node = self.configured('[stop]\ndrain = "100ms"\n')
        follower = self.follower(node)
        try:
            node.process.send_signal(signal.SIGTERM)
            self.assertEqual(node.process.wait(PATIENCE_S), 0)
        finally:
            follower.kill()
            follower.wait()

    def test_sighup_takes_a_new_certificate_without_losing_a_connection(self):
        first, second = self.certificate("first"), self.certificate("second")
        used = self.folder / "used"
        used.mkdir()

        def use(folder: Path):
            for suffix in ["pem", "key"]:
                (used / f"node.{suffix}").write_bytes(
                    (folder / f"localhost.{suffix}").read_bytes())

        use(first)
        node = self.configured(f'[tls]\ncertificate = "{used}/node.pem"\nkey = "{used}/node.key"\n')
        before = node.address
        stays = self.follower(node)
        self.addCleanup(stays.wait)
        self.addCleanup(stays.kill)

        use(second)
        node.process.send_signal(signal.SIGHUP)
        until(lambda: node.ready.read_text().strip() != before, "no new certificate")
        after = node.ready.read_text().strip()
        until(lambda: after in node.log.read_text(), "the new address was not said")
        self.assertEqual(kvcast("moq", "ls", after, "a").returncode, 0)
        self.assertNotEqual(kvcast("moq", "ls", before, "a").returncode, 0)
        self.assertIsNone(stays.poll())
        until(lambda: self.peers(node) == 1, "the client that was there is not")

        # One that is broken is said to be, and the node goes on with what it has.
        (used / "node.pem").write_text("nonsense")
        node.process.send_signal(signal.SIGHUP)
        until(lambda: "not reloaded" in node.log.read_text(), "nothing said")
        self.assertEqual(kvcast("moq", "ls", after, "a").returncode, 0)
        self.assertEqual(node.page("/readyz"), (200, "ready\n"))

    def test_sighup_takes_new_limits_and_says_what_it_cannot_take(self):
        node = self.configured("[limits]\npublished_max = 7\n")
        self.config.write_text('[cache]\ndirectory = "none"\n[admin]\ncanary_every = "1s"\n'
                               "[limits]\npublished_max = 0\n")
        node.process.send_signal(signal.SIGHUP)
        until(lambda: "not reloaded" in node.log.read_text(), "nothing said")
        self.assertIn(f"{self.config}:6: limits.published_max", node.log.read_text())
        self.config.write_text('[cache]\ndirectory = "none"\n[admin]\ncanary_every = "1s"\n'
                               "[limits]\npublished_max = 8\n")
        node.process.send_signal(signal.SIGHUP)
        until(lambda: "configuration reloaded" in node.log.read_text(), "nothing said")
        self.assertIn("admin.canary_every", node.log.read_text())

    def test_sighup_takes_tokens_and_closes_the_sessions_of_those_that_are_gone(self):
        tokens, old, new = (self.folder / name for name in ("tokens", "old", "new"))

        def make(out: Path):
            made = kvcast("token", "new", "--tenant", "_all", "--name", out.name, "--tokens", str(tokens),
                          "--out", str(out))
            self.assertEqual(made.returncode, 0, made.stderr)

        def comes_in(token: Path) -> bool:
            return kvcast("moq", "ls", node.address, "a", "--token-file", str(token)).returncode == 0

        make(old)
        node = self.node("--tokens", str(tokens))
        self.assertTrue(comes_in(old))
        stays = subprocess.Popen([KVCAST, "moq", "sub", node.address, "a--b", "--rendezvous", "60",
                                  "--timeout", "60", "--token-file", old],
                                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(stays.kill)
        until(lambda: self.peers(node) == 1, "the client did not come in")
        tokens.unlink()
        make(new)
        self.assertFalse(comes_in(new))
        node.process.send_signal(signal.SIGHUP)
        until(lambda: "configuration reloaded" in node.log.read_text(), "nothing said")
        self.assertTrue(comes_in(new))
        self.assertFalse(comes_in(old))
        self.assertNotEqual(stays.wait(PATIENCE_S), 0)

    def reload(self, node: Node):
        """Sends SIGHUP, and waits until it has been heeded."""
        before = node.log.read_text().count("configuration reloaded")
        node.process.send_signal(signal.SIGHUP)
        until(lambda: node.log.read_text().count("configuration reloaded") > before, "nothing said")

    def test_sighup_takes_rates_for_those_who_are_here(self):
        tokens, token = self.folder / "tokens", self.folder / "token"
        made = kvcast("token", "new", "--tenant", "_all", "--tokens", str(tokens), "--out", str(token))
        self.assertEqual(made.returncode, 0, made.stderr)
        keys = f'[tls]\ntokens = "{tokens}"\n'
        node = self.configured(keys + "[limits]\nrequests_per_second = 1\nrequests_burst = 1\n")
        stays = subprocess.Popen([KVCAST, "moq", "sub", node.address, "a--b", "--rendezvous", "60",
                                  "--timeout", "60", "--token-file", token],
                                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(stays.wait)
        self.addCleanup(stays.kill)
        until(lambda: self.peers(node) == 1, "the client did not come in")
        self.config.write_text('[cache]\ndirectory = "none"\n' + keys)
        self.reload(node)
        # Of the same identity, whose requests are counted for as long as one of it is here.
        for _ in range(10):
            asked = kvcast("moq", "ls", node.address, "a", "--token-file", str(token))
            self.assertEqual(asked.returncode, 0, asked.stderr)

    def test_sighup_takes_that_there_is_a_file_of_tokens_and_that_there_is_none(self):
        tokens, token = self.folder / "tokens", self.folder / "token"
        made = kvcast("token", "new", "--tenant", "_all", "--may", "admin", "--tokens", str(tokens), "--out",
                      str(token))
        self.assertEqual(made.returncode, 0, made.stderr)
        node = self.configured("")
        nobody = ("moq", "ls", node.address, "a")
        self.assertEqual(kvcast(*nobody).returncode, 0)
        stays = self.follower(node)
        self.addCleanup(stays.kill)
        self.config.write_text(f'[cache]\ndirectory = "none"\n[tls]\ntokens = "{tokens}"\n')
        self.reload(node)
        self.assertIn("takes only those it knows", kvcast(*nobody).stderr)
        self.assertEqual(kvcast(*nobody, "--token-file", str(token)).returncode, 0)
        self.assertNotEqual(stays.wait(PATIENCE_S), 0)
        # The admin port goes by the same file.
        port = (node.ready.parent / "state" / "admin-address").read_text().strip()
        forget = ("forget", "--tenant", "acme", "--admin", port, "--token-file", str(token))
        self.assertEqual(kvcast(*forget).returncode, 0)
        self.config.write_text('[cache]\ndirectory = "none"\n')
        self.reload(node)
        self.assertEqual(kvcast(*nobody).returncode, 0)
        self.assertEqual(kvcast(*forget).returncode, 1)

    def test_sighup_takes_lines_about_certificates(self):
        folder = self.certificate("certs")
        self.assertEqual(kvcast("cert", "client", str(folder), "--name", "engine").returncode, 0)
        tokens = self.folder / "tokens"
        tokens.write_text("# nobody\n")
        node = self.configured(f'[tls]\ncertificate = "{folder}/localhost.pem"\nkey = "{folder}/localhost.key"\n'
                               f'client_ca = "{folder}/authority.pem"\ntokens = "{tokens}"\n')
        own = (node.address, "--cert", f"{folder}/engine.pem", "--key", f"{folder}/engine.key")
        self.assertNotEqual(kvcast("moq", "ls", *own[:1], "a", *own[1:]).returncode, 0)
        tokens.write_text('{"certificate":"engine","tenants":["_plain"],"may":["read"]}\n')
        self.reload(node)
        self.assertEqual(kvcast("moq", "ls", *own[:1], "a", *own[1:]).returncode, 0)
        stays = subprocess.Popen([KVCAST, "moq", "sub", own[0], "a--b", "--rendezvous", "60", "--timeout", "60",
                                  *own[1:]], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(stays.kill)
        until(lambda: self.peers(node) == 1, "the client did not come in")
        tokens.write_text('{"certificate":"another","tenants":["_plain"],"may":["read"]}\n')
        self.reload(node)
        self.assertNotEqual(stays.wait(PATIENCE_S), 0)
        self.assertNotEqual(kvcast("moq", "ls", *own[:1], "a", *own[1:]).returncode, 0)


if __name__ == "__main__":
    KVCAST = str(Path(sys.argv.pop()).resolve())
    unittest.main()
