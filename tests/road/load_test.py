#!/usr/bin/env python3
"""A node that is worked hard, killed, and left by its clients: load_test.py KVCAST LIBRARY

KVCAST_LOAD_KILLS, KVCAST_LOAD_SECONDS and KVCAST_LOAD_MISSES ask for more than a test's patience allows: 50, 1200, 1000.
KVCAST_LOAD_SANITIZED says that the node is one with a sanitizer: it is not as fast, and keeps memory that was freed, so that is not compared.
"""

import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path

from node_process import PATIENCE_S, Node, need_library, until
from value_store import GET, HELD, LOADED, LOOKUP, ON_DISK, PUT, STORED, Values

KILLS = int(os.environ.get("KVCAST_LOAD_KILLS", 3))
SECONDS = float(os.environ.get("KVCAST_LOAD_SECONDS", 8))
MISSES = int(os.environ.get("KVCAST_LOAD_MISSES", 16))
SANITIZED = "KVCAST_LOAD_SANITIZED" in os.environ


def content(key: bytes, size: int) -> bytes:
    return random.Random(key).randbytes(64) * (size // 64)


class Threads:
    """Work that goes on until it is enough; what failed in it fails the test."""

    def __init__(self):
        self.over, self.failed, self.threads = threading.Event(), [], []

    def start(self, work, *arguments):
        def run():
            try:
                work(*arguments)
            except Exception as failure:  # Whatever it is, the test shall say it.
                self.failed.append(failure)

        self.threads.append(threading.Thread(target=run))
        self.threads[-1].start()

    def __enter__(self):
        return self

    def __exit__(self, *raised):
        self.over.set()
        for thread in self.threads:
            thread.join()
        if self.failed and raised[0] is None:
            raise self.failed[0]


class Killed(unittest.TestCase):
    SIZE = 64_000
    BATCH = 4

    def writer(self, threads: Threads, address: str, name: int, acknowledged: list[bytes]):
        """Puts what is to be on the disk, again and again until it is said to be there."""
        number = 0
        with Values(LIBRARY, address, self.SIZE, self.BATCH) as values:
            while not threads.over.is_set():
                keys = [b"%d of %d" % (number + i, name) for i in range(self.BATCH)]
                for i, key in enumerate(keys):
                    values.place(i)[:] = content(key, self.SIZE)
                while not threads.over.is_set():
                    statuses = values.run(PUT, keys, durability=ON_DISK, timeout_s=5)
                    # What a node that was killed has of a batch is held as durably by the next.
                    acknowledged += [key for key, status in zip(keys, statuses) if status in (STORED, HELD)]
                    if all(status in (STORED, HELD) for status in statuses):
                        break
                    time.sleep(0.02)
                number += self.BATCH

    def reader(self, threads: Threads, address: str, acknowledged: list[bytes]):
        """Gets what was acknowledged: it may not be to be had for a while, but it is never another."""
        with Values(LIBRARY, address, self.SIZE, 1) as values:
            while not threads.over.is_set():
                if acknowledged:
                    key = random.choice(acknowledged)
                    if values.run(GET, [key], timeout_s=5) == [LOADED]:
                        self.assertEqual(values.place(0), content(key, self.SIZE))
                time.sleep(0.005)

    def test_under_load_clients_go_on_and_nothing_acknowledged_is_lost(self):
        with tempfile.TemporaryDirectory() as scratch:
            options = ["--ram", "64MiB", "--no-prefault", "--state-dir", f"{scratch}/state", "--disk",
                       f"{scratch}/disk,bytes=4GiB", "--admin", "127.0.0.1:0"]
            node = Node(KVCAST, *options)
            address, acknowledged = node.address, []
            try:
                with Threads() as threads:
                    for name in range(2):
                        threads.start(self.writer, threads, address, name, acknowledged)
                    threads.start(self.reader, threads, address, acknowledged)
                    for _ in range(KILLS):
                        before = len(acknowledged)
                        until(lambda before=before: threads.failed or len(acknowledged) > before + 20, "nobody goes on")
                        node.process.kill()
                        node.stop()
                        node = Node(KVCAST, "--listen", address.split("#")[0], *options)
                        self.assertEqual(node.address, address)
                    before = len(acknowledged)
                    until(lambda: threads.failed or len(acknowledged) > before + 20, "nobody goes on")
                node.process.kill()
                node.stop()
                node = Node(KVCAST, "--listen", address.split("#")[0], *options)
                with Values(LIBRARY, address, self.SIZE, 64) as values:
                    until(lambda: set(values.run(LOOKUP, acknowledged)) == {HELD}, "not all is listed")
                    for at in range(0, len(acknowledged), 64):
                        keys = acknowledged[at:at + 64]
                        self.assertEqual(set(values.run(GET, keys)), {LOADED})
                        for i, key in enumerate(keys):
                            self.assertEqual(values.place(i), content(key, self.SIZE))
                print(f"{KILLS + 1} kills, {len(acknowledged)} values acknowledged, all there", file=sys.stderr)
            finally:
                node.stop()


class Footprint:
    """What a process takes of the machine."""

    def __init__(self, pid: int):
        self.memory = int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
        # The kernel's own for io_uring come and go as it likes.
        names = [path.read_text() for path in Path(f"/proc/{pid}/task").glob("*/comm")]
        self.threads = sum(not name.startswith("iou-") for name in names)
        self.descriptors = len(os.listdir(f"/proc/{pid}/fd"))

    def __str__(self):
        return f"{self.memory / 2**20:.1f} MiB, {self.threads} threads, {self.descriptors} descriptors"


class Mixed(unittest.TestCase):
    SIZE = 512_000

    def engine(self, threads: Threads, node: Node, name: int, counts: dict):
        """Comes, puts, gets what it and others have put lately, and leaves."""
        number, chance = 0, random.Random(name)
        while not threads.over.is_set():
            with Values(LIBRARY, node.address, self.SIZE, 4) as values:
                keys = [b"%d of %d" % (number + i, name) for i in range(4)]
                for i, key in enumerate(keys):
                    values.place(i)[:] = content(key, self.SIZE)
                # Memory is full: what is put may have to go before it is listed, and is then not said to be there.
                counts["not put"] += sum(status not in (STORED, HELD) for status in values.run(PUT, keys, timeout_s=10))
                lately = [b"%d of %d" % (max(0, number - chance.randrange(400)), chance.randrange(3)) for _ in range(4)]
                for i, (key, status) in enumerate(zip(lately, values.run(GET, lately))):
                    if status == LOADED:
                        self.assertEqual(values.place(i), content(key, self.SIZE))
                        counts["got"] += 1
            number += 4
            counts["sessions"] += 1

    def vanishing(self, threads: Threads, node: Node, counts: dict):
        """Subscribers and fetchers that are killed, and publishers whose track ends."""
        number = 0
        while not threads.over.is_set():
            track = f"road-mixed-{number}--t"
            published = subprocess.run([KVCAST, "moq", "pub", node.address, track, "--count", "8", "--size", "100KiB"],
                                       capture_output=True, timeout=PATIENCE_S)
            self.assertEqual(published.returncode, 0, published.stderr)
            for what in ("sub", "fetch"):
                reader = subprocess.Popen([KVCAST, "moq", what, node.address, track, "--output", "-"],
                                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
                threads.over.wait(0.1)
                reader.send_signal(signal.SIGKILL)
                reader.communicate()
                counts["vanished"] += 1
            number += 1

    def test_load_with_clients_that_come_and_go_leaves_nothing_behind(self):
        with tempfile.TemporaryDirectory() as scratch:
            storage = ["--ram", "64MiB", "--disk", f"{scratch}/disk,bytes=336MiB"]
            evicted = 200
            if SANITIZED:  # Hundreds of megabytes would take it a minute.
                storage, evicted = ["--ram", "32MiB", "--cache-dir", "none"], 20
            with Node(KVCAST, *storage, "--admin", "127.0.0.1:0") as node:
                self.load(node, evicted)

    def load(self, node: Node, evicted: int):
        counts = {"sessions": 0, "not put": 0, "got": 0, "vanished": 0}
        with Threads() as threads:
            for name in range(3):
                threads.start(self.engine, threads, node, name, counts)
            threads.start(self.vanishing, threads, node, counts)
            # Warm is who has had to evict, from disk too.
            until(lambda: threads.failed or node.metric("kvcast_relay_evicted_groups_total") > evicted, "not warm")
            begun, prints = time.monotonic(), []
            while not threads.failed and time.monotonic() < begun + SECONDS:
                prints.append(Footprint(node.process.pid))
                time.sleep(0.1)
        third = len(prints) // 3
        early, late = (max(part, key=lambda each: each.memory) for part in (prints[:third], prints[-third:]))
        print(f"{counts}: at first {early}; at last {late}", file=sys.stderr)
        self.assertGreater(counts["got"], 0)
        # The allocator's pools breathe, and those who were killed are remembered for the idle time.
        if not SANITIZED:
            self.assertLess(late.memory, 1.1 * early.memory)
        self.assertLessEqual(late.threads, max(each.threads for each in prints[:third]))
        self.assertLessEqual(late.descriptors, max(each.descriptors for each in prints[:third]) + 2)  # A page is asked for.


class Misses(unittest.TestCase):
    # The origin stands still until all have asked, so that every one of them misses. After ten seconds it would be given
    # up: a thousand need a machine to themselves.
    def test_of_one_object_are_one_fetch_at_each_of_three_levels(self):
        with tempfile.TemporaryDirectory() as scratch:
            patient = Path(scratch) / "patient.toml"
            patient.write_text('[cache]\ndirectory = "none"\n[limits]\n' + "".join(
                f'{key} = "10min"\n' for key in ("upstream_patience", "miss_patience", "answer_patience")))
            options = ["--ram", "64MiB", "--no-prefault", "--admin", "127.0.0.1:0", "--config", str(patient)]
            with Node(KVCAST, *options) as origin, Node(KVCAST, *options, "--upstream", origin.address) as upper, \
                    Node(KVCAST, *options, "--upstream", upper.address) as middle, \
                    Node(KVCAST, *options, "--upstream", middle.address) as edge:
                for node in (upper, middle, edge):
                    node.await_upstream()
                subprocess.run([KVCAST, "moq", "pub", origin.address, "road-miss--t", "--count", "1", "--size", "160KiB"],
                               check=True, capture_output=True, timeout=PATIENCE_S)
                origin.process.send_signal(signal.SIGSTOP)
                clients = []
                try:
                    for _ in range(MISSES):
                        clients.append(subprocess.Popen(
                            [KVCAST, "moq", "fetch", edge.address, "road-miss--t", "0/0", "--timeout", "600"],
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE))
                    until(lambda: edge.metric("kvcast_upstream_fetches_total") + edge.metric("kvcast_upstream_coalesced_total")
                          >= MISSES, "not all have asked")
                finally:
                    origin.process.send_signal(signal.SIGCONT)
                said = {client.communicate(timeout=PATIENCE_S) for client in clients}
                self.assertEqual({out.split(b"sha256")[0] for out, _ in said}, {b"{0, 0}        163840 bytes  "}, said)
                self.assertEqual([node.metric("kvcast_upstream_fetches_total") for node in (edge, middle, upper)], [1, 1, 1])
                self.assertEqual([node.metric("kvcast_relay_fetches_total") for node in (edge, middle, upper, origin)],
                                 [MISSES, 1, 1, 1])


if __name__ == "__main__":
    LIBRARY = sys.argv.pop()
    KVCAST = sys.argv.pop()
    need_library(LIBRARY)
    unittest.main()
