"""A bad network before a node, for tests that go the whole road."""

import re
import subprocess

from node_process import PATIENCE_S


class Link:
    """with Link(kvcast, node.address, *options) as link: link.address is the node's, by way of `kvcast impair`."""

    def __init__(self, kvcast: str, address: str, *options: str):
        self.kvcast, self.options = kvcast, [str(option) for option in options]
        self.to, self.fingerprint = address.split("#")
        self.listen = "127.0.0.1:0"
        self.process = None
        self.damaged = 0  # Datagrams with a bit turned over, so far.
        self.join()

    @property
    def address(self) -> str:
        return f"{self.listen}#{self.fingerprint}"

    def join(self, *worse: str):
        """Has it pass datagrams, at the port that it had before."""
        self.process = subprocess.Popen(
            [self.kvcast, "impair", "--to", self.to, "--listen", self.listen, *self.options, *worse],
            stdout=subprocess.PIPE, text=True)
        for line in self.process.stdout:
            if said := re.match(r"  listen  (\S+)", line):
                self.listen = said[1]
                return
        raise RuntimeError(f"There is no link to {self.to}: kvcast impair ended with {self.process.wait()}.")

    def cut(self):
        """Nothing passes until it is joined again."""
        self.process.terminate()
        said, _ = self.process.communicate(timeout=PATIENCE_S)
        self.damaged += sum(int(count.replace(",", "")) for count in re.findall(r"([\d,]+) with a bit", said))

    def __enter__(self):
        return self

    def __exit__(self, *raised):
        if self.process.poll() is None:
            self.cut()
