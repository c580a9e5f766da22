"""KV caches as safetensors files. Follows kv-files.md."""

import hashlib
import json
import re
from dataclasses import dataclass, field

from kvcast_canonical import read_json
from kvcast_names import MAX_HEADS, MAX_LAYERS, RUNGS, Reader, Refused, check_model_name, read_slice, u64

VALUE_BYTES = {"BF16": 2, "F16": 2, "F32": 4}
MAX_HEADER_BYTES = 16 << 20
MAX_TENSOR_NAME_BYTES = 256
MAX_TENSORS = 65536
MAX_SIZE = 65536
MAX_TOKENS = 2**32 - 1
METADATA = "__metadata__"


@dataclass(frozen=True)
class Layer:
    """A layer's shape. `heads` has K and V apart, `latent` one tensor, as MLA keeps it."""

    kind: str
    kv_heads: int
    key_size: int
    value_size: int  # 0 for latent

    def tensors(self, tokens: int) -> dict[str, list[int]]:
        """The ends of the tensors' names, and their shapes."""
        if self.kind == "latent":
            return {"kv": [tokens, self.key_size]}
        return {
            "k": [tokens, self.kv_heads, self.key_size],
            "v": [tokens, self.kv_heads, self.value_size],
        }


@dataclass
class KvFile:
    dtype: str
    tokens: int
    layers: list[Layer]
    data: list[dict[str, bytes]]  # of each layer, by the ends of the tensors' names
    metadata: dict[str, str] = field(default_factory=dict)


def _product(shape: list[int]) -> int:
    product = 1
    for extent in shape:
        product *= extent
    return product


def _check_range(value: int, high: int, what: str) -> None:
    if not 1 <= value <= high:
        raise Refused(f"{what}: {value} is not from 1 to {high}")


def _check(file: KvFile) -> None:
    """What holds of a file whether it is read or written."""
    if file.dtype not in VALUE_BYTES:
        raise Refused(f"values of type {file.dtype!r}")
    _check_range(file.tokens, MAX_TOKENS, "tokens")
    _check_range(len(file.layers), MAX_LAYERS, "layers")
    for layer in file.layers:
        _check_range(layer.kv_heads, MAX_HEADS, "KV heads")
        _check_range(layer.key_size, MAX_SIZE, "key size")
        if layer.kind == "heads":
            _check_range(layer.value_size, MAX_SIZE, "value size")
        elif layer.kind != "latent" or layer.kv_heads != 1 or layer.value_size != 0:
            raise Refused(f"a layer that is not one: {layer}")
    _check_metadata(file.metadata, file.tokens)
    if "kvcast.slice" in file.metadata:
        _check_slice(file.metadata["kvcast.slice"], file.layers)


def _check_slice(text: str, held: list[Layer]) -> None:
    """The file has as many layers as the slice names, and each as many KV heads."""
    layers, heads = read_slice(text)
    if layers is None and heads is None:
        raise Refused("kvcast.slice names no part of a cache")
    if layers is not None and len(held) != layers[1] - layers[0] + 1:
        raise Refused(f"{len(held)} layers in a file of {text}")
    if heads is not None:
        for layer in held:
            if layer.kind == "latent" or layer.kv_heads != heads[1] - heads[0] + 1:
                raise Refused(f"a layer of {layer.kv_heads} KV heads in a file of {text}")


def _check_prompt(metadata: dict, tokens: int) -> None:
    """As many ids as there are tokens, and those that the digest is of."""
    text = metadata["kvcast.prompt"]
    if not re.fullmatch(r"(?:0|[1-9][0-9]{0,9})(?: (?:0|[1-9][0-9]{0,9}))*", text):
        raise Refused("kvcast.prompt is not a list of ids")
    ids = [int(digits) for digits in text.split(" ")]
    if max(ids) >= 2**32:
        raise Refused("kvcast.prompt has an id beyond 32 bits")
    digest = hashlib.sha256(b"".join(token.to_bytes(4, "little") for token in ids)).hexdigest()
    if len(ids) != tokens or metadata.get("kvcast.tokens_sha256", digest) != digest:
        raise Refused("kvcast.prompt is not of these tokens")


def _check_inputs(text: str, tokens: int) -> None:
    """Inputs among so many tokens, by rising positions."""
    one = r"(0|[1-9][0-9]{0,9})=[0-9a-f]{64}"
    if text and not re.fullmatch(f"{one}(?: {one})*", text):
        raise Refused("kvcast.inputs is not a list of inputs")
    positions = [int(each.split("=")[0]) for each in text.split(" ") if each]
    if positions != sorted(set(positions)) or any(position >= tokens for position in positions):
        raise Refused("kvcast.inputs has inputs twice at a token, or behind the last")


def _check_metadata(metadata: dict, tokens: int) -> None:
    if not all(isinstance(value, str) for value in metadata.values()):
        raise Refused("metadata that is not a string")
    if "kvcast.model" in metadata:
        check_model_name(metadata["kvcast.model"])
    if not re.fullmatch(r"[0-9a-f]{64}", metadata.get("kvcast.model_fp", "0" * 64)):
        raise Refused("kvcast.model_fp is not 64 hex digits")
    if not re.fullmatch(r"[0-9a-f]{64}", metadata.get("kvcast.tokens_sha256", "0" * 64)):
        raise Refused("kvcast.tokens_sha256 is not 64 hex digits")
    if not re.fullmatch(r"[0-9a-f]{8}", metadata.get("kvcast.values_crc32c", "0" * 8)):
        raise Refused("kvcast.values_crc32c is not 8 hex digits")
    if "kvcast.prompt" in metadata:
        _check_prompt(metadata, tokens)
    _check_inputs(metadata.get("kvcast.inputs", ""), tokens)
    if not re.fullmatch(r"[0-9a-f]{64}", metadata.get("kvcast.salt_sha256", "0" * 64)):
        raise Refused("kvcast.salt_sha256 is not 64 hex digits")
    if metadata.get("kvcast.rung", RUNGS[0]) not in RUNGS:
        raise Refused("kvcast.rung is no rung")
    if metadata.get("kvcast.tokens", str(tokens)) != str(tokens):
        raise Refused("kvcast.tokens is not how many there are")
    if metadata.get("kvcast.rope", "applied") != "applied":
        raise Refused("K is not stored as attention reads it")


# ---- Writing ----------------------------------------------------------------------------------


def write(file: KvFile) -> bytes:
    _check(file)
    header: dict[str, object] = {}
    if file.metadata:
        ordered = sorted(file.metadata.items(), key=lambda item: item[0].encode("utf-8"))
        header[METADATA] = dict(ordered)
    data = b""
    for index, (layer, parts) in enumerate(zip(file.layers, file.data, strict=True)):
        for end, shape in layer.tensors(file.tokens).items():
            begin = len(data)
            data += parts[end]
            if len(parts[end]) != _product(shape) * VALUE_BYTES[file.dtype]:
                raise Refused(f"layers.{index}.{end} has {len(parts[end])} bytes")
            header[f"layers.{index}.{end}"] = {
                "dtype": file.dtype,
                "shape": shape,
                "data_offsets": [begin, len(data)],
            }
    # Without spaces, and with no escapes but those that JSON demands.
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode("utf-8")
    text += b" " * (-len(text) % 8)
    if len(text) > MAX_HEADER_BYTES:
        raise Refused("the header is too long")
    return u64(len(text)) + text + data


# ---- Reading ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Tensor:
    dtype: str
    shape: tuple[int, ...]
    begin: int
    end: int


def _whole_numbers(value, what: str) -> list[int]:
    if not isinstance(value, list) or not all(type(item) is int and item >= 0 for item in value):
        raise Refused(f"{what} is not a list of whole numbers")
    return value


def _tensor(name: str, entry) -> Tensor:
    if not isinstance(entry, dict) or set(entry) != {"dtype", "shape", "data_offsets"}:
        raise Refused(f"{name} does not have dtype, shape and data_offsets alone")
    dtype = entry["dtype"]
    if not isinstance(dtype, str) or dtype not in VALUE_BYTES:
        raise Refused(f"{name} has values of type {dtype!r}")
    shape = _whole_numbers(entry["shape"], "a shape")
    offsets = _whole_numbers(entry["data_offsets"], "data_offsets")
    if len(offsets) != 2 or offsets[1] - offsets[0] != _product(shape) * VALUE_BYTES[dtype]:
        raise Refused(f"{name} lies where it does not fit")
    return Tensor(dtype, tuple(shape), *offsets)


def _check_places(tensors: list[Tensor], size: int) -> None:
    """Tensors fill the data from end to end. None is empty, so this order is the only one."""
    at = 0
    for tensor in sorted(tensors, key=lambda tensor: tensor.begin):
        if tensor.begin != at:
            raise Refused("tensors leave a hole or overlap")
        at = tensor.end
    if at != size:
        raise Refused(f"tensors have {at} bytes of {size}")


def _check_queries(ends: dict[str, Tensor], layer: Layer) -> None:
    """Queries may stand beside a layer's tensors, and must fit its K."""
    if "q" not in ends:
        return
    shape = ends["q"].shape
    if len(shape) != 3 or not all(1 <= size <= MAX_HEADS for size in shape[1:]):
        raise Refused("queries are not [tokens, heads, size]")
    _check_range(layer.kv_heads, MAX_HEADS, "KV heads")
    if layer.kind == "heads" and (shape[1] % layer.kv_heads or shape[2] != layer.key_size):
        raise Refused("queries do not fit the layer's K")


def _layer(every_end: dict[str, Tensor]) -> Layer:
    ends = {end: tensor for end, tensor in every_end.items() if end != "q"}
    layer = _cached(ends)
    _check_queries(every_end, layer)
    return layer


def _cached(ends: dict[str, Tensor]) -> Layer:
    if set(ends) == {"kv"} and len(ends["kv"].shape) == 2:
        return Layer("latent", 1, ends["kv"].shape[1], 0)
    if set(ends) == {"k", "v"} and len(ends["k"].shape) == len(ends["v"].shape) == 3:
        (_, heads, key_size), (_, v_heads, value_size) = ends["k"].shape, ends["v"].shape
        if heads == v_heads:
            return Layer("heads", heads, key_size, value_size)
    raise Refused("a layer is neither K and V with the same heads nor a latent")


def read(content: bytes) -> KvFile:
    reader = Reader(content)
    header_bytes = int.from_bytes(reader.take(8), "little")
    if header_bytes > MAX_HEADER_BYTES:
        raise Refused(f"a header of {header_bytes} bytes")
    text = reader.take(header_bytes)
    data = reader.take(reader.left())
    if not text.startswith(b"{"):
        raise Refused("a header does not begin with {")
    header = read_json(text)
    metadata = header.pop(METADATA, {})
    if not isinstance(metadata, dict):
        raise Refused("metadata that is not an object")
    if len(header) > MAX_TENSORS:
        raise Refused(f"{len(header)} tensors")

    by_layer: dict[int, dict[str, Tensor]] = {}
    for name, entry in header.items():
        if len(name.encode("utf-8")) > MAX_TENSOR_NAME_BYTES:
            raise Refused("a tensor's name is too long")
        found = re.fullmatch(r"layers\.(0|[1-9][0-9]{0,4})\.(k|v|kv|q)", name)
        if not found:
            raise Refused(f"{name!r} is not a KV cache's tensor")
        by_layer.setdefault(int(found[1]), {})[found[2]] = _tensor(name, entry)
    if sorted(by_layer) != list(range(len(by_layer))) or not by_layer:
        raise Refused("layers are missing")
    places = [by_layer[index] for index in range(len(by_layer))]
    tensors = [tensor for ends in places for tensor in ends.values()]
    if len({tensor.dtype for tensor in tensors}) != 1:
        raise Refused("values of several types")
    layers = [_layer(ends) for ends in places]
    if len({tensor.shape[0] for tensor in tensors}) != 1:
        raise Refused("layers with other numbers of tokens")
    file = KvFile(
        tensors[0].dtype,
        tensors[0].shape[0],
        layers,
        [
            {end: data[part.begin : part.end] for end, part in ends.items() if end != "q"}
            for ends in places
        ],
        metadata,
    )
    _check(file)  # from here on no tensor is empty
    _check_places(tensors, len(data))
    return file
