"""Which files of a model's folder go into its digests, and those digests.

Follows names.md, "File digests". A folder is a dict of file names and contents; a real one would
be read file by file.
"""

import hashlib
import re

from kvcast_canonical import read_json
from kvcast_names import Refused, u32


def sha256(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()


def files_digest(folder: dict[str, bytes], names: list[str]) -> bytes:
    missing = [name for name in names if name not in folder]
    if missing or not names:
        raise Refused(f"files are missing: {missing}")
    ordered = sorted(names, key=lambda name: name.encode("utf-8"))
    digests = b"".join(sha256(folder[name]) for name in ordered)
    return sha256(b"kvcast/files/1" + u32(len(ordered)) + digests)


ADAPTER_WEIGHTS = ("adapter_model.safetensors", "new_embeddings.safetensors")
ADAPTER_FILES = {"adapter_config.json", "new_embeddings.bin", *ADAPTER_WEIGHTS}
SHARD = re.compile(r".*-[0-9]+-of-[0-9]+\.safetensors", re.DOTALL)


def weight_files(folder: dict[str, bytes], is_adapter: bool = False) -> list[str]:
    """Whether the adapter that is named lies in this folder says nothing about the weights, but
    decides what may lie there."""
    if not is_adapter and set(folder) & ADAPTER_FILES:
        raise Refused("an adapter lies beside the weights, and nobody said whether it is used")
    weights = [name for name in folder if name.endswith(".safetensors")]
    weights = [name for name in weights if name not in ADAPTER_WEIGHTS]
    # Mistral's own format: the same weights once more, which engines do not load beside others.
    counted = {name for name in weights if not name.startswith("consolidated")}
    index = folder.get("model.safetensors.index.json")
    if index is not None:
        parsed = read_json(index)
        weight_map = parsed.get("weight_map") if isinstance(parsed, dict) else None
        if not isinstance(weight_map, dict):
            raise Refused("the index has no weight_map")
        for name in weight_map.values():
            if not isinstance(name, str) or name in ("", ".", "..") or set(name) & {"/", "\0"}:
                raise Refused(f"the weight_map names {name!r}, which is not a file of the folder")
            if not name.endswith(".safetensors"):
                raise Refused(f"the weight_map names {name!r}, which holds no weights")
        named = set(weight_map.values())
        if not counted <= named:
            raise Refused("an index, and weights that it does not name")
        return list(named)
    if any(SHARD.fullmatch(name) for name in counted or weights):
        raise Refused("parts of weights without the index that names them all")
    if "model.safetensors" in folder:
        if len(counted) > 1:
            raise Refused("a model.safetensors, and other weights")
        return ["model.safetensors"]
    return weights


def tokenizer_files(folder: dict[str, bytes]) -> list[str]:
    for name in ("tokenizer.json", "tokenizer.model"):
        if name in folder:
            return [name]
    if "merges.txt" in folder and "vocab.json" in folder:
        return ["merges.txt", "vocab.json"]
    for name in ("tiktoken.model", "tekken.json"):
        if name in folder:
            return [name]
    raise Refused("no tokenizer")


def adapter_files(folder: dict[str, bytes]) -> list[str]:
    if "new_embeddings.bin" in folder:
        raise Refused("an adapter's embeddings in a format that is not read")
    config = read_json(folder.get("adapter_config.json", b"{}"))
    if not isinstance(config, dict) or config.get("peft_type") not in (None, "LORA"):
        raise Refused("the configuration is not a LoRA adapter's")
    for name in ("alora_invocation_tokens", "layer_replication"):
        if config.get(name) is not None:
            raise Refused(f"{name}: KV depends on what comes later, or there are other layers")
    embeddings = [name for name in ("new_embeddings.safetensors",) if name in folder]
    return ["adapter_config.json", "adapter_model.safetensors", *embeddings]
