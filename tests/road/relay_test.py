#!/usr/bin/env python3
"""A cache goes from one site to another, through nodes that ask each other: relay_test.py KVCAST TINYLM"""

import json
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path

from node_process import PATIENCE_S, Node

ROOT = Path(__file__).resolve().parents[2]
MODEL = ROOT / "examples/tinylm/model"
PROMPT = ROOT / "examples/tinylm/prompts/shared-prefix-a.txt"


def run(*command, stdin=b""):
    return subprocess.run([str(word) for word in command], input=stdin, capture_output=True,
                          timeout=PATIENCE_S)


def tensors(path: Path) -> dict[str, bytes]:
    data = path.read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8:8 + length])
    return {name: data[8 + length + entry["data_offsets"][0]:8 + length + entry["data_offsets"][1]]
            for name, entry in header.items() if name != "__metadata__"}


class Meter:
    """Stands between a node and those below it, and counts the bytes that leave the node."""

    def __init__(self, address: str):
        place, self.fingerprint = address.split("#")
        host, port = place.rsplit(":", 1)
        self.node = (host, int(port))
        self.sent = 0
        self.front = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.front.bind(("127.0.0.1", 0))
        for option in (socket.SO_RCVBUF, socket.SO_SNDBUF):
            self.front.setsockopt(socket.SOL_SOCKET, option, 4 << 20)
        self.backs = {}
        threading.Thread(target=self._forth, daemon=True).start()

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.front.getsockname()[1]}#{self.fingerprint}"

    def _forth(self):
        while True:
            data, below = self.front.recvfrom(65536)
            if below not in self.backs:
                back = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
                back.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
                back.connect(self.node)
                self.backs[below] = back
                threading.Thread(target=self._back, args=(back, below), daemon=True).start()
            try:
                self.backs[below].send(data)
            except OSError:
                pass  # The node is gone.

    def _back(self, back, below):
        while True:
            try:
                data = back.recv(65536)
            except OSError:
                time.sleep(0.1)
                continue
            self.sent += len(data)
            self.front.sendto(data, below)


class Relay(unittest.TestCase):
    def prompt(self, folder: Path):
        text = PROMPT.read_bytes()[:2500]
        done = run(TINYLM, "prefill", "--out", folder / "a.safetensors", stdin=text)
        self.assertEqual(done.returncode, 0, done.stderr)
        (folder / "a.tokens").write_bytes(run(TINYLM, "tokenize", stdin=text).stdout)

    def put(self, folder: Path, address: str, *more) -> dict:
        put = run(KVCAST, "put", folder / "a.tokens", folder / "a.safetensors", "--model", MODEL,
                  "--model-name", "tinylm", "--node", address, "--json", "--rung", "BF16", *more)
        self.assertEqual(put.returncode, 0, put.stderr)
        return json.loads(put.stdout)

    def try_get(self, folder: Path, address: str, *more):
        return run(KVCAST, "get", folder / "a.tokens", folder / "b.safetensors", "--model", MODEL,
                   "--model-name", "tinylm", "--node", address, "--json", "--rung", "BF16", *more)

    def get(self, folder: Path, address: str, *more) -> dict:
        get = self.try_get(folder, address, *more)
        self.assertEqual(get.returncode, 0, get.stderr)
        return json.loads(get.stdout)

    def test_an_edge_has_from_the_origin_what_it_lacks_once(self):
        with tempfile.TemporaryDirectory() as scratch, Node(KVCAST) as origin:
            folder = Path(scratch)
            self.prompt(folder)
            blocks = self.put(folder, origin.address)["rungs"][0]["sent"]
            self.assertGreater(blocks, 2)
            meter = Meter(origin.address)
            with Node(KVCAST, "--upstream", meter.address) as edge:
                edge.await_upstream()
                before = meter.sent
                first = self.get(folder, edge.address)
                cost = meter.sent - before
                self.assertGreater(first["bytes"], 100_000)
                self.assertGreaterEqual(cost, first["bytes"])
                self.assertLess(cost, 1.3 * first["bytes"] + 100_000)
                before = meter.sent
                second = self.get(folder, edge.address)
                self.assertEqual(second["tokens"], first["tokens"])
                self.assertEqual(second["bytes"], first["bytes"])
                self.assertLess(meter.sent - before, first["bytes"] / 10)
                # The origin dies: the edge goes on, and lists what it has.
                origin.process.kill()
                third = self.get(folder, edge.address)
                self.assertEqual(third["tokens"], first["tokens"])

    def test_what_is_published_at_an_edge_stands_there_whatever_the_origin_holds(self):
        with tempfile.TemporaryDirectory() as scratch, Node(KVCAST) as origin, \
                Node(KVCAST, "--upstream", origin.address) as edge:
            folder = Path(scratch)
            self.prompt(folder)
            put = self.put(folder, origin.address)["rungs"][0]
            edge.await_upstream()
            # The edge tells what the origin holds, and holds nothing itself.
            at_edge = self.put(folder, edge.address)["rungs"][0]
            self.assertEqual(at_edge["sent"], put["sent"])
            self.assertEqual(at_edge["skipped"], 0)
            origin.process.kill()
            self.assertGreater(self.get(folder, edge.address)["tokens"], 0)
            again = self.put(folder, edge.address)["rungs"][0]
            self.assertEqual(again["skipped"], put["sent"])

    def test_three_levels_bring_the_same_bytes(self):
        with tempfile.TemporaryDirectory() as scratch, Node(KVCAST) as origin, \
                Node(KVCAST, "--upstream", origin.address) as middle, \
                Node(KVCAST, "--upstream", middle.address) as edge:
            folder = Path(scratch)
            self.prompt(folder)
            self.put(folder, origin.address)
            middle.await_upstream()
            edge.await_upstream()
            self.assertGreater(self.get(folder, edge.address)["tokens"], 0)
            published, loaded = tensors(folder / "a.safetensors"), tensors(folder / "b.safetensors")
            for name, values in loaded.items():
                self.assertEqual(values, published[name][:len(values)], name)

    def test_an_edge_serves_before_its_upstream_is_there(self):
        with tempfile.TemporaryDirectory() as scratch:
            folder = Path(scratch)
            self.prompt(folder)
            with Node(KVCAST, "--upstream", "127.0.0.1:9#" + "0" * 64) as edge:
                self.put(folder, edge.address)
                self.assertGreater(self.get(folder, edge.address)["tokens"], 0)
                self.assertEqual(edge.stop(), 0)

    def token(self, folder: Path, name: str, tenant: str, may: str, node: str) -> Path:
        """A new one, which the file of a node knows."""
        made = run(KVCAST, "token", "new", "--name", name, "--tenant", tenant, "--may", may,
                   "--tokens", folder / node, "--out", folder / name)
        self.assertEqual(made.returncode, 0, made.stderr)
        return folder / name

    def test_an_edge_shows_its_token_and_asks_for_those_of_others(self):
        with tempfile.TemporaryDirectory() as scratch:
            folder = Path(scratch)
            self.prompt(folder)
            (folder / "key").write_bytes(bytes(range(32)))
            whose = ("--tenant", "acme", "--key-file", folder / "key")
            writer = self.token(folder, "writer", "acme", "publish,read", "origin")
            relay = self.token(folder, "relay", "acme", "relay", "origin")
            reader = self.token(folder, "reader", "acme", "read", "edge")
            stranger = self.token(folder, "stranger", "globex", "publish,read", "edge")
            with Node(KVCAST, "--tokens", folder / "origin") as origin, \
                    Node(KVCAST, "--tokens", folder / "edge", "--upstream", origin.address,
                         "--upstream-token-file", relay) as edge:
                self.put(folder, origin.address, *whose, "--token-file", writer)
                edge.await_upstream()
                got = self.get(folder, edge.address, *whose, "--token-file", reader)
                self.assertGreater(got["tokens"], 0)
                refused = self.try_get(folder, edge.address, *whose, "--token-file", stranger)
                self.assertEqual(refused.returncode, 1)
                self.assertIn(b"holds no block", refused.stderr)  # As of what is not there.


if __name__ == "__main__":
    TINYLM = sys.argv.pop()
    KVCAST = sys.argv.pop()
    unittest.main()
