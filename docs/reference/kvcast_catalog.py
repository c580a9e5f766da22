"""Catalogs: what a node says it holds. Follows catalog.md."""

import hashlib
import struct
from dataclasses import dataclass

from kvcast_names import (
    ROOT,
    Reader,
    Refused,
    TrackName,
    check_model_name,
    check_tenant,
    exactly,
    parse_scope,
    read_track_name,
    vi64,
)

MAGIC = b"kvct"
VERSION = 1
SNAPSHOT = 0
DELTA = 1
CHECK_BYTES = 8
MAX_OBJECT_BYTES = 1 << 20
MAX_OBJECT_RECORDS = 128 * 1024
MAX_ID = 2**32 - 1
_HEAD = struct.Struct("<4sBBHIII")  # magic, version, kind, zero, part, parts, count

# ---- The catalog's track ----------------------------------------------------------------------


def catalog_track(tenant: str, model_name: str, tag: bytes, node: bytes, boot: bytes) -> TrackName:
    """`tag` is the first 8 bytes of model_fp; `node` and `boot` are ids of 16 bytes."""
    exactly(8, tag, "a model's tag")
    scope = f"{check_tenant(tenant)}/{check_model_name(model_name)}@{tag.hex()}"
    writer = exactly(16, node, "a node id") + exactly(16, boot, "a boot id")
    return TrackName((ROOT, scope.encode("ascii"), b"catalog", writer), b"v1")


def parse_catalog_track(name: TrackName) -> tuple[str, str, bytes, bytes, bytes]:
    if len(name.fields) != 4 or name.fields[0] != ROOT or name.fields[2] != b"catalog":
        raise Refused("not a catalog's namespace")
    if name.name != b"v1":
        raise Refused("a catalog of another version")
    writer = exactly(32, name.fields[3], "node id and boot id")
    return *parse_scope(name.fields[1]), writer[:16], writer[16:]


# ---- Records ----------------------------------------------------------------------------------


def _check(value: int, limit: int, what: str) -> None:
    if not 0 <= value <= limit:
        raise Refused(f"{what} {value}")


@dataclass(frozen=True)
class Define:
    """From here on, `id` stands for this track."""

    id: int
    name: TrackName

    def encode(self) -> bytes:
        return b"\x01" + vi64(self.id) + self.name.wire()


@dataclass(frozen=True)
class Add:
    """The node holds this group of the track."""

    id: int
    group: int
    bytes: int
    key: bytes

    def encode(self) -> bytes:
        exactly(32, self.key, "a block's key")
        return b"\x02" + vi64(self.id) + vi64(self.group) + vi64(self.bytes) + self.key


@dataclass(frozen=True)
class Remove:
    """It does not any longer."""

    id: int
    group: int

    def encode(self) -> bytes:
        return b"\x03" + vi64(self.id) + vi64(self.group)


@dataclass(frozen=True)
class Drop:
    """It holds nothing of the track, and `id` is spent."""

    id: int

    def encode(self) -> bytes:
        return b"\x04" + vi64(self.id)


Record = Define | Add | Remove | Drop


def _read_record(reader: Reader) -> Record:
    kind = reader.take(1)[0]
    if kind not in (1, 2, 3, 4):
        raise Refused(f"a record of type {kind}")
    id = reader.vi64()
    _check(id, MAX_ID, "id")
    if kind == 1:
        return Define(id, read_track_name(reader))
    if kind == 2:
        return Add(id, reader.vi64(), reader.vi64(), reader.take(32))
    if kind == 3:
        return Remove(id, reader.vi64())
    return Drop(id)


# ---- Objects ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class CatalogObject:
    kind: int
    part: int
    parts: int
    records: tuple[Record, ...]

    def __post_init__(self):
        if self.kind == SNAPSHOT and 0 <= self.part < self.parts < 2**32:
            return
        if self.kind == DELTA and (self.part, self.parts) == (0, 1):
            return
        raise Refused(f"an object of kind {self.kind}, part {self.part} of {self.parts}")

    def encode(self) -> bytes:
        for record in self.records:
            _check(record.id, MAX_ID, "id")
        count = len(self.records)
        out = _HEAD.pack(MAGIC, VERSION, self.kind, 0, self.part, self.parts, count)
        out += b"".join(record.encode() for record in self.records)
        if len(out) + CHECK_BYTES > MAX_OBJECT_BYTES:
            raise Refused("an object of more than 1 MiB")
        return out + _checksum(out)


def _checksum(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()[:CHECK_BYTES]


def decode(data: bytes) -> CatalogObject:
    if not _HEAD.size + CHECK_BYTES <= len(data) <= MAX_OBJECT_BYTES:
        raise Refused(f"an object of {len(data)} bytes")
    body = data[:-CHECK_BYTES]
    magic, version, kind, zero, part, parts, count = _HEAD.unpack(body[: _HEAD.size])
    if magic != MAGIC or version != VERSION:
        raise Refused("not a catalog of this version")
    if zero:
        raise Refused("bytes that are zero in this version are not")
    if data[-CHECK_BYTES:] != _checksum(body):
        raise Refused("the check does not fit")
    reader = Reader(body, _HEAD.size)
    if count > min(reader.left(), MAX_OBJECT_RECORDS):  # before anything is set aside for them
        raise Refused("more records than bytes, or than anybody writes")
    records = tuple(_read_record(reader) for _ in range(count))
    reader.end()
    return CatalogObject(kind, part, parts, records)


# ---- Reading ----------------------------------------------------------------------------------


class Holdings:
    """What a node holds, from one epoch's objects in order. After a refusal: begin again."""

    def __init__(self, max_tracks: int = 2**20, max_blocks: int = 2**24):
        self.max_tracks = max_tracks
        self.max_blocks = max_blocks
        self.objects = 0  # how many have been applied; the next one's object id
        self.parts = None  # of the snapshot; known from object 0 on
        self.names: dict[int, TrackName] = {}  # tracks by id
        self.next_id = 0  # Ids rise, so every one below this is defined or spent.
        self.blocks: dict[int, dict[int, tuple[int, bytes]]] = {}  # id, group: bytes, key

    def apply(self, object_id: int, data: bytes) -> None:
        if object_id != self.objects:
            raise Refused(f"object {object_id} where {self.objects} is next")
        decoded = decode(data)
        if self.parts is None:
            self.parts = decoded.parts
        expected = SNAPSHOT if self.objects < self.parts else DELTA
        if decoded.kind != expected:
            raise Refused(f"object {object_id} is not what stands there")
        if expected == SNAPSHOT and (decoded.part, decoded.parts) != (object_id, self.parts):
            raise Refused(f"part {decoded.part} of {decoded.parts} as object {object_id}")
        for record in decoded.records:
            self._apply(record)
        self.objects += 1

    def _apply(self, record: Record) -> None:
        if isinstance(record, Define):
            self._define(record)
            return
        if record.id not in self.names:
            raise Refused(f"id {record.id} is not defined")
        groups = self.blocks[record.id]
        if isinstance(record, Add):
            held = (record.bytes, record.key)
            if groups.setdefault(record.group, held) != held:
                raise Refused(f"group {record.group} is added again with another key or size")
            if sum(map(len, self.blocks.values())) > self.max_blocks:
                raise Refused("more blocks than there is room for")
        elif isinstance(record, Remove):
            groups.pop(record.group, None)
        else:
            del self.blocks[record.id]
            del self.names[record.id]

    def _define(self, record: Define) -> None:
        if record.id < self.next_id:
            raise Refused(f"id {record.id} is not above those before it")
        if len(self.names) == self.max_tracks:
            raise Refused("more tracks than there is room for")
        self.names[record.id] = record.name
        self.next_id = record.id + 1
        self.blocks[record.id] = {}

    def listed(self) -> list[tuple[TrackName, int, int, bytes]]:
        """Track, group, bytes and key of each block held, by rendered track and group."""
        return [
            (name, group, *self.blocks[id][group])
            for id, name in sorted(self.names.items(), key=lambda item: item[1].rendered())
            for group in sorted(self.blocks[id])
        ]


# ---- Merging ----------------------------------------------------------------------------------


class _Changes:
    """What two deltas do to one id."""

    def __init__(self):
        self.name: TrackName | None = None
        self.dropped = False
        self.groups: dict[int, list[Remove | Add]] = {}  # one record, or a Remove and an Add


def merge(first: list[Record], second: list[Record]) -> list[Record]:
    """One delta's records with the effect of two: drops, tracks, removes, adds, in this order.

    An add that follows a remove keeps it, since the reader may hold the group with another key. A
    track that is both defined and dropped leaves nothing.
    """
    changes: dict[int, _Changes] = {}
    next_id = 0
    for record in (*first, *second):
        if isinstance(record, Define) and record.id < next_id:
            raise Refused(f"id {record.id} is not above those before it")
        next_id = max(next_id, record.id + 1)  # One in use was defined before.
        change = changes.setdefault(record.id, _Changes())
        if change.dropped:
            raise Refused(f"id {record.id} is spent")
        if isinstance(record, Define):
            change.name = record.name
        elif isinstance(record, Drop):
            change.dropped = True
            change.groups.clear()
        elif isinstance(record, Remove):
            change.groups[record.group] = [record]
        else:
            kept = change.groups.setdefault(record.group, [])
            if kept and kept[-1] != record and isinstance(kept[-1], Add):
                raise Refused(f"group {record.group} is added again with another key or size")
            if not kept or kept[-1] != record:
                kept.append(record)

    ordered = sorted(changes.items())
    drops = [Drop(id) for id, change in ordered if change.dropped and change.name is None]
    tracks = [
        Define(id, change.name) for id, change in ordered if change.name and not change.dropped
    ]
    rest = [
        record
        for _, change in ordered
        for _, records in sorted(change.groups.items())
        for record in records
    ]
    removes = [record for record in rest if isinstance(record, Remove)]
    return drops + tracks + removes + [record for record in rest if isinstance(record, Add)]
