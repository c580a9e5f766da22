#!/usr/bin/env python3
"""What is forgotten at one node is gone from all below it; what is published at one edge is found at another: forget_test.py KVCAST TINYLM"""

import http.client
import json
import re
import signal
import sys
import tempfile
import unittest
from pathlib import Path

from node_process import PATIENCE_S, Node, until
from relay_test import MODEL, PROMPT, run, tensors


class Network(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name)
        self.key = self.folder / "key"
        self.key.write_bytes(bytes(range(32)))
        text = PROMPT.read_bytes()[:2500]
        done = run(TINYLM, "prefill", "--out", self.folder / "a.safetensors", stdin=text)
        self.assertEqual(done.returncode, 0, done.stderr)
        (self.folder / "a.tokens").write_bytes(run(TINYLM, "tokenize", stdin=text).stdout)

    def node(self, *options) -> Node:
        node = Node(KVCAST, "--admin", "127.0.0.1:0", *map(str, options))
        self.addCleanup(node.stop)
        return node

    def state(self, node: Node) -> Path:
        return Path(node.scratch.name) / "state"

    def cache(self, command: str, file: str, node: Node, *more):
        return run(KVCAST, command, self.folder / "a.tokens", self.folder / file, "--model", MODEL,
                   "--model-name", "tinylm", "--node", node.address, "--json", "--rung", "BF16",
                   "--tenant", "acme", "--key-file", self.key, *more)

    def put(self, node: Node, *more) -> int:
        put = self.cache("put", "a.safetensors", node, *more)
        self.assertEqual(put.returncode, 0, put.stderr)
        return json.loads(put.stdout)["rungs"][0]["sent"]

    def tokens(self, node: Node, *more) -> int:
        """How many of the prompt's tokens the node can load."""
        get = self.cache("get", "b.safetensors", node, *more)
        return json.loads(get.stdout)["tokens"] if get.returncode == 0 else 0

    def forget(self, node: Node, *more) -> dict:
        done = run(KVCAST, "forget", "--tenant", "acme", "--state-dir", self.state(node), "--json",
                   *more)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def test_what_an_origin_forgets_its_edge_no_longer_serves(self):
        disk = self.folder / "disk"
        origin = self.node("--disk", f"{disk},bytes=1GiB")
        edge = self.node("--upstream", origin.address)
        edge.await_upstream()
        blocks = self.put(origin)
        loaded = self.tokens(edge)
        self.assertGreater(loaded, 0)

        would = self.forget(origin, "--dry-run")
        self.assertEqual((would["tracks"], would["blocks"]), (1, blocks))
        self.assertGreater(would["objects"], blocks)
        self.assertGreater(would["bytes"], 100_000)
        self.assertEqual(self.tokens(edge), loaded)

        gone = self.forget(origin)
        self.assertTrue(gone["complete"])
        self.assertEqual([gone[key] for key in ("tracks", "blocks", "objects", "bytes")],
                         [would[key] for key in ("tracks", "blocks", "objects", "bytes")])
        until(lambda: "forgotten" in edge.log.read_text(), "the edge did not hear of it")
        self.assertEqual(self.tokens(origin), 0)
        self.assertEqual(self.tokens(edge), 0)
        # Also when there is nobody to ask.
        origin.process.send_signal(signal.SIGSTOP)
        try:
            self.assertEqual(self.tokens(edge), 0)
        finally:
            origin.process.send_signal(signal.SIGCONT)

        # Published anew, it is there again.
        self.assertEqual(self.put(origin), blocks)
        until(lambda: self.tokens(edge) == loaded, "what was published anew did not come")

    def test_an_edge_that_was_away_hears_of_it_when_it_is_back(self):
        disk = self.folder / "edge-disk"
        state = self.folder / "edge-state"
        origin = self.node()
        options = ("--upstream", origin.address, "--disk", f"{disk},bytes=1GiB", "--state-dir", state)
        edge = self.node(*options)
        edge.await_upstream()
        self.put(edge, "--durability", "disk")
        self.assertGreater(self.tokens(edge), 0)
        edge.process.send_signal(signal.SIGTERM)
        self.assertEqual(edge.process.wait(PATIENCE_S), 0)
        self.forget(origin)
        edge = self.node(*options)
        edge.await_upstream()
        until(lambda: self.tokens(edge) == 0, "the edge did not hear of it")
        until(lambda: (state / "forgotten.json").exists(), "it is not written down")

    def test_forgetting_takes_a_token_that_may(self):
        tokens = self.folder / "tokens"

        def make(name: str, may: str) -> Path:
            made = run(KVCAST, "token", "new", "--name", name, "--tenant", "acme", "--may", may,
                       "--tokens", tokens, "--out", self.folder / name)
            self.assertEqual(made.returncode, 0, made.stderr)
            return self.folder / name

        engine, admin = make("engine", "publish,read"), make("admin", "forget")
        node = self.node("--tokens", tokens)
        self.put(node, "--token-file", engine)
        port = (self.state(node) / "admin-address").read_text().strip()
        self.assertEqual((self.state(node) / "admin-token").stat().st_mode & 0o777, 0o600)
        command = (KVCAST, "forget", "--tenant", "acme", "--admin", port, "--token-file")
        refused = run(*command, engine)
        self.assertEqual(refused.returncode, 1)
        self.assertIn(b"may not forget", refused.stderr)
        self.assertGreater(self.tokens(node, "--token-file", engine), 0)
        # Over HTTP, as others would.
        connection = http.client.HTTPConnection(port, timeout=PATIENCE_S)
        connection.request("POST", "/forget", json.dumps({"tenant": "acme"}))
        self.assertEqual(connection.getresponse().status, 401)
        done = run(*command, admin)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, rb"^forgot 1 track of tenant acme: \d+ blocks, \d+ objects, ")
        self.assertEqual(self.tokens(node, "--token-file", engine), 0)

    def test_what_is_published_at_one_edge_is_loaded_at_another(self):
        origin = self.node()
        first = self.node("--upstream", origin.address)
        second = self.node("--upstream", origin.address)
        first.await_upstream()
        second.await_upstream()
        self.put(first)
        until(lambda: self.tokens(second) > 0, "the other edge did not hear of it")
        published = tensors(self.folder / "a.safetensors")
        for name, values in tensors(self.folder / "b.safetensors").items():
            self.assertEqual(values, published[name][:len(values)], name)
        self.assertGreater(self.tokens(origin), 0)

    def test_a_relays_credential_says_whose_catalogs_it_may_bring(self):
        tokens = self.folder / "tokens"
        for name, tenant, may, out in [("engine", "acme", "publish,read", "engine"),
                                       ("relay", "acme", "relay", "relay"),
                                       ("other", "globex", "relay", "other")]:
            made = run(KVCAST, "token", "new", "--name", name, "--tenant", tenant, "--may", may,
                       "--tokens", tokens, "--out", self.folder / out)
            self.assertEqual(made.returncode, 0, made.stderr)
        engine = ("--token-file", self.folder / "engine")
        origin = self.node("--tokens", tokens)
        allowed = self.node("--upstream", origin.address, "--upstream-token-file", self.folder / "relay")
        refused = self.node("--upstream", origin.address, "--upstream-token-file", self.folder / "other")
        allowed.await_upstream()
        refused.await_upstream()
        self.put(refused)
        self.assertEqual(self.tokens(origin, *engine), 0)
        self.put(allowed)
        until(lambda: self.tokens(origin, *engine) > 0, "the origin did not hear of it")

    def test_misses_name_the_upstream_that_was_asked(self):
        origin = self.node()
        edge = self.node("--upstream", origin.address)
        edge.await_upstream()
        run(KVCAST, "moq", "fetch", edge.address, "a-b--track", "0")
        host = re.search(r"http://([^/]+)/ has", edge.log.read_text()).group(1)
        connection = http.client.HTTPConnection(host, timeout=PATIENCE_S)
        connection.request("GET", "/misses.json")
        missed = json.loads(connection.getresponse().read())
        self.assertEqual([miss["track"] for miss in missed], ["a-b--track"])
        asked = missed[0]["upstreams"]
        self.assertEqual([(each["upstream"], each["outcome"]) for each in asked],
                         [(origin.address.split("#")[0], "refused")])
        self.assertGreaterEqual(asked[0]["took_ms"], 0)


if __name__ == "__main__":
    TINYLM = sys.argv.pop()
    KVCAST = sys.argv.pop()
    unittest.main()
