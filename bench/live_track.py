"""A track that is published while it is subscribed to, for benchmarks: publisher and subscribers are processes."""

import fcntl
import json
import subprocess
import sys
import tempfile
import threading
import time

from fetch import ROOT

sys.path.insert(0, str(ROOT / "tests/road"))
from node_process import Node, until  # noqa: E402


class LiveTrack:
    """Objects of one size, sent when it is said. Each begins with its number."""

    def __init__(self, kvcast: str, node: Node, name: str, size: int, group_objects: int = 16):
        self.name, self.size, self.sent_at = name, size, []
        self.rest = bytes(size - 8)
        self.process = subprocess.Popen([kvcast, "moq", "pub", node.address, name, "-", "--size", str(size),
                                         "--group-objects", str(group_objects), "--timeout", "60"],
                                        stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        fcntl.fcntl(self.process.stdin, fcntl.F_SETPIPE_SZ, 1 << 20)  # An object at a time.
        until(lambda: subprocess.run([kvcast, "moq", "status", node.address, name], capture_output=True).returncode == 0,
              "the track was not published")

    def send(self, count: int, rate: float):
        begun = time.monotonic()
        for i in range(count):
            time.sleep(max(0.0, begun + i / rate - time.monotonic()))
            self.sent_at.append(time.monotonic())
            self.process.stdin.write(len(self.sent_at).to_bytes(8, "little") + self.rest)
            self.process.stdin.flush()

    def end(self):
        self.process.stdin.close()
        self.process.wait()


class Subscriber:
    """Notes when each object came, if that is wanted."""

    def __init__(self, kvcast: str, node: Node, name: str, times: bool = False):
        self.times, self.came_at = times, []
        self.out = subprocess.PIPE if times else tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen(["stdbuf", "-oL", kvcast, "moq", "sub", node.address, name, "--json",
                                         "--timeout", "60"], stdout=self.out, stderr=subprocess.DEVNULL, text=True)
        self.last = "{}"
        if times:
            self.reader = threading.Thread(target=self._read, daemon=True)
            self.reader.start()

    def _read(self):
        for line in self.process.stdout:
            self.came_at.append(time.monotonic())
            self.last = line

    def end(self) -> dict:
        """What it says of all that came."""
        self.process.wait()
        if self.times:
            self.reader.join()
            self.came_at.pop()
        else:
            self.out.seek(0)
            self.last = (self.out.read().splitlines() or ["{}"])[-1]
        return json.loads(self.last)


def subscribed(node: Node, before: float, count: int):
    """Waits until so many more are."""
    until(lambda: node.metric("kvcast_relay_subscriptions_total") >= before + count, "the subscribers did not come")
