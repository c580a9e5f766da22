#!/usr/bin/env python3
"""Certificates from `kvcast cert` on nodes and clients: certificates_test.py KVCAST"""

import json
import stat
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from node_process import PATIENCE_S, Node

SYSTEM_LIST = "/etc/ssl/certs/ca-certificates.crt"


def run(*words):
    return subprocess.run([str(word) for word in words], capture_output=True, text=True,
                          timeout=PATIENCE_S * 3)


def port_of(node) -> str:
    return node.address.split("#")[0].rsplit(":", 1)[1]


class Certificates(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name) / "ours"
        self.make("authority", self.folder)
        self.make("node", self.folder, "--name", "localhost", "--name", "127.0.0.1")
        self.strangers = Path(scratch.name) / "theirs"
        self.make("authority", self.strangers)

    def make(self, *words):
        made = run(KVCAST, "cert", *words)
        self.assertEqual(made.returncode, 0, made.stderr)
        return made.stdout

    def node(self, *options):
        return Node(KVCAST, "--cert", self.folder / "localhost.pem", "--key",
                    self.folder / "localhost.key", *options)

    def ask(self, node, *options, host="localhost"):
        """A listing of nothing: whether the session comes about is all that is asked."""
        return run(KVCAST, "moq", "ls", f"moqt://{host}:{port_of(node)}", *options)

    def refused(self, outcome, because: str):
        self.assertEqual(outcome.returncode, 1, outcome.stdout)
        self.assertIn(because, outcome.stderr)

    def test_keys_are_for_their_owner_alone(self):
        for key in self.folder.glob("*.key"):
            self.assertEqual(stat.S_IMODE(key.stat().st_mode), 0o600, key)

    def test_a_client_goes_by_the_authority_it_is_given(self):
        with self.node() as node:
            ours = ["--ca", self.folder / "authority.pem"]
            self.assertEqual(self.ask(node, *ours).returncode, 0)
            self.assertEqual(self.ask(node, *ours, host="127.0.0.1").returncode, 0)
            self.refused(self.ask(node, "--ca", self.strangers / "authority.pem"), "not trusted")
            self.refused(self.ask(node), "add #FINGERPRINT to its address")

    def test_a_client_of_kv_caches_goes_by_it_too(self):
        with self.node() as node, tempfile.TemporaryDirectory() as scratch:
            root = Path(__file__).resolve().parents[2]
            get = [KVCAST, "get", root / "examples/tinylm/prompts/shared-prefix-a.tokens",
                   Path(scratch) / "out", "--model", root / "examples/tinylm/model",
                   "--node", f"localhost:{port_of(node)}", "--node-ca"]
            self.refused(run(*get, self.folder / "authority.pem"), "holds no block")
            self.refused(run(*get, self.strangers / "authority.pem"), "not trusted")

    def test_the_name_must_be_one_that_the_certificate_is_for(self):
        self.make("node", self.folder, "--name", "node7.example")
        with Node(KVCAST, "--cert", self.folder / "node7.example.pem", "--key",
                  self.folder / "node7.example.key") as node:
            self.refused(self.ask(node, "--ca", self.folder / "authority.pem"), "does not match")

    def test_verification_is_skipped_only_aloud(self):
        with self.node() as node:
            skipped = self.ask(node, "--insecure-skip-verification")
            self.assertEqual(skipped.returncode, 0)
            self.assertIn("warning: the server's certificate is not checked", skipped.stderr)
            both = self.ask(node, "--insecure-skip-verification", "--ca",
                            self.folder / "authority.pem")
            self.refused(both, "choose")

    def test_a_node_takes_only_clients_of_its_authority_if_it_is_told_to(self):
        everything = ["--tenant", "_all", "--tenant", "_plain"]
        self.make("client", self.folder, "--name", "engine", *everything)
        self.make("client", self.folder, "--name", "acme", "--tenant", "acme")
        self.make("client", self.folder, "--name", "nobody")
        self.make("client", self.strangers, "--name", "engine", *everything)
        with self.node("--client-ca", self.folder / "authority.pem") as node:
            ours = ["--ca", self.folder / "authority.pem"]
            own = ["--cert", self.folder / "engine.pem", "--key", self.folder / "engine.key"]
            self.assertEqual(self.ask(node, *ours, *own).returncode, 0)
            self.refused(self.ask(node, *ours), "give yours, with --cert and --key")
            for name, reason in [("acme", "a prefix has to name one of them"),
                                 ("nobody", "takes only those it knows")]:
                self.refused(self.ask(node, *ours, "--cert", self.folder / f"{name}.pem", "--key",
                                      self.folder / f"{name}.key"), reason)
            self.refused(self.ask(node, *ours, "--cert", self.strangers / "engine.pem", "--key",
                                  self.strangers / "engine.key"), "does not trust the certificate")

    def test_what_this_machine_trusts_is_trusted_without_a_word(self):
        """In a namespace of its own, where our authority is all that the machine trusts."""
        alone = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c",
                 f"mount --bind '{self.folder / 'authority.pem'}' {SYSTEM_LIST} && exec \"$@\"",
                 "sh"]
        if not Path(SYSTEM_LIST).exists() or run(*alone, "true").returncode != 0:
            self.skipTest("no list of authorities here, or no namespaces to change it in")
        with self.node() as node:
            ask = [KVCAST, "moq", "ls", f"moqt://localhost:{port_of(node)}"]
            trusted = run(*alone, *ask)
            self.assertEqual(trusted.returncode, 0, trusted.stderr)
            self.refused(run(*ask), "not trusted")

    def test_what_is_shown_of_a_certificate_is_what_clients_pin(self):
        shown = json.loads(run(KVCAST, "cert", "show", self.folder / "localhost.pem",
                               "--json").stdout)
        with self.node() as node:
            self.assertEqual(node.address.split("#")[1], shown["fingerprint"])
            pinned = run(KVCAST, "moq", "ls",
                         f"moqt://localhost:{port_of(node)}#{shown['fingerprint']}")
            self.assertEqual(pinned.returncode, 0, pinned.stderr)


if __name__ == "__main__":
    KVCAST = sys.argv.pop()
    unittest.main()
