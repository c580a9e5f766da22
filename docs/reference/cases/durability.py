"""What tracks ask for, and what they hear of it."""

from kvcast_durability import DURABILITY, durability_properties, write_acks
from kvcast_names import IMMUTABLE_PROPERTIES, write_properties

from . import REFUSED


def _inside(*numbers: int) -> dict:
    inner = write_properties([(DURABILITY, number) for number in numbers])
    return {"properties": write_properties([(IMMUTABLE_PROPERTIES, inner)]).hex()}


def _record(level, name: bytes, first: int, last: int) -> dict:
    return {"level": level, "name": name.hex(), "first": first, "last": last}


_ONE = write_acks([_record("disk", b"BF16", 3, 6)])


def _changed(at: int, value: int) -> dict:
    return {"object": (_ONE[:at] + bytes([value]) + _ONE[at + 1:]).hex()}


DURABILITY_CASES = [
    *[(f"{level} is asked for", {"level": level}) for level in ["memory", "disk", "bucket"]],
    ("disk was asked for", {"properties": durability_properties("disk").hex()}),
    ("nothing is asked for", {"properties": ""}),
    ("a claim outside of the immutable properties", {"properties": write_properties([(DURABILITY, 2)]).hex()}),
    ("a level that there is not", _inside(3), REFUSED),
    ("two levels", _inside(1, 1), REFUSED),
    ("one record is written", {"records": [_record("disk", b"BF16", 0, 6)]}),
    ("several records are written", {"records": [
        _record("disk", b"BF16", 0, 0), _record(None, b"FP8;h=0-1", 7, 9), _record("bucket", b"", 2**62, 2**63)]}),
    ("a record is read", {"object": _ONE.hex()}),
    ("several records are read", {"object": write_acks(
        [_record("memory", b"x", 0, 0), _record(None, b"y", 1, 1)]).hex()}),
    ("another magic", _changed(0, 0x4B), REFUSED),
    ("another version", _changed(4, 2), REFUSED),
    ("a zero that is none", _changed(7, 1), REFUSED),
    ("an outcome that there is not", _changed(8, 3), REFUSED),
    ("groups that end before they begin", _changed(len(_ONE) - 1, 2), REFUSED),
    ("no record", {"object": _ONE[:8].hex()}, REFUSED),
    ("a record cut short", {"object": _ONE[:-1].hex()}, REFUSED),
    ("a byte left over", {"object": (_ONE + b"\x00").hex()}, REFUSED),
]
