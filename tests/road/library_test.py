#!/usr/bin/env python3
"""What an engine does with the library, as it is installed: library_test.py KVCAST BUILD"""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from node_process import PATIENCE_S, Node, until
from prompt_cache import BLOCK_TOKENS, PromptCache, made_up

ROOT = Path(__file__).resolve().parents[2]
EMBED = ROOT / "examples/embed"
MODEL = ROOT / "examples/tinylm/model"
BUILD_PATIENCE_S = 300


def run(*command, **options):
    return subprocess.run([str(word) for word in command], capture_output=True, text=True,
                          timeout=BUILD_PATIENCE_S, **options)


class Library(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(scratch.cleanup)
        cls.folder = Path(scratch.name)
        cls.prefix = cls.folder / "stage"
        for command in [("cmake", "--install", BUILD, "--prefix", cls.prefix),
                        ("cmake", "-G", "Ninja", "-S", EMBED, "-B", cls.folder / "build",  # There may be no make.
                         f"-DCMAKE_PREFIX_PATH={cls.prefix}"),
                        ("cmake", "--build", cls.folder / "build")]:
            ran = run(*command)
            if ran.returncode != 0:
                raise RuntimeError(f"{command[:2]}:\n{ran.stdout}{ran.stderr}")
        cls.library = next(cls.prefix.rglob("libkvcast.so"))

    def program(self, name, *arguments):
        return run(self.folder / "build" / name, *arguments)

    def test_what_is_installed_is_what_engines_and_people_need(self):
        names = {path.relative_to(self.prefix).as_posix() for path in self.prefix.rglob("*")}
        for name in ["bin/kvcast", "include/kvcast/kvcast.h", "include/kvcast/kvcast.hpp",
                     "share/doc/kvcast/LICENSE"]:
            self.assertIn(name, names)
        self.assertEqual(self.library.resolve().name, "libkvcast.so.0.1.0")
        self.assertTrue((self.library.parent / "libkvcast.so.0").is_symlink())
        self.assertEqual(run(self.prefix / "bin/kvcast", "version").returncode, 0)

    def test_it_exports_what_the_list_says_and_nothing_else(self):
        listed = {line for line in (ROOT / "docs/reference/abi.txt").read_text().splitlines()
                  if line and not line.startswith("#")}
        shown = run("nm", "-D", "--defined-only", "--format=posix", self.library)
        symbols = {line.split()[0].split("@")[0] for line in shown.stdout.splitlines()
                   if line.split()[1] != "A"}  # A version is no symbol.
        self.assertEqual(symbols, listed)

    def test_it_needs_nothing_that_only_nodes_need(self):
        needed = run("readelf", "--dynamic", self.library).stdout
        self.assertIn("libkvcast.so.0", needed)
        for library in ["libcurl", "liburing"]:
            self.assertNotIn(library, needed)

    @unittest.skipUnless(shutil.which("pkg-config"), "pkg-config is not here")
    def test_pkg_config_finds_it_wherever_it_was_moved(self):
        moved = self.folder / "moved"
        shutil.copytree(self.prefix, moved, symlinks=True)
        where = next(moved.rglob("kvcast.pc")).parent
        flags = run("pkg-config", "--cflags", "--libs", "kvcast",
                    env=os.environ | {"PKG_CONFIG_PATH": str(where)}).stdout.split()
        ran = run("cc", "-std=c99", EMBED / "share_blocks.c", "-o", self.folder / "by_pkg_config",
                  *flags, f"-Wl,-rpath,{where.parent}")
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertEqual(run(self.folder / "by_pkg_config").returncode, 64)

    def test_blocks_go_from_one_process_to_another(self):
        with Node(KVCAST) as node:
            nothing = self.program("share_blocks", "get", node.address, 3)
            self.assertEqual(nothing.returncode, 1, nothing.stderr)
            self.assertIn("block 2: absent", nothing.stdout)
            put = self.program("share_blocks", "put", node.address, 20)
            self.assertEqual(put.returncode, 0, put.stdout + put.stderr)
            self.assertIn("block 19: stored", put.stdout)
            again = self.program("share_blocks", "put", node.address, 21)
            self.assertIn("block 19: held", again.stdout)
            self.assertIn("block 20: stored", again.stdout)
            get = self.program("share_blocks", "get", node.address, 21)
            self.assertEqual(get.returncode, 0, get.stdout + get.stderr)
            self.assertIn("the first 21 of 21 blocks can be had", get.stdout)
            self.assertIn("21 of 21 blocks, 0 wrong bytes", get.stdout)

    def test_the_same_in_cpp(self):
        with Node(KVCAST) as node:
            ran = self.program("share_values", node.address)
            self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)
            self.assertEqual(ran.stdout, "put: stored, found: 1 of 2, got: loaded and absent\n"
                                         "what one engine computed\n")

    def test_prompts_go_from_one_process_to_another(self):
        shape = [MODEL, *SHAPE]
        with Node(KVCAST) as node:
            nothing = self.program("share_prompt", "load", node.address, *shape)
            self.assertIn("found 0 tokens, loaded 0", nothing.stdout, nothing.stderr)
            published = self.program("share_prompt", "publish", node.address, *shape)
            self.assertEqual(published.returncode, 0, published.stdout + published.stderr)
            loaded = self.program("share_prompt", "load", node.address, *shape)
            self.assertEqual(loaded.stdout, "found 512 tokens, loaded 512, 0 wrong values\n",
                             loaded.stderr)
            ahead = self.program("share_prompt", "ahead", node.address, *shape)
            self.assertEqual(ahead.stdout, "fetched 512 tokens ahead\n"
                                           "found 512 tokens, loaded 512, 0 wrong values\n"
                                           "4 blocks were here before\n", ahead.stderr)

    def test_a_prompt_goes_from_loop_to_loop_while_nobody_waits(self):
        shape = [MODEL, *SHAPE]
        with Node(KVCAST) as node:
            nothing = self.program("poll_prompt", "load", node.address, *shape)
            self.assertEqual(nothing.returncode, 1, nothing.stderr)
            self.assertIn("loaded 0 tokens", nothing.stdout)
            published = self.program("poll_prompt", "publish", node.address, *shape)
            self.assertEqual(published.stdout, "published 512 tokens \n", published.stderr)
            loaded = self.program("poll_prompt", "load", node.address, *shape)
            self.assertEqual(loaded.stdout, "loaded 512 tokens, 0 wrong values\n", loaded.stderr)
            self.assertEqual(loaded.returncode, 0)

    def test_ranks_share_their_slices_under_one_generation(self):
        with Node(KVCAST) as node:
            drawn, other = (self.program("share_slices", "draw").stdout.strip() for _ in range(2))
            self.assertRegex(drawn, "^[0-9a-f]{32}$")
            self.assertNotEqual(drawn, other)
            for what in ["publish", "load"]:
                ranks = [subprocess.Popen([self.folder / "build/share_slices", what, node.address, MODEL,
                                           *map(str, SHAPE), str(rank), "2", drawn],
                                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
                         for rank in range(2)]
                for rank in ranks:
                    said, told = rank.communicate(timeout=PATIENCE_S)
                    self.assertEqual(rank.returncode, 0, said + told)
                    self.assertIn("512 tokens", said)
            nothing = self.program("share_slices", "load", node.address, MODEL, *SHAPE, 0, 2, other)
            self.assertEqual(nothing.returncode, 1)
            self.assertIn("loaded 0 tokens", nothing.stdout)
            listed = run(KVCAST, "ls", "--node", node.address, "--json").stdout
            for heads in ["0-0", "1-1"]:
                self.assertIn(f"BF16-lossless;h={heads}", listed)

    def test_one_process_computes_and_another_follows(self):
        shape = [str(MODEL), *map(str, SHAPE)]
        with Node(KVCAST) as node:
            decoder = subprocess.Popen([self.folder / "build/follow_prompt", "decode", node.address, *shape],
                                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            prefilled = self.program("follow_prompt", "prefill", node.address, *shape)
            self.assertEqual(prefilled.stdout, "published 1152 tokens \n", prefilled.stderr)
            said, told = decoder.communicate(timeout=PATIENCE_S)
            self.assertEqual(said, "followed 1152 tokens, 0 wrong values \n", told)

    # Killed, it says nothing: what has not come is late, or lost, and nothing waits longer.
    def test_a_node_that_dies_costs_no_more_than_the_deadline(self):
        blocks, timeout_s = 200, 3
        with Node(KVCAST) as node:
            self.assertEqual(self.program("share_blocks", "put", node.address, blocks).returncode, 0)
            for pause_s in [0, 0.02, 0.1]:
                with Node(KVCAST) as victim:
                    self.program("share_blocks", "put", victim.address, blocks)
                    engine = subprocess.Popen(
                        [self.folder / "build/share_blocks", "get", victim.address, str(blocks),
                         str(timeout_s * 1000)], stdout=subprocess.PIPE, text=True)
                    found = engine.stdout.readline()
                    begun = time.monotonic()
                    time.sleep(pause_s)
                    victim.process.kill()
                    said = engine.communicate(timeout=PATIENCE_S)[0]
                    self.assertIn(f"the first {blocks} of {blocks}", found)
                    # Half a second for the machine, which has other tests to run.
                    self.assertLess(time.monotonic() - begun, timeout_s + 0.5)
                    self.assertIn(", 0 wrong bytes", said)
                    ends = {line.split(": ")[1] for line in said.splitlines() if line.startswith("block")}
                    self.assertLessEqual(ends, {"loaded", "too late", "node lost", "absent"})

    # The node takes nothing more when the publication begins, and is gone before it says so.
    def test_a_publication_goes_on_at_the_next_node(self):
        blocks = 24
        tokens = list(range(1000, 1000 + blocks * BLOCK_TOKENS))
        with Node(KVCAST) as node, Node(KVCAST) as victim, \
                PromptCache(str(self.library), [victim.address, node.address], MODEL, blocks) as engine, \
                PromptCache(str(self.library), [node.address], MODEL, blocks) as reader:
            for block in range(blocks):
                engine.fill(block, made_up(engine.shape, block))
            victim.process.send_signal(signal.SIGSTOP)
            with ThreadPoolExecutor() as pool:
                publishing = pool.submit(engine.publish, tokens, rung="BF16")
                victim.process.kill()
                said = publishing.result()
            self.assertEqual((said.status, said.blocks), (0, blocks), said.reason)
            until(lambda: reader.find(tokens, rung="BF16") == blocks, "the next node does not list it")
            self.assertEqual(reader.load(tokens, rung="BF16").blocks, blocks)
            for block in range(blocks):
                self.assertEqual(reader.content(block), made_up(reader.shape, block))

    def test_a_node_that_is_not_there_is_said_so(self):
        ran = self.program("share_blocks", "get", "127.0.0.1:1#" + "0" * 64)
        self.assertEqual(ran.returncode, 2)
        self.assertIn("cannot open the store: node 127.0.0.1:1: ", ran.stderr)


if __name__ == "__main__":
    BUILD = sys.argv.pop()
    KVCAST = sys.argv.pop()
    SHAPE = [6, 2, 64]  # Layers, KV heads, values a head: as the model has them.
    unittest.main()
