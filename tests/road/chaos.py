#!/usr/bin/env python3
"""Whatever happens to nodes, links, disks and catalogs, a load ends in time, and with exact bytes or none: chaos.py KVCAST LIBRARY

    chaos.py KVCAST LIBRARY [--loads 30] [--prompts 5] [--seed 1]
    chaos.py KVCAST LIBRARY --loads 1000 --prompts 24

An origin with a disk, a relay and an edge, with links between them and before the engine that pass 200 Mbit/s. While the engine loads,
nodes are killed and started again, links are cut and joined, or turn bits over, bytes of the disk are turned over, and
catalogs that lie are published. What could not be loaded is computed, and published again, as an engine does.

Late is a load that ends more than 50 ms after its deadline and what this process itself was kept from running meanwhile: that
is watched by a thread that does nothing but look at the clock.
"""

import argparse
import collections
import json
import random
import statistics
import sys
import tempfile
import threading
import time
from pathlib import Path

from bad_link import Link
from hostile_catalogs import LIES, HostileCatalog
from node_process import Node, need_library, until
from prompt_cache import BLOCK_TOKENS, ON_DISK, PromptCache, Shape, made_up

BLOCKS = 8
MARGIN_S = 0.05
NAME = "chaos"
RATE = ["--rate-mbit", "200", "--delay-ms", "1", "--queue", "1MiB"]
UNTOUCHED = 0xA5  # What pages hold before a load.


def write_model(folder: Path, heads: int = 4, weights: bytes = b"{}") -> Path:
    """A model of 4 KiB of cache a token."""
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps({
        "num_hidden_layers": 4, "num_attention_heads": heads, "num_key_value_heads": heads, "head_dim": 64,
        "hidden_size": heads * 64, "torch_dtype": "bfloat16"}))
    (folder / "model.safetensors").write_bytes(len(weights).to_bytes(8, "little") + weights)
    (folder / "tokenizer.json").write_text("{}")
    return folder


class Prompt:
    """Tokens, and what their blocks hold."""

    def __init__(self, number: int, shape: Shape):
        chance = random.Random(number)
        self.tokens = [chance.randrange(30_000) for _ in range(BLOCKS * BLOCK_TOKENS)]
        self.content = [made_up(shape, number * BLOCKS + block) for block in range(BLOCKS)]
        self.rung = ("BF16", "")[number % 2]  # Plain, or what is published by default.


def wait_for(what, patience_s: float):
    """Until it is so, or long enough."""
    end = time.monotonic() + patience_s
    while not what() and time.monotonic() < end:
        time.sleep(0.005)


class Heartbeat:
    """How long this process was kept from running, at the most, since a moment."""

    def __init__(self):
        self.over, self.stalls = threading.Event(), collections.deque(maxlen=100_000)
        self.thread = threading.Thread(target=self._beat)
        self.thread.start()

    def _beat(self):
        pause = 0.002
        while not self.over.is_set():
            begun = time.monotonic()
            time.sleep(pause)
            now = time.monotonic()
            self.stalls.append((now, now - begun - pause))

    def worst(self, since: float) -> float:
        return max((stall for at, stall in list(self.stalls) if at >= since), default=0.0)

    def stop(self):
        self.over.set()
        self.thread.join()


class Place:
    """A node that comes back to where it was."""

    def __init__(self, folder: Path, name: str, *options: str):
        self.options = ["--no-prefault", "--state-dir", str(folder / f"{name}-state"), *options]
        self.node = Node(KVCAST, *self.options)
        self.address = self.node.address

    def kill(self):
        self.node.process.kill()
        self.node.stop()

    def start(self):
        def started() -> bool:
            try:
                self.node = Node(KVCAST, "--listen", self.address.split("#")[0], *self.options)
            except RuntimeError as refused:  # Somebody has its port just now.
                if "in use" not in str(refused):
                    raise
                return False
            return True

        until(started, f"nobody starts at {self.address}")


class Faults:
    """What can go wrong, one at a time at each place."""

    def __init__(self, chance: random.Random):
        self.chance, self.kinds = chance, []
        self.fired = collections.Counter()
        self.busy: set[object] = set()
        self.over, self.threads, self.failed = threading.Event(), [], []

    def add(self, name: str, place: object, strike, mend):
        self.kinds.append((name, place, strike, mend))

    def one(self):
        """Has one happen some time soon, and for a while."""
        name, place, strike, mend = self.chance.choice(self.kinds)
        after, lasting = self.chance.uniform(0, 0.2), self.chance.uniform(0.01, 0.4)
        if place in self.busy:
            return
        self.busy.add(place)

        def run():
            try:
                self.over.wait(after)
                strike()
                self.fired[name] += 1
                self.over.wait(lasting)
                mend()
            except Exception as failure:  # Whatever it is, the test shall say it.
                self.failed.append(failure)
            self.busy.discard(place)

        self.threads = [thread for thread in self.threads if thread.is_alive()]
        self.threads.append(threading.Thread(target=run))
        self.threads[-1].start()

    def end(self):
        """All is mended."""
        self.over.set()
        for thread in self.threads:
            thread.join()
        if self.failed:
            raise self.failed[0]


def rot(disk: Path, chance: random.Random):
    """Turns some bytes of a node's segments over, whether it runs or not."""
    files = [path for path in sorted(disk.rglob("*")) if path.is_file() and path.stat().st_size]
    for _ in range(4):
        with chance.choice(files).open("r+b", buffering=0) as file:
            at = chance.randrange(file.seek(0, 2))
            file.seek(at)
            old = file.read(1)
            file.seek(at)
            file.write(bytes([old[0] ^ (1 << chance.randrange(8))]))


class Engine:
    """Loads, looks at what came, and publishes what did not."""

    def __init__(self, addresses: list[str], origin: str, folder: Path, prompts: list[Prompt]):
        self.prompts = prompts
        self.reader = PromptCache(LIBRARY, addresses, folder / "model", BLOCKS, name=NAME)
        self.writer = PromptCache(LIBRARY, [origin], folder / "model", BLOCKS, name=NAME)
        # Two that are of other models, and so have no part in any of this.
        self.strangers = {"wrong model": PromptCache(LIBRARY, addresses, folder / "other", BLOCKS, name=NAME),
                          "wrong shape": PromptCache(LIBRARY, addresses, folder / "wide", BLOCKS, name=NAME)}
        self.folder, self.addresses = folder, addresses
        self.heart = Heartbeat()
        self.counts = collections.Counter()
        self.overdue, self.excused, self.took = [], [], []
        self.wrong = []

    def close(self):
        self.heart.stop()
        for cache in (self.reader, self.writer, *self.strangers.values()):
            cache.__exit__()

    def load(self, cache: PromptCache, prompt: Prompt, timeout_s: float, compute_s: float):
        for plane in cache.planes:
            plane[:] = bytes([UNTOUCHED]) * len(plane)
        said = cache.load(prompt.tokens, timeout_s, compute_s)
        stall = self.heart.worst(time.monotonic() - said.seconds - 0.01)
        late = said.seconds - timeout_s
        self.overdue.append(late)
        if late > MARGIN_S + stall:
            self.wrong.append(f"ended {late * 1e3:.0f} ms after its deadline of {timeout_s * 1e3:.0f} ms, "
                              f"{stall * 1e3:.0f} ms of it stalled: {said}")
        elif late > MARGIN_S:
            self.excused.append(late)
        return said

    def check(self, cache: PromptCache, prompt: Prompt, blocks: int):
        """What is said to be there is exact, and what else was written is a part of it."""
        for block in range(BLOCKS):
            got, wanted = cache.content(block), prompt.content[block]
            if got == wanted or block >= blocks and all(
                    here in (there, UNTOUCHED) for here, there in zip(got, wanted)):
                continue
            self.wrong.append(f"block {block} of {blocks} that were loaded is not what was published")

    def own(self, prompt: Prompt, timeout_s: float, compute_s: float):
        said = self.load(self.reader, prompt, timeout_s, compute_s)
        self.check(self.reader, prompt, said.blocks)
        whole = said.blocks == BLOCKS
        if whole:
            self.took.append(said.seconds)
        self.counts["whole" if whole else "in part" if said.blocks else "computed"] += 1
        self.counts["blocks loaded"] += said.blocks
        self.counts["blocks computed"] += BLOCKS - said.blocks
        return whole

    def strange(self, kind: str, prompt: Prompt, timeout_s: float):
        cache = self.strangers[kind]
        said = self.load(cache, prompt, timeout_s, 0)
        touched = any(plane.count(UNTOUCHED) != len(plane) for plane in cache.planes)
        if said.blocks or touched:
            self.wrong.append(f"{kind}: {said.blocks} blocks, {'touched' if touched else 'untouched'} pages")
        try:
            PromptCache(LIBRARY, self.addresses, self.folder / "model", BLOCKS, name=NAME, shape=Shape(4, 8, 64)).__exit__()
            self.wrong.append("pages that are not the model's were taken")
        except RuntimeError:
            self.counts["pages of another shape refused"] += 1
        self.counts[kind] += 1

    def publish(self, prompt: Prompt, timeout_s: float) -> bool:
        for block in range(BLOCKS):
            self.writer.fill(block, prompt.content[block])
        said = self.writer.publish(prompt.tokens, timeout_s, rung=prompt.rung, durability=ON_DISK)
        return said.status >= 0

    def end(self):
        """All is as it should be: then all can be loaded, and is."""
        before = dict(self.counts)
        for prompt in self.prompts:  # What rots on the disk is noticed when it is read, and published again then.
            until(lambda prompt=prompt: self.publish(prompt, 5) and self.own(prompt, 10, 0),
                  "not all can be published and loaded, after all is mended")
        self.counts = collections.Counter(before)


def add_all(faults: Faults, places: dict[str, Place], links: dict[str, Link], disk: Path, catalogs: HostileCatalog):
    for name, place in places.items():
        faults.add(f"{name} killed", place, place.kill, place.start)
    for name, link in links.items():
        faults.add(f"{name} link cut", link, link.cut, link.join)

        def damage(link=link):
            link.cut()
            link.join("--corrupt-percent", "20")

        def mend(link=link):
            link.cut()
            link.join()

        faults.add(f"bits turned over on {name} link", link, damage, mend)
    chance = random.Random(faults.chance.random())
    faults.add("bytes turned over on disk", "disk", lambda: rot(disk, chance), lambda: None)
    for lie in LIES:
        faults.add(f"catalog that {lie}", "catalog", lambda lie=lie: catalogs.publish(lie), catalogs.withdraw)


def run(arguments, folder: Path) -> int:
    chance, faults = random.Random(arguments.seed), Faults(random.Random(arguments.seed + 1))
    for name, words in {"model": {}, "other": {"weights": b"{ }"}, "wide": {"heads": 8}}.items():
        write_model(folder / name, **words)
    prompts = [Prompt(number, Shape.of(folder / "model")) for number in range(arguments.prompts)]
    # Little memory above, so that much comes from the disk at the bottom.
    origin = Place(folder, "origin", "--ram", "16MiB", "--disk", f"{folder / 'disk'},bytes=1GiB")
    upper = Link(KVCAST, origin.address, *RATE)
    middle = Place(folder, "middle", "--ram", "16MiB", "--upstream", upper.address)
    edge = Place(folder, "edge", "--ram", "16MiB", "--upstream", middle.address)
    lower, side = Link(KVCAST, edge.address, *RATE), Link(KVCAST, middle.address, *RATE)
    engine = Engine([lower.address, side.address], origin.address, folder, prompts)
    catalogs = HostileCatalog(KVCAST, middle.address, origin.address, folder)
    try:
        for prompt in prompts:
            until(lambda prompt=prompt: engine.publish(prompt, 10), "nothing can be published")
        for prompt in prompts:
            until(lambda prompt=prompt: engine.reader.find(prompt.tokens) == BLOCKS, "not all is known")
        catalogs.learn(until)
        add_all(faults, {"edge": edge, "middle": middle, "origin": origin}, {"lower": lower, "side": side, "upper": upper},
                folder / "disk", catalogs)
        begun = time.monotonic()
        for number in range(arguments.loads):
            prompt = chance.choice(prompts)
            timeout_s, compute_s = chance.uniform(0.03, 0.8), chance.choice([0, 0, 0.01, 0.05])
            kind = chance.choices(["own", "wrong model", "wrong shape"], [18, 1, 1])[0]
            again, patient, fault = chance.random() < 0.8, chance.random() < 0.8, chance.random() < 0.4
            if patient:  # Where there is no node at all, a load ends before anything can happen to it.
                wait_for(lambda: engine.reader.connected, 2)
            if fault:
                faults.one()
            if kind == "own":
                if not engine.own(prompt, timeout_s, compute_s) and again:
                    engine.publish(prompt, 0.5)
            else:
                engine.strange(kind, prompt, timeout_s)
            if engine.wrong:
                print(f"load {number} of seed {arguments.seed}: {engine.wrong[0]}")
                break
        seconds = time.monotonic() - begun
        faults.end()
        if not engine.wrong:
            engine.end()
    finally:
        faults.over.set()
        for thread in faults.threads:
            thread.join()
        engine.close()
        catalogs.withdraw()
        for link in (lower, side, upper):
            link.__exit__()
        for place in (edge, middle, origin):
            place.node.stop()
    faults.fired["bits turned over in flight"] = sum(link.damaged for link in (lower, side, upper))
    report(arguments, engine, faults, seconds)
    return 1 if engine.wrong else 0


def report(arguments, engine: Engine, faults: Faults, seconds: float):
    print(f"seed {arguments.seed}: {arguments.loads} loads in {seconds:.0f} s, then all {len(engine.prompts)} prompts whole")
    print("loads: " + ", ".join(f"{count} {name}" for name, count in sorted(engine.counts.items())))
    print("faults: " + ", ".join(f"{count} {name}" for name, count in sorted(faults.fired.items())))
    over = [late for late in engine.overdue if late > 0]
    print(f"{len(over)} ended at their deadline, at most {max(over, default=0) * 1e3:.1f} ms after it; {len(engine.excused)} later than "
          f"{MARGIN_S * 1e3:.0f} ms, by no more than this process was kept from running")
    print(f"a whole load took {statistics.median(engine.took or [0]) * 1e3:.0f} ms in the median")
    for wrong in engine.wrong:
        print(f"FAILED: {wrong}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kvcast")
    parser.add_argument("library")
    parser.add_argument("--loads", type=int, default=30)
    parser.add_argument("--prompts", type=int, default=5)
    parser.add_argument("--seed", type=int, default=1)
    told = parser.parse_args()
    KVCAST, LIBRARY = told.kvcast, told.library
    need_library(LIBRARY)
    print(f"seed {told.seed}", flush=True)
    with tempfile.TemporaryDirectory() as scratch:
        sys.exit(run(told, Path(scratch)))
