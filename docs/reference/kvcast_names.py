"""The names of kvcast: MoQT's integers, track names and properties, prefix hashes and tracks.

Follows names.md section by section; kvcast_canonical.py, kvcast_config.py, kvcast_model.py and
kvcast_model_files.py hold the sections on canonical values and models. Whatever does not conform
raises Refused.
"""

import hashlib
import hmac
import re
import struct
from dataclasses import dataclass


class Refused(ValueError):
    """The input is not something this contract has a meaning for."""


def u32(value: int) -> bytes:
    if not 0 <= value < 2**32:
        raise Refused(f"{value} is not a u32")
    return struct.pack("<I", value)


def u64(value: int) -> bytes:
    if not 0 <= value < 2**64:
        raise Refused(f"{value} is not a u64")
    return struct.pack("<Q", value)


def exactly(size: int, value: bytes, what: str) -> bytes:
    if len(value) != size:
        raise Refused(f"{what} has {len(value)} bytes and not {size}")
    return value


# ---- vi64 -------------------------------------------------------------------------------------


def vi64(value: int) -> bytes:
    """The shortest form: n bytes after the first leave 7 * (n + 1) bits; eight leave all 64."""
    if not 0 <= value < 2**64:
        raise Refused(f"{value} does not fit a vi64")
    for following in range(8):
        if value < 1 << (7 * (following + 1)):
            ones = (0xFF00 >> following) & 0xFF
            return (value | ones << (8 * following)).to_bytes(following + 1, "big")
    return b"\xff" + value.to_bytes(8, "big")


class Reader:
    """Bytes, and how many of them have been read."""

    def __init__(self, data: bytes, at: int = 0):
        self.data = data
        self.at = at

    def left(self) -> int:
        return len(self.data) - self.at

    def take(self, size: int) -> bytes:
        if size > self.left():
            raise Refused("the bytes end too early")
        self.at += size
        return self.data[self.at - size : self.at]

    def vi64(self) -> int:
        first = self.take(1)[0]
        following = 0
        while following < 8 and first & (0x80 >> following):
            following += 1
        high = first & (0x7F >> following)
        return high << (8 * following) | int.from_bytes(self.take(following), "big")

    def end(self) -> None:
        if self.left():
            raise Refused(f"{self.left()} bytes are left over")


# ---- Track names as MoQT has them -------------------------------------------------------------

MAX_FIELDS = 32
MAX_NAME_BYTES = 4096
_PLAIN = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")


@dataclass(frozen=True)
class TrackName:
    """A full track name: namespace fields and the track's name. The name alone may be empty."""

    fields: tuple[bytes, ...]
    name: bytes

    def __post_init__(self):
        if len(self.fields) > MAX_FIELDS:
            raise Refused(f"a namespace has {len(self.fields)} fields")
        if not all(self.fields):
            raise Refused("a namespace field is empty")
        if sum(map(len, self.fields)) + len(self.name) > MAX_NAME_BYTES:
            raise Refused("a track name is too long")

    def wire(self) -> bytes:
        out = vi64(len(self.fields))
        for part in (*self.fields, self.name):
            out += vi64(len(part)) + part
        return out

    def rendered(self) -> str:
        return "-".join(map(_escape, self.fields)) + "--" + _escape(self.name)


def read_track_name(reader: Reader) -> TrackName:
    count = reader.vi64()
    if count > MAX_FIELDS:
        raise Refused(f"a namespace has {count} fields")
    parts = [reader.take(reader.vi64()) for _ in range(count + 1)]
    return TrackName(tuple(parts[:-1]), parts[-1])


def track_name_from_wire(data: bytes) -> TrackName:
    reader = Reader(data)
    name = read_track_name(reader)
    reader.end()
    return name


def _escape(data: bytes) -> str:
    return "".join(chr(byte) if byte in _PLAIN else f".{byte:02x}" for byte in data)


def _unescape(text: str) -> bytes:
    if not re.fullmatch(r"([a-zA-Z0-9_]|\.[0-9a-f]{2})*", text):
        raise Refused(f"{text!r} is not how a name is rendered")
    data = re.sub(r"\.(..)", lambda found: chr(int(found[1], 16)), text).encode("latin-1")
    if _escape(data) != text:
        raise Refused(f"{text!r} escapes what stands for itself")
    return data


def track_name_from_rendered(text: str) -> TrackName:
    """Parts escape their hyphens and no field is empty, so the first `--` is the only one."""
    namespace, separator, name = text.partition("--")
    if not separator:
        raise Refused("a rendered name has no --")
    fields = namespace.split("-") if namespace else []
    return TrackName(tuple(map(_unescape, fields)), _unescape(name))


# ---- Properties -------------------------------------------------------------------------------

IMMUTABLE_PROPERTIES = 0x0B
BLOCK_HASH = 0x3801
MAX_PROPERTY_BYTES = 65535

Property = tuple[int, int | bytes]  # type and value: an int if the type is even, else bytes


def write_properties(properties: list[Property]) -> bytes:
    out = b""
    previous = 0
    for kind, value in properties:
        if kind < previous:
            raise Refused("property types fall")
        if isinstance(value, bytes) != bool(kind % 2):
            raise Refused(f"property {kind:#x} has a value of the wrong kind")
        out += vi64(kind - previous)
        previous = kind
        if isinstance(value, int):
            out += vi64(value)
        elif len(value) <= MAX_PROPERTY_BYTES:
            out += vi64(len(value)) + value
        else:
            raise Refused(f"property {kind:#x} has {len(value)} bytes")
    read_properties(out)  # Nothing is written that is not read again.
    return out


def read_properties(data: bytes, inside_immutable: bool = False) -> list[Property]:
    """Refused too: immutable properties that stand twice, within others, or do not parse."""
    reader = Reader(data)
    properties: list[Property] = []
    kind = 0
    immutable = 0
    while reader.left():
        kind += reader.vi64()
        if kind >= 2**64:
            raise Refused("a property's type is beyond 64 bits")
        value: int | bytes = reader.vi64()
        if kind % 2:
            if value > MAX_PROPERTY_BYTES:
                raise Refused(f"property {kind:#x} has {value} bytes")
            value = reader.take(value)
        if kind == IMMUTABLE_PROPERTIES:
            immutable += 1
            if inside_immutable or immutable > 1:
                raise Refused("immutable properties stand twice or within others")
            read_properties(value, inside_immutable=True)
        properties.append((kind, value))
    return properties


def block_hash_properties(block_hash: bytes) -> bytes:
    """The properties of a group's first object."""
    inner = write_properties([(BLOCK_HASH, exactly(32, block_hash, "a block's hash"))])
    return write_properties([(IMMUTABLE_PROPERTIES, inner)])


def block_hash_of(properties: bytes) -> bytes:
    """The block's hash among the properties of a group's first object."""
    hashes = []
    for kind, value in read_properties(properties):
        if kind == IMMUTABLE_PROPERTIES:
            hashes += [inner for kind, inner in read_properties(value) if kind == BLOCK_HASH]
    if len(hashes) != 1:
        raise Refused(f"an object has {len(hashes)} block hashes")
    return exactly(32, hashes[0], "a block's hash")


# ---- Tenants and keys -------------------------------------------------------------------------

PUBLIC = "public"
PUBLIC_KEY = hashlib.sha256(b"kvcast/public/1").digest()


def check_tenant(tenant: str) -> str:
    if not re.fullmatch(r"[a-z0-9-]{1,64}", tenant):
        raise Refused(f"{tenant!r} is not a tenant")
    return tenant


def check_model_name(name: str) -> str:
    if not re.fullmatch(r"[!-?A-~]{1,255}", name):  # printable ASCII without space and @
        raise Refused(f"{name!r} is not a model name")
    return name


# ---- Prefix chain -----------------------------------------------------------------------------

MAX_HASH_BYTES = 1024
MAX_SALT_BYTES = 1024


class PrefixChain:
    """Grows by one block at a time; `last` is d_i for the i blocks so far."""

    def __init__(self, key: bytes, model_fp: bytes, salt: bytes = b""):
        self.key = exactly(32, key, "a naming key")
        self.length = 0
        if len(salt) > MAX_SALT_BYTES:
            raise Refused(f"a salt has {len(salt)} bytes")
        exactly(32, model_fp, "a model's fingerprint")
        self.last = self._hmac(b"\x00" + model_fp + u32(len(salt)) + salt)

    def _hmac(self, message: bytes) -> bytes:
        return hmac.new(self.key, message, hashlib.sha256).digest()

    def _extend(self, kind: bytes, rest: bytes) -> bytes:
        self.length += 1
        self.last = self._hmac(kind + self.last + u64(self.length) + rest)
        return self.last

    def add_tokens(self, tokens: list[int], inputs: list[tuple[int, bytes]] = ()) -> bytes:
        """`inputs` are (offset in this block, digest) of what begins here and is not a token."""
        x = b"".join(
            u32(offset) + exactly(32, digest, "an input's digest")
            for offset, digest in sorted(inputs)
        )
        body = u32(len(tokens)) + b"".join(map(u32, tokens))
        return self._extend(b"\x01", body + u32(len(x)) + x)

    def add_hash(self, engine_hash: bytes) -> bytes:
        if not 1 <= len(engine_hash) <= MAX_HASH_BYTES:
            raise Refused(f"an engine's hash has {len(engine_hash)} bytes")
        return self._extend(b"\x02", u32(len(engine_hash)) + engine_hash)


def prompt_blocks(
    chain: PrefixChain,
    block_tokens: int,
    tokens: list[int],
    inputs: list[tuple[int, bytes]] = (),
) -> list[bytes]:
    """Names the whole blocks of a prompt. `inputs` are (token position in the prompt, digest)."""
    if not 1 <= block_tokens < 2**32:
        raise Refused(f"a block of {block_tokens} tokens")
    by_block: dict[int, list[tuple[int, bytes]]] = {}
    for position, digest in inputs:
        if not 0 <= position < len(tokens):
            raise Refused(f"an input at position {position} is outside the prompt")
        by_block.setdefault(position // block_tokens, []).append(
            (position % block_tokens, exactly(32, digest, "an input's digest"))
        )
    if len({position for position, _ in inputs}) != len(inputs):
        raise Refused("two inputs begin at one position")
    for token in tokens:
        u32(token)
    return [
        chain.add_tokens(
            tokens[block * block_tokens : (block + 1) * block_tokens], by_block.get(block, [])
        )
        for block in range(len(tokens) // block_tokens)
    ]


# ---- Tracks -----------------------------------------------------------------------------------

ROOT = b"moq://kvcache.moq.arpa/v1/"
# In the order that formats number them in.
RUNGS = (
    "FP16 BF16 FP8 Int8 FP4 Int4 AC"
    " BF16-lossless FP16-lossless KTC-coarse KTC-medium KTC-fine".split()
)
MAX_LAYERS = 4096
MAX_HEADS = 65536


@dataclass(frozen=True)
class Track:
    """The track of a cached prefix, or of a slice of its layers and KV heads (ends included)."""

    tenant: str
    model_name: str
    model_tag: bytes  # the first 8 bytes of model_fp
    prefix: bytes
    generation: bytes
    rung: str
    layers: tuple[int, int] | None = None
    heads: tuple[int, int] | None = None

    def __post_init__(self):
        check_tenant(self.tenant)
        check_model_name(self.model_name)
        exactly(8, self.model_tag, "a model's tag")
        exactly(32, self.prefix, "a prefix hash")
        exactly(16, self.generation, "a generation")
        if self.rung not in RUNGS:
            raise Refused(f"{self.rung!r} is not a rung")
        for ends, limit in ((self.layers, MAX_LAYERS), (self.heads, MAX_HEADS)):
            if ends is not None and not 0 <= ends[0] <= ends[1] < limit:
                raise Refused(f"a slice from {ends[0]} to {ends[1]}")

    def name(self) -> TrackName:
        track = self.rung
        if self.layers is not None:
            track += f";l={self.layers[0]}-{self.layers[1]}"
        if self.heads is not None:
            track += f";h={self.heads[0]}-{self.heads[1]}"
        scope = f"{self.tenant}/{self.model_name}@{self.model_tag.hex()}"
        return TrackName(
            (ROOT, scope.encode("ascii"), self.prefix, self.generation), track.encode("ascii")
        )


def read_slice(text: str) -> tuple[tuple[int, int] | None, tuple[int, int] | None]:
    """The layers and the KV heads that a slice names, ends included; None stands for all."""
    number = "(0|[1-9][0-9]{0,4})"
    found = re.fullmatch(f"(?:;l={number}-{number})?(?:;h={number}-{number})?", text)
    if not found:
        raise Refused(f"{text!r} is not a slice")
    ends = [None if end is None else int(end) for end in found.groups()]
    layers = None if ends[0] is None else (ends[0], ends[1])
    heads = None if ends[2] is None else (ends[2], ends[3])
    for given, limit in ((layers, MAX_LAYERS), (heads, MAX_HEADS)):
        if given is not None and not given[0] <= given[1] < limit:
            raise Refused(f"a slice from {given[0]} to {given[1]}")
    return layers, heads


def parse_scope(scope: bytes) -> tuple[str, str, bytes]:
    """The tenant, model name and model tag of a namespace's second field."""
    found = re.fullmatch(rb"([^/]*)/([^@]*)@([0-9a-f]{16})", scope, re.DOTALL)
    if not found:
        raise Refused("a namespace's second field is not tenant/model@tag")
    tenant, model, tag = (part.decode("latin-1") for part in found.groups())
    return check_tenant(tenant), check_model_name(model), bytes.fromhex(tag)


def parse_track(name: TrackName) -> Track:
    if len(name.fields) != 4 or name.fields[0] != ROOT:
        raise Refused("not a name of this version's caches")
    number = rb"(0|[1-9][0-9]{0,9})"
    ends = number + rb"-" + number
    found = re.fullmatch(rb"([A-Za-z0-9-]+)(;l=" + ends + rb")?(;h=" + ends + rb")?", name.name)
    if not found:
        raise Refused("a track is not named rung;l=a-b;h=c-d")
    rung, layers, a, b, heads, c, d = found.groups()
    return Track(
        *parse_scope(name.fields[1]),
        prefix=name.fields[2],
        generation=name.fields[3],
        rung=rung.decode("ascii"),
        layers=(int(a), int(b)) if layers else None,
        heads=(int(c), int(d)) if heads else None,
    )
