"""Strict JSON, and the one way in which its values are written for digests.

See names.md, "Canonical values". In Python a JSON value is None, bool, int, float, str, list or
dict; int is a number written in digits alone, float one written with a fraction or an exponent.
"""

import json
import math
import struct

from kvcast_names import Refused, u32


def read_json(text: str | bytes):
    """Reads one JSON value (RFC 8259, UTF-8) and refuses what readers disagree about."""

    def members(pairs):
        found = dict(pairs)
        if len(found) != len(pairs):
            raise Refused("an object has two members of one name")
        return found

    def double(literal):
        number = float(literal)  # rounds to the nearest; what is too small becomes 0
        if not math.isfinite(number):
            raise Refused("a number is beyond a double's range")
        return number

    def integer(literal):
        return -0.0 if literal == "-0" else int(literal)  # An int has no sign of zero to tell by.

    def constant(literal):
        raise Refused(f"{literal} is not JSON")

    try:
        if isinstance(text, bytes):
            text = text.decode("utf-8")
        value = json.loads(
            text, object_pairs_hook=members, parse_int=integer, parse_float=double,
            parse_constant=constant,
        )
        canonical(value)  # so that what cannot be written is refused wherever it stands
        return value
    except (ValueError, RecursionError) as error:
        if isinstance(error, Refused):
            raise
        raise Refused(f"not JSON: {error}") from None


def utf8(text: str) -> bytes:
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError:
        raise Refused("a string holds half of a surrogate pair") from None


def whole(value):
    """The int that a number stands for (1e4 and 10000.0 are 10000), or None if it is not whole."""
    if isinstance(value, bool):
        return None
    if isinstance(value, float) and value.is_integer() and abs(value) <= 2**53:
        return int(value)
    return value if isinstance(value, int) and -(2**63) <= value < 2**64 else None


def _number(value: int | float) -> bytes:
    as_int = whole(value)
    if as_int is not None and as_int < 2**63:
        return b"i" + struct.pack("<q", as_int)
    if as_int is not None:
        return b"u" + struct.pack("<Q", as_int)
    try:
        return b"d" + struct.pack("<d", float(value))
    except OverflowError:
        raise Refused("a number is beyond a double's range") from None


def canonical(value) -> bytes:
    if value is None:
        return b"n"
    if value is True:
        return b"t"
    if value is False:
        return b"f"
    if isinstance(value, (int, float)):
        return _number(value)
    if isinstance(value, str):
        encoded = utf8(value)
        return b"s" + u32(len(encoded)) + encoded
    if isinstance(value, list):
        return b"a" + u32(len(value)) + b"".join(canonical(item) for item in value)
    members = sorted((utf8(key), member) for key, member in value.items())
    return b"o" + u32(len(members)) + b"".join(
        u32(len(key)) + key + canonical(member) for key, member in members
    )
