"""A disk tier's superblock, blocks that are refused, and a sealed segment with every kind of record."""

import kvcast_disk as made
from kvcast_names import TrackName, block_hash_properties

from . import REFUSED, digest

DIRECTORY = digest("directory")[:32]
SEGMENT_BYTES = 32768
SUPERBLOCK = {"directory": DIRECTORY, "class": 1, "segment_bytes": SEGMENT_BYTES}

_A = TrackName((b"service", b"tenant/model", b"prefix"), b"BF16").wire().hex()
_B = TrackName((b"service",), b"").wire().hex()
_C = TrackName((b"service", b"tenant/model", b"prefix"), b"KTC").wire().hex()
_BLOCK = made.superblock(bytes.fromhex(DIRECTORY), 1, SEGMENT_BYTES)[: made.BLOCK]


def _read(change=None, mend=True) -> dict:
    data = bytearray(_BLOCK)
    for at, value in (change or {}).items():
        data[at] = value
    if mend:
        data[-4:] = made.u32(made.crc32c(bytes(data[:-4])))
    return {"read": made.parts(bytes(data))}


def _object(track, location, payload=b"", **changes) -> dict:
    return {"kind": "object", "track": track, "location": location, "subgroup": 0, "priority": 128,
            "forwarding": 0, "status": 0, "received_us": 1_700_000_000_000_000, "properties": "",
            "payload": payload.hex()} | changes


RECORDS = [
    {"kind": "facts", "track": _A, "largest": [7, 2], "end": None,
     "gaps": [[[1, 0], [1, 2**64 - 1]]], "properties": "0207"},
    _object(_A, [0, 0], b"first", subgroup=3, priority=7,
            properties=block_hash_properties(bytes.fromhex(digest("key"))).hex()),
    _object(_A, [0, 1], bytes(range(256)) * 5, properties="3c05"),
    _object(_A, [0, 2], status=3, forwarding=1),
    {"kind": "end", "track": _A, "group": 0, "end": 3},
    _object(_B, [2**62, 2**64 - 1], b"x"),
    _object(_A, [5, 0], b"removed"),
    {"kind": "removal", "track": _A, "group": 5, "before": [0, 0]},
    {"kind": "removal", "track": _B, "group": None, "before": [4, 8192]},
    {"kind": "facts", "track": _B, "largest": None, "end": [2**63, 0], "gaps": [],
     "properties": ""},
]

# Objects that leave some out before them: as many as there are, and more than there can be.
RUNS = [
    _object(_C, [0, 0], b"run", properties=block_hash_properties(bytes.fromhex(digest("key"))).hex()),
    _object(_C, [0, 16], b"run", properties="3e0f"),
    _object(_C, [0, 200], b"run", properties=(b"\x3e" + made.vi64(183)).hex()),
    _object(_C, [1, 3], b"run", properties="3e04"),
    _object(_C, [2, 3], b"run", properties="0b023e03"),
    {"kind": "end", "track": _C, "group": 0, "end": 201},
]

DISK = [
    ("a superblock", SUPERBLOCK),
    ("a superblock is read", _read()),
    ("a version that is not known", _read({8: 2}), REFUSED),
    ("a bit of the directory's name is wrong", _read({12: _BLOCK[12] ^ 1}, mend=False), REFUSED),
    ("a class that is not known", _read({28: 2}), REFUSED),
    ("a segment size that is no multiple of a block", _read({36: 1}), REFUSED),
    ("another magic", _read({0: 0}), REFUSED),
    ("a sealed segment", {"directory": DIRECTORY, "segment": 9, "segment_bytes": SEGMENT_BYTES,
                          "marker": 0x0123456789ABCDEF, "key_property": 0x3801,
                          "records": RECORDS}),
    ("a segment of runs", {"directory": DIRECTORY, "segment": 10, "segment_bytes": SEGMENT_BYTES,
                           "marker": 0x0123456789ABCDEF, "key_property": 0x3801,
                           "records": RUNS}),
    ("an export", {"export": DIRECTORY, "marker": 0xFEDCBA9876543210,
                   "records": [record for record in RECORDS if record["kind"] != "removal"]}),
]
