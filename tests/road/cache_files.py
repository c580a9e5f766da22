"""A model and KV caches of random bytes, for tests that put and get them."""

import json
import random
import struct
from pathlib import Path

LAYERS, HEADS, DIM = 2, 8, 128  # 8 KiB of cache for each token.
BLOCK = 128


def write_model(folder: Path):
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps({
        "num_hidden_layers": LAYERS, "num_attention_heads": HEADS, "num_key_value_heads": HEADS,
        "head_dim": DIM, "hidden_size": HEADS * DIM, "torch_dtype": "bfloat16"}))
    (folder / "model.safetensors").write_bytes(struct.pack("<Q", 2) + b"{}")  # No tensors.
    (folder / "tokenizer.json").write_text("{}")


def write_cache(path: Path, tokens: int, seed: int):
    """A KV cache of random bytes, in the form that `kvcast inspect` describes."""
    header, at = {}, 0
    for layer in range(LAYERS):
        for plane in ["k", "v"]:
            size = tokens * HEADS * DIM * 2
            header[f"layers.{layer}.{plane}"] = {
                "dtype": "BF16", "shape": [tokens, HEADS, DIM], "data_offsets": [at, at + size]}
            at += size
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + random.Random(seed).randbytes(at))


def write_prompt(folder: Path, name: str, tokens: int, seed: int):
    (folder / f"{name}.tokens").write_text(" ".join(str(seed + i) for i in range(tokens)))
    write_cache(folder / f"{name}.safetensors", tokens, seed)


def values(path: Path) -> bytes:
    data = path.read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    return data[8 + length:]
