#!/usr/bin/env python3
"""How much of what a node can send does a load leave, once it is checked, decoded and in an engine's pages?

    bench/loads.py [--rounds 5] [--blocks 24] [--rungs BF16 AC] [--build bench]

A node and an engine (libkvcast), a process each, over loopback. The engine publishes a prompt of Llama-3-8B's shape and
loads it again and again, one rung after the other, in turn with

    fetch_meter     one FETCH of as many bytes from a node that has them in memory: what the network gives. Nothing is
                    decoded, and what comes is thrown away.
    kvcast rungs    decodes the same blocks on one core, with nothing beside it.

Of a rung that is as it lies in pages (BF16) at least 0.85 of the FETCH is wanted; of one that is decoded (AC) at least
0.8 of the lesser of decoding and network, both in bytes of KV. Ratios are of medians, rounds interleaved. Build first:
cmake --preset bench && cmake --build build/bench.
"""

import argparse
import json
import random
import resource
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

from fetch import ROOT, Node as Meter, cpu_seconds, median, program

sys.path.insert(0, str(ROOT / "tests/road"))
from node_process import Node, until  # noqa: E402
from prompt_cache import BLOCK_TOKENS, PromptCache, Shape  # noqa: E402

SHAPE = Shape(layers=32, heads=8, head_size=128)
CONFIG = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 4096, "intermediate_size": 14336,
          "num_hidden_layers": SHAPE.layers, "num_attention_heads": 32, "num_key_value_heads": SHAPE.heads,
          "head_dim": SHAPE.head_size, "max_position_embeddings": 8192, "rope_theta": 500000.0, "rms_norm_eps": 1e-5,
          "torch_dtype": "bfloat16", "vocab_size": 128256, "tie_word_embeddings": False}
RAW = "BF16"
DATAGRAM = 65000  # As nodes send them over loopback.


def write_tensors(path: Path, tensors: dict[str, tuple[list[int], bytes]]):
    header, at = {}, 0
    for name, (shape, data) in tensors.items():
        header[name] = {"dtype": "BF16", "shape": shape, "data_offsets": [at, at + len(data)]}
        at += len(data)
    text = json.dumps(header).encode()
    with path.open("wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for _, data in tensors.values():
            file.write(data)


def make_model(folder: Path):
    """What a name is made of; nobody computes with it."""
    (folder / "config.json").write_text(json.dumps(CONFIG))
    (folder / "tokenizer.json").write_text('{"version": "1.0"}')
    write_tensors(folder / "model.safetensors", {"lm_head.weight": ([1, 8], bytes(16))})


def numbers(seed: int) -> bytes:
    """A plane of a block as BF16: sums of four, so that small ones are as much more frequent as they are in caches."""
    chance = random.Random(seed)
    count = SHAPE.plane_bytes // 2
    sums = [0.0] * count
    for _ in range(4):
        drawn = struct.unpack(f"<{count}H", chance.randbytes(2 * count))
        sums = [each + part / 32768 - 1 for each, part in zip(sums, drawn)]
    return b"".join(struct.pack("<f", value)[2:] for value in sums)


def block_of(planes: list[bytes], index: int) -> bytes:
    """Others for every block, and another one in each layer."""
    return b"".join(planes[(index * 7 + i) % len(planes)] for i in range(2 * SHAPE.layers))


def write_cache(path: Path, planes: list[bytes], blocks: int):
    contents = [block_of(planes, block) for block in range(blocks)]
    size, tensors = SHAPE.plane_bytes, {}
    for i in range(2 * SHAPE.layers):
        data = b"".join(content[i * size:(i + 1) * size] for content in contents)
        tensors[f"layers.{i // 2}.{'kv'[i % 2]}"] = ([blocks * BLOCK_TOKENS, SHAPE.heads, SHAPE.head_size], data)
    write_tensors(path, tensors)


class Engine:
    def __init__(self, args, node: Node, folder: Path, planes: list[bytes]):
        self.node = node
        self.cache = PromptCache(program("libkvcast.so", args.build), [node.address], folder, args.blocks, shape=SHAPE)
        chance = random.Random(7)
        self.tokens = [chance.randrange(128256) for _ in range(args.blocks * BLOCK_TOKENS)]
        for block in range(args.blocks):
            self.cache.fill(block, block_of(planes, block))
        for rung in args.rungs:
            said = self.cache.publish(self.tokens, rung=rung)
            if said.blocks != args.blocks:
                raise SystemExit(f"bench: {rung} is not published: {said}")
            until(lambda: self.cache.find(self.tokens, rung=rung, best=rung) == args.blocks, "the node does not list it")
            self.load(rung)  # The way is known from here on.

    def load(self, rung: str) -> tuple[float, float, float, float]:
        """Bytes of KV a second, bytes on the wire a second, and CPU seconds per GB of KV of the node and of the engine."""
        usage = resource.getrusage(resource.RUSAGE_SELF)
        node, engine = cpu_seconds(self.node.process.pid), usage.ru_utime + usage.ru_stime
        said = self.cache.load(self.tokens, rung=rung, best=rung)
        if said.blocks != self.cache.blocks:
            raise SystemExit(f"bench: {rung} did not come: {said}")
        usage = resource.getrusage(resource.RUSAGE_SELF)
        size = SHAPE.block_bytes * said.blocks
        return (size / said.seconds, said.bytes / said.seconds, (cpu_seconds(self.node.process.pid) - node) / size * 1e9,
                (usage.ru_utime + usage.ru_stime - engine) / size * 1e9)


def decode(args, cache: Path, calibration: Path) -> dict[str, float]:
    """Bytes of KV a second that one core decodes, by rung."""
    told = subprocess.run([program("kvcast", args.build), "rungs", "--calibration", calibration, "--json", cache], check=True,
                          capture_output=True, text=True).stdout
    return {row["rung"]: row["decode_bytes_per_s"] for row in json.loads(told)["rungs"]}


def report(args, fetches, loads, decoded) -> int:
    fetch = median(fetches)[0]
    print(f"{args.blocks} blocks of 16 MiB, {args.rounds} rounds; a FETCH of raw bytes {fetch / 1e9:.2f} GB/s "
          f"({min(each[0] for each in fetches) / 1e9:.2f} to {max(each[0] for each in fetches) / 1e9:.2f})")
    good = True
    for rung in args.rungs:
        kv, wire, node, engine = median(loads[rung])
        decoding = median(decoded[rung])[0]
        network = fetch * kv / wire  # In bytes of KV.
        limit, wanted = (network, 0.85) if rung == RAW else (min(network, decoding), 0.8)
        good &= kv / limit >= wanted
        print(f"{rung:14} loads {kv / 1e9:5.2f} GB/s of KV ({min(each[0] for each in loads[rung]) / 1e9:.2f} to "
              f"{max(each[0] for each in loads[rung]) / 1e9:.2f}), {wire / 1e9:.2f} on the wire; network {network / 1e9:.2f}, decoding "
              f"{decoding / 1e9:.2f}; {kv / limit:.2f} of {'the network' if limit == network else 'decoding'}, wanted {wanted}; "
              f"CPU s/GB of node {node:.2f}, engine {engine:.2f}", flush=True)
    return 0 if good else 1


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--blocks", type=int, default=24)
    parser.add_argument("--rungs", nargs="+", default=[RAW, "AC"])
    parser.add_argument("--build", default="bench")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder, cache = Path(scratch) / "model", Path(scratch) / "cache.safetensors"
        folder.mkdir()
        make_model(folder)
        calibration = folder / "model.kvcal"  # Where engines look for it.
        planes = [numbers(seed) for seed in range(8)]
        write_cache(cache, planes, 2)
        subprocess.run([program("kvcast", args.build), "calibrate", "--model", folder, cache, "-o", calibration], check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        mib = SHAPE.block_bytes * args.blocks >> 20
        loads, fetches, decoded = {rung: [] for rung in args.rungs}, [], {rung: [] for rung in args.rungs}
        with Node(program("kvcast", args.build), "--ram", f"{2 * mib + 512}MiB") as node:
            engine = Engine(args, node, folder, planes)
            meter = Meter(program("fetch_meter", args.build), mib, DATAGRAM, "distance", "fast")
            for _ in range(args.rounds):
                fetches.append(meter.fetch())
                speeds = decode(args, cache, calibration)
                for rung in args.rungs:
                    loads[rung].append(engine.load(rung))
                    decoded[rung].append([speeds[rung]])
            meter.stop()
    return report(args, fetches, loads, decoded)


if __name__ == "__main__":
    sys.exit(main())
