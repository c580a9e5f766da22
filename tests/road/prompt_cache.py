"""An engine that keeps its prompts' KV in a node, through libkvcast's C interface: kvcast/kvcast_cache.h says what each thing
means. What its pages hold is made up."""

import ctypes
import json
import random
import time
from ctypes import POINTER, byref, c_char, c_char_p, c_int32, c_int64, c_size_t, c_uint32, c_uint64, c_void_p
from dataclasses import dataclass
from pathlib import Path

IN_MEMORY, ON_DISK = range(2)
LOADED = 1
PAGE_TOKENS = 16
BLOCK_TOKENS = 128


class _Node(ctypes.Structure):
    _fields_ = [("struct_size", c_size_t), ("address", c_char_p), ("authorities", c_char_p), ("certificate", c_char_p),
                ("certificate_key", c_char_p), ("token", c_char_p), ("tenant", c_char_p), ("naming_key", c_void_p),
                ("patience_ms", c_int64), ("index_bytes_max", c_uint64), ("others", POINTER(c_char_p)),
                ("other_count", c_size_t)]


class _Model(ctypes.Structure):
    _fields_ = [("struct_size", c_size_t), ("folder", c_char_p), ("name", c_char_p), ("adapter", c_char_p),
                ("kv_dtype", c_char_p), ("calibration", c_char_p), ("block_tokens", c_uint32)]


class _Layer(ctypes.Structure):
    _fields_ = [("key", c_void_p), ("key_bytes", c_size_t), ("value", c_void_p), ("value_bytes", c_size_t)]


class _Pages(ctypes.Structure):
    _fields_ = [("struct_size", c_size_t), ("layers", POINTER(_Layer)), ("layer_size", c_size_t),
                ("layer_count", c_size_t), ("page_tokens", c_uint32), ("page_count", c_uint32), ("order", c_int32),
                ("placement", c_int32), ("values", c_int32)]


class _Prompt(ctypes.Structure):
    _fields_ = [("struct_size", c_size_t), ("tokens", POINTER(c_uint32)), ("token_count", c_size_t),
                ("pages", POINTER(c_uint32)), ("page_count", c_size_t), ("salt", c_void_p), ("salt_bytes", c_size_t)]


class _Terms(ctypes.Structure):
    _fields_ = [("struct_size", c_size_t), ("timeout_us", c_int64), ("compute_block_us", c_int64), ("rung", c_char_p),
                ("durability", c_int32), ("follow_us", c_int64), ("begin_us", c_int64), ("expected_tokens", c_uint64),
                ("generation", c_void_p), ("skip_tokens", c_uint64), ("tag", c_uint64), ("room_tokens", c_uint64),
                ("best_rung", c_char_p)]


class _Report(ctypes.Structure):
    _fields_ = [("struct_size", c_size_t), ("blocks", c_uint64), ("tokens", c_uint64), ("bytes", c_uint64),
                ("held", c_uint64), ("status", c_int32), ("reason", c_char * 256), ("live", c_uint64)]


class _Block(ctypes.Structure):
    _fields_ = [("status", c_int32), ("zero", c_int32), ("rung", c_char_p), ("why", c_char * 232)]


@dataclass
class Said:
    """What a call came to, and how long it took."""
    blocks: int
    bytes: int
    held: int
    status: int
    reason: str
    seconds: float
    rungs: list[str]  # Of a load: at which each of the blocks came.


@dataclass(frozen=True)
class Shape:
    layers: int
    heads: int
    head_size: int

    @classmethod
    def of(cls, folder: Path) -> "Shape":
        config = json.loads((folder / "config.json").read_text())
        return cls(config["num_hidden_layers"], config["num_key_value_heads"], config["head_dim"])

    @property
    def plane_bytes(self) -> int:
        """Of a block, of one layer's K or V."""
        return BLOCK_TOKENS * self.heads * self.head_size * 2

    @property
    def block_bytes(self) -> int:
        return self.plane_bytes * 2 * self.layers


# High bytes of BF16 numbers as caches have them: of either sign, and near 1.
_HIGH = bytes((byte & 0x80) | (0x3f if byte & 3 else 0x3e) for byte in range(256))


def made_up(shape: Shape, seed: int) -> bytes:
    """A block of numbers, the same for the same seed."""
    chance = random.Random(seed)
    block = bytearray(shape.block_bytes)
    block[0::2] = chance.randbytes(len(block) // 2)
    block[1::2] = chance.randbytes(len(block) // 2).translate(_HIGH)
    return bytes(block)


class PromptCache:
    """with PromptCache(library, [address], folder, blocks) as cache: pages for so many blocks, which lie one after the other."""

    def __init__(self, library: str, addresses: list[str], folder: Path, blocks: int, *, patience_ms: int = 60_000,
                 name: str = "", shape: Shape | None = None):
        self.library = ctypes.CDLL(library)
        self.library.kvcast_message.restype = c_char_p
        self.shape = shape or Shape.of(folder)
        self.blocks = blocks
        self.planes = [bytearray(self.shape.plane_bytes * blocks) for _ in range(2 * self.shape.layers)]
        self._pinned = [(c_char * len(plane)).from_buffer(plane) for plane in self.planes]
        size = self.shape.plane_bytes * blocks
        layers = (_Layer * self.shape.layers)(*[
            _Layer(ctypes.addressof(key), size, ctypes.addressof(value), size)
            for key, value in zip(self._pinned[0::2], self._pinned[1::2])])
        others = (c_char_p * len(addresses[1:]))(*[address.encode() for address in addresses[1:]])
        node = _Node(ctypes.sizeof(_Node), address=addresses[0].encode(), patience_ms=patience_ms, others=others,
                     other_count=len(others))
        model = _Model(ctypes.sizeof(_Model), str(folder).encode(), name.encode() or None)
        pages = _Pages(ctypes.sizeof(_Pages), layers, ctypes.sizeof(_Layer), self.shape.layers, PAGE_TOKENS,
                       blocks * BLOCK_TOKENS // PAGE_TOKENS)
        self._cache = c_void_p()
        self._call("kvcast_cache_open", byref(node), byref(model), byref(pages), byref(self._cache))

    def _call(self, name, *arguments) -> int:
        code = getattr(self.library, name)(*arguments)
        if code < 0:
            raise RuntimeError(f"{name}: {self.library.kvcast_message().decode()}")
        return code

    def _prompt(self, tokens: list[int]) -> _Prompt:
        pages = len(tokens) // PAGE_TOKENS
        return _Prompt(ctypes.sizeof(_Prompt), (c_uint32 * len(tokens))(*tokens), len(tokens),
                       (c_uint32 * pages)(*range(pages)), pages)

    @staticmethod
    def _terms(timeout_s, compute_s=0.0, rung="", best="", durability=IN_MEMORY) -> _Terms:
        return _Terms(ctypes.sizeof(_Terms), int(timeout_s * 1e6), int(compute_s * 1e6), rung.encode() or None,
                      durability, best_rung=best.encode() or None)

    @staticmethod
    def _said(report: _Report, begun: float, rungs=()) -> Said:
        return Said(report.blocks, report.bytes, report.held, report.status, report.reason.decode(errors="replace"),
                    time.monotonic() - begun, list(rungs))

    def find(self, tokens: list[int], rung: str = "", best: str = "") -> int:
        """How many of a prompt's blocks are known to be somewhere."""
        report = _Report(ctypes.sizeof(_Report))
        self._call("kvcast_cache_find", self._cache, byref(self._prompt(tokens)),
                   byref(self._terms(1, rung=rung, best=best)), byref(report))
        return report.blocks

    def publish(self, tokens: list[int], timeout_s: float = 60, rung: str = "", durability: int = IN_MEMORY) -> Said:
        report = _Report(ctypes.sizeof(_Report))
        begun = time.monotonic()
        self._call("kvcast_cache_publish", self._cache, byref(self._prompt(tokens)),
                   byref(self._terms(timeout_s, rung=rung, durability=durability)), byref(report))
        return self._said(report, begun)

    def load(self, tokens: list[int], timeout_s: float = 60, compute_s: float = 0, rung: str = "", best: str = "") -> Said:
        """Into the first pages. Only the call itself is timed."""
        report = _Report(ctypes.sizeof(_Report))
        blocks, count = (_Block * (len(tokens) // BLOCK_TOKENS))(), c_size_t(len(tokens) // BLOCK_TOKENS)
        prompt, terms = self._prompt(tokens), self._terms(timeout_s, compute_s, rung, best)
        load = self.library.kvcast_cache_load_blocks
        begun = time.monotonic()
        code = load(self._cache, byref(prompt), byref(terms), byref(report), blocks,
                    c_size_t(ctypes.sizeof(_Block)), byref(count))
        said = self._said(report, begun, ((block.rung or b"").decode() for block in blocks[:report.blocks]))
        if code < 0:
            raise RuntimeError(f"load: {self.library.kvcast_message().decode()}")
        return said

    @property
    def connected(self) -> bool:
        return bool(self.library.kvcast_cache_connected(self._cache))

    def fill(self, block: int, content: bytes):
        """Content of a block as if this engine had computed it."""
        size = self.shape.plane_bytes
        for i, plane in enumerate(self.planes):
            plane[block * size:(block + 1) * size] = content[i * size:(i + 1) * size]

    def content(self, block: int) -> bytes:
        size = self.shape.plane_bytes
        return b"".join(plane[block * size:(block + 1) * size] for plane in self.planes)

    def __enter__(self):
        return self

    def __exit__(self, *raised):
        self.library.kvcast_cache_close(self._cache)
