"""Catalogs that lie, published to a node as anybody can who may publish there.

Catalogs are read and written by the second implementation of docs/reference/catalog.md.
"""

import json
import random
import subprocess
import sys
from pathlib import Path

from node_process import PATIENCE_S

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "docs/reference"))
import kvcast_catalog as catalog  # noqa: E402
from kvcast_names import TrackName, track_name_from_rendered  # noqa: E402

LIES = ["is garbage", "lists blocks that nobody has", "takes blocks for each other", "lists one block a million times as large",
        "has one bit wrong"]


class HostileCatalog:
    """Learns what an honest catalog says of a model, and publishes another one under a node id of its own."""

    def __init__(self, kvcast: str, target: str, honest: str, folder: Path):
        self.kvcast, self.target, self.honest, self.file = kvcast, target, honest, folder / "catalog"
        self.chance = random.Random(1)
        self.listed: list[tuple[TrackName, int, int, bytes]] = []
        self.scope, self.publisher = None, None

    def _moq(self, *words) -> str:
        done = subprocess.run([self.kvcast, "moq", *map(str, words)], capture_output=True, text=True, timeout=PATIENCE_S)
        return done.stdout

    def learn(self, until):
        """From the node that has it all."""
        until(self._read, "the honest node has no catalog")

    def _read(self) -> bool:
        tracks = [json.loads(line) for line in self._moq("ls", self.honest, "--json").splitlines()]
        for track in tracks:
            name = track_name_from_rendered(track["track"]) if "track" in track else None
            if name is None or len(name.fields) != 4 or name.fields[2] != b"catalog" or name.name != b"v1":
                continue
            folder = self.file.with_name("honest")
            self._moq("fetch", self.honest, name.rendered(), "--output", folder)
            held = catalog.Holdings()
            parts = sorted((tuple(map(int, path.name.split("-"))), path) for path in folder.iterdir())
            last = parts[-1][0][0]
            for (group, number), path in parts:
                if group == last:
                    held.apply(number, path.read_bytes())
            self.listed, self.scope = held.listed(), name.fields[:3]
        return bool(self.listed)

    def _objects(self, lie: str) -> bytes:
        listed = self.listed
        if lie == "is garbage":
            return self.chance.randbytes(5000)
        if lie == "lists blocks that nobody has":
            listed = [(TrackName((*name.fields[:3], self.chance.randbytes(16)), name.name), group, size // 100, key)
                      for name, group, size, key in listed]
        if lie == "takes blocks for each other":
            keys = [key for _, _, _, key in listed]
            self.chance.shuffle(keys)
            listed = [(name, group, size // 2, key) for (name, group, size, _), key in zip(listed, keys)]
        if lie == "lists one block a million times as large":
            name, group, size, key = self.chance.choice(listed)
            listed = [(name, group, size * 1_000_000, key)]
        names = list(dict.fromkeys(name for name, _, _, _ in listed))
        records = [catalog.Define(number, name) for number, name in enumerate(names)]
        records += [catalog.Add(names.index(name), group, size, key) for name, group, size, key in listed]
        whole = bytearray(catalog.CatalogObject(catalog.SNAPSHOT, 0, 1, tuple(records)).encode())
        if lie == "has one bit wrong":
            whole[self.chance.randrange(len(whole))] ^= 1 << self.chance.randrange(8)
        return bytes(whole)

    def publish(self, lie: str):
        """Until it is withdrawn."""
        self.file.write_bytes(self._objects(lie))
        track = TrackName((*self.scope, self.chance.randbytes(32)), b"v1")
        self.publisher = subprocess.Popen(
            [self.kvcast, "moq", "pub", self.target, track.rendered(), str(self.file), "--stay", "600"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def withdraw(self):
        if self.publisher:
            self.publisher.terminate()
            self.publisher.wait(PATIENCE_S)
        self.publisher = None
