"""Catalogs: objects, holdings and merges."""

import hashlib
import struct

from . import REFUSED, digest

X, Y, Z = "a-x--BF16", "a-y--BF16", ".00-z--"
BIG = 2**64 - 1
KEY = {name: digest(f"key {name}") for name in "abcde"}


def track(id, name=X):
    return {"op": "track", "id": id, "name": name}


def add(id, group, key="a", bytes=100):
    return {"op": "add", "id": id, "group": group, "bytes": bytes, "key": KEY[key]}


def remove(id, group):
    return {"op": "remove", "id": id, "group": group}


def drop(id):
    return {"op": "drop", "id": id}


# Objects are put together here once more, byte by byte, so that broken ones can be made too.


def _vi64(value: int) -> bytes:
    if value < 0x80:
        return bytes([value])
    if value < 0x4000:
        return struct.pack(">H", 0x8000 | value)
    return b"\xff" + struct.pack(">Q", value)  # longer than needed, and to be read nevertheless


def _wire(rendered: str) -> bytes:
    parts = rendered.replace("--", "-").split("-")
    raw = [part.replace(".00", "\0").encode() for part in parts]
    return _vi64(len(raw) - 1) + b"".join(_vi64(len(part)) + part for part in raw)


def _bytes(item: dict) -> bytes:
    head = bytes([1 + ["track", "add", "remove", "drop"].index(item["op"])]) + _vi64(item["id"])
    if item["op"] == "track":
        return head + _wire(item["name"])
    if "group" in item:
        head += _vi64(item["group"])
    return head + (_vi64(item["bytes"]) + bytes.fromhex(item["key"]) if "key" in item else b"")


def _object(records=(), kind=0, part=0, parts=1, count=None, magic=b"kvct", version=1, zero=0,
            extra=b"", check=None) -> str:
    body = b"".join(item if isinstance(item, bytes) else _bytes(item) for item in records)
    count = len(records) if count is None else count
    out = magic + struct.pack("<BBHIII", version, kind, zero, part, parts, count) + body + extra
    return (out + (hashlib.sha256(out).digest()[:8] if check is None else check)).hex()


def snap(*records, **changes) -> str:
    return _object(records, **changes)


def delta(*records, **changes) -> str:
    return _object(records, kind=1, **changes)


def part(index: int, parts: int, *records) -> str:
    return _object(records, part=index, parts=parts)


_READ = [
    ("an empty snapshot", [snap()]),
    ("nothing yet", []),
    ("a track without blocks", [snap(track(1))]),
    ("two tracks", [snap(track(0, Y), add(0, 0), track(1, X), add(1, 7, "b"), add(0, 3, "c"))]),
    ("a name with a raw byte, an empty track", [snap(track(1, Z), add(1, 0))]),
    ("the largest numbers", [snap(track(2**32 - 1), add(2**32 - 1, BIG, "a", BIG))]),
    ("a block of no bytes", [snap(track(1), add(1, 0, "a", 0))]),
    ("a snapshot in three parts", [
        part(0, 3, track(1), add(1, 0)), part(1, 3, add(1, 1, "b"), track(2, Y)),
        part(2, 3, add(2, 0, "c"))]),
    ("the first part of two", [part(0, 2, track(1), add(1, 0))]),
    ("a snapshot and deltas", [
        snap(track(1), add(1, 0)), delta(add(1, 1, "b")), delta(remove(1, 0)), delta()]),
    ("removes and drops within a snapshot", [
        snap(track(1), add(1, 0), remove(1, 0), add(1, 0, "b"), track(2, Y), drop(2))]),
    ("a block added again", [snap(track(1), add(1, 0)), delta(add(1, 0))]),
    ("a block removed and added with another key", [
        snap(track(1), add(1, 0)), delta(remove(1, 0), add(1, 0, "b", 7))]),
    ("removing what is not there", [snap(track(1)), delta(remove(1, 5), remove(1, 5))]),
    ("a drop", [snap(track(1), add(1, 0), track(2, Y), add(2, 0)), delta(drop(1))]),
    ("a track under a new id after its drop", [
        snap(track(1), add(1, 0)), delta(drop(1), track(2), add(2, 4, "b"))]),
    ("integers longer than needed", [
        snap(b"\x01\x80\x01" + _wire(X), b"\x02\xc0\x00\x01\x80\x02\x80\x03"
             + bytes.fromhex(KEY["a"]))]),
]

_BASE = snap(track(1), add(1, 0))
_ANY = snap()

_READ_REFUSED = [
    ("no bytes", [""]),
    ("a head without a check", [_ANY[:40]]),
    ("a byte too few", [_ANY[:-2]]),
    ("a byte too many", [_ANY + "00"]),
    ("another magic", [snap(magic=b"kvcx")]),
    ("version 0", [snap(version=0)]),
    ("version 2", [snap(version=2)]),
    ("kind 2", [snap(kind=2)]),
    ("nonzero bytes, low", [snap(zero=1)]),
    ("nonzero bytes, high", [snap(zero=0x100)]),
    ("a wrong check", [snap(check=bytes(8))]),
    ("a flipped bit", [_BASE[:60] + ("0" if _BASE[60] != "0" else "1") + _BASE[61:]]),
    ("bytes behind the records", [snap(track(1), extra=b"\0")]),
    ("fewer records than counted", [snap(track(1), count=2)]),
    ("more records than counted", [snap(track(1), add(1, 0), count=1)]),
    ("2^32-1 records", [snap(track(1), count=2**32 - 1)]),
    ("half a record", [snap(track(1), b"\x02\x01\x00\x01" + bytes(31))]),
    ("record type 0", [snap(b"\x00\x01")]),
    ("record type 5", [snap(b"\x05\x01")]),
    ("an id of 2^32", [snap(b"\x04\xf1\x00\x00\x00\x00")]),
    ("an id of 2^32 for a track", [snap(b"\x01\xf1\x00\x00\x00\x00" + _wire(X))]),
    ("a name with an empty field", [snap(b"\x01\x01" + b"\x01\x00\x00")]),
    ("a name with 33 fields", [snap(b"\x01\x01\x21" + b"\x01f" * 33 + b"\x00")]),
    ("an add without a track", [snap(add(1, 0))]),
    ("an add before its track", [snap(add(1, 0), track(1))]),
    ("a remove without a track", [snap(), delta(remove(1, 0))]),
    ("a drop without a track", [snap(), delta(drop(1))]),
    ("an id defined twice", [snap(track(1), track(1, Y))]),
    ("an id defined twice alike", [snap(track(1)), delta(track(1))]),
    ("ids that fall", [snap(track(2), track(1, Y))]),
    ("an id below a spent one", [snap(track(2)), delta(drop(2)), delta(track(1))]),
    ("a spent id defined", [snap(track(1)), delta(drop(1)), delta(track(1, Y))]),
    ("a spent id used", [snap(track(1)), delta(drop(1), add(1, 0))]),
    ("a drop twice", [snap(track(1)), delta(drop(1)), delta(drop(1))]),
    ("a block again with another key", [_BASE, delta(add(1, 0, "b"))]),
    ("a block again with other bytes", [_BASE, delta(add(1, 0, "a", 101))]),
    ("a delta first", [delta()]),
    ("a delta between parts", [part(0, 2), delta()]),
    ("a snapshot behind the snapshot", [snap(), delta(), snap()]),
    ("part 1 first", [part(1, 2)]),
    ("a part twice", [part(0, 2), part(0, 2)]),
    ("parts that change their number", [part(0, 3), part(1, 2)]),
    ("part 1 of 1", [part(1, 1)]),
    ("no parts", [part(0, 0)]),
    ("a delta of two parts", [snap(), delta(parts=2)]),
    ("a delta's part 1", [snap(), delta(part=1, parts=2)]),
]

_TWO = [snap(track(1), add(1, 0)), delta(track(2, Y), add(2, 0)), delta(drop(1), track(3, Z))]

_WRITE = [
    ("write an empty snapshot", "snapshot", 0, 1, []),
    ("write an empty delta", "delta", 0, 1, []),
    ("write each record", "delta", 0, 1, [track(1), add(1, 0), remove(1, 200), drop(70000)]),
    ("write the last part", "snapshot", 2, 3, [track(5, Z), add(5, 16384, "b", 1 << 40)]),
    ("write the largest numbers", "delta", 0, 1, [
        track(2**32 - 1, Y), add(2**32 - 1, BIG, "e", BIG)]),
]
_WRITE_REFUSED = [
    ("write an id of 2^32", "delta", 0, 1, [drop(2**32)]),
    ("write a short key", "delta", 0, 1, [{**add(1, 0), "key": KEY["a"][2:]}]),
    ("write part 1 of 1", "snapshot", 1, 1, []),
    ("write part 0 of 0", "snapshot", 0, 0, []),
    ("write a delta in parts", "delta", 0, 2, []),
]

_MERGE = [
    ("nothing", [], []),
    ("one side", [add(1, 0)], []),
    ("other groups, in order", [add(2, 9), add(1, 3)], [add(1, 1), add(1, 200)]),
    ("add, then remove", [add(1, 0)], [remove(1, 0)]),
    ("remove, then add", [remove(1, 0)], [add(1, 0, "b")]),
    ("add, remove, add", [add(1, 0), remove(1, 0)], [add(1, 0, "b")]),
    ("remove, add, remove", [remove(1, 0), add(1, 0)], [remove(1, 0)]),
    ("an add twice", [add(1, 0)], [add(1, 0)]),
    ("remove, add, the same add", [remove(1, 0), add(1, 0)], [add(1, 0)]),
    ("a remove twice", [remove(1, 0)], [remove(1, 0)]),
    ("a drop undoes what came before", [add(1, 0), remove(1, 1), add(2, 0)], [drop(1)]),
    ("a track and its blocks", [track(1)], [add(1, 0)]),
    ("a new track's block removed", [track(1), add(1, 0)], [remove(1, 0)]),
    ("a track that comes and goes", [track(1), add(1, 0)], [add(1, 1, "b"), drop(1)]),
    ("a track that comes and goes, and comes", [track(1), add(1, 0)], [drop(1), track(2)]),
    ("a track changes its id", [drop(1)], [track(2), add(2, 0)]),
    ("what goes makes room for what comes", [add(1, 3, "b")], [remove(2, 0), remove(1, 9)]),
    ("the order of all", [track(9, Z), add(3, 1), drop(8)], [add(9, 0), track(14, Y), drop(2),
                                                            remove(3, 0), add(4, BIG, "c")]),
]
_MERGE_REFUSED = [
    ("a spent id", [drop(1)], [add(1, 0)]),
    ("a spent id defined", [drop(1)], [track(1)]),
    ("a drop twice", [drop(1)], [drop(1)]),
    ("an id defined twice", [track(1)], [track(1, Y)]),
    ("ids that fall", [track(2)], [track(1, Y)]),
    ("an id defined below one in use", [add(2, 0)], [track(1, Y)]),
    ("a track behind its block", [add(1, 0)], [track(1)]),
    ("a block with two keys", [add(1, 0)], [add(1, 0, "b")]),
    ("a track that comes and goes, with a number that falls", [track(7)], [track(5, Y), drop(5)]),
    ("a block with two keys, the second removed", [add(1, 0)], [add(1, 0, "b"), remove(1, 0)]),
    ("a block with two sizes", [remove(1, 0), add(1, 0)], [add(1, 0, "a", 9)]),
]


def _write(kind, part, parts, records) -> dict:
    return {"kind": kind, "part": part, "parts": parts, "records": records}


def _own_track(node=digest("node")[:32], boot=digest("boot")[:32], tenant="acme"):
    return {"tenant": tenant, "model_name": "org/m", "model_fp": digest("a model"), "node": node,
            "boot": boot}


def _name(third="catalog", fourth=digest("node and boot"), name="v1") -> dict:
    scope = f"acme/org/m@{digest('a model')[:16]}"
    texts = ["moq://kvcache.moq.arpa/v1/", scope, third]
    return {"fields": [text.encode().hex() for text in texts] + [fourth],
            "name": name.encode().hex()}


CATALOG = [
    *((name, {"objects": objects}) for name, objects in _READ),
    ("room for what there is", {"objects": _TWO, "max_tracks": 2, "max_blocks": 2}),
    *((name, {"objects": objects}, REFUSED) for name, objects in _READ_REFUSED),
    ("no room for a track", {"objects": _TWO, "max_tracks": 1, "max_blocks": 9}, REFUSED),
    ("no room for a block", {"objects": _TWO, "max_tracks": 9, "max_blocks": 1}, REFUSED),
    *((name, _write(*rest)) for name, *rest in _WRITE),
    *((name, _write(*rest), REFUSED) for name, *rest in _WRITE_REFUSED),
    *((f"merge: {name}", {"a": a, "b": b}) for name, a, b in _MERGE),
    *((f"merge: {name}", {"a": a, "b": b}, REFUSED) for name, a, b in _MERGE_REFUSED),
    ("a catalog's track", _own_track()),
    ("a catalog's track with a short node id", _own_track(node="00" * 15), REFUSED),
    ("a catalog's track with a long boot id", _own_track(boot="00" * 17), REFUSED),
    ("a catalog's track without a tenant", _own_track(tenant=""), REFUSED),
    ("parse: a catalog's track", _name()),
    ("parse: not a catalog", _name(third="catalogs"), REFUSED),
    ("parse: a short field", _name(fourth="00" * 31), REFUSED),
    ("parse: another version", _name(name="v2"), REFUSED),
]
