"""An engine's values, their names and their pieces: names.md in Python."""

import hashlib
import struct

from kvcast_names import PUBLIC_KEY, PrefixChain, Refused
from kvcast_numbers import crc32c

VERSION = 1
HEADER = 24
BODY_MAX = 256 * 1024 - HEADER
BYTES_MAX = 1 << 30


def value_format(model: str, layout: bytes, block_tokens: int) -> bytes:
    if not 1 <= len(layout) <= 4096 or not 16 <= block_tokens <= 1024:
        raise Refused("no layout, or no number of tokens for a block")
    fields = [model.encode(), layout, struct.pack("<I", block_tokens)]
    return b"kvcast/values/1" + b"".join(
        bytes([tag]) + struct.pack("<I", len(field)) + field for tag, field in enumerate(fields, 1))


def value_name(naming_key: bytes, model_fp: bytes, salt: bytes, key: bytes) -> bytes:
    if not 1 <= len(key) <= 1024:
        raise Refused("an engine's key has 1 to 1,024 bytes")
    return PrefixChain(naming_key, model_fp, salt).add_hash(key)


def piece(name: bytes, value: bytes, index: int) -> bytes:
    offset = index * BODY_MAX
    body = value[offset:offset + BODY_MAX]
    first = bytes([VERSION, 0, 0, 0])
    rest = struct.pack("<QQ", len(value), offset) + body
    return first + struct.pack("<I", crc32c(name + first + rest)) + rest


def pieces(name: bytes, value: bytes) -> list[bytes]:
    if not 1 <= len(value) <= BYTES_MAX:
        raise Refused("a value has 1 to 2^30 bytes")
    return [piece(name, value, index) for index in range((len(value) + BODY_MAX - 1) // BODY_MAX)]


def taken(name: bytes, length: int, index: int, given: bytes) -> bytes:
    """The body of a piece that is as it must be."""
    offset = index * BODY_MAX
    expected = min(BODY_MAX, length - offset)
    if len(given) != HEADER + expected or given[0] != VERSION \
            or given[8:HEADER] != struct.pack("<QQ", length, offset) \
            or given[4:8] != struct.pack("<I", crc32c(name + given[:4] + given[8:])):
        raise Refused("damaged, another value's, or not in its place")
    return given[HEADER:]


def value(given: dict) -> dict:
    if "piece" in given:
        body = taken(bytes.fromhex(given["name"]), given["length"], given["index"],
                     bytes.fromhex(given["piece"]))
        return {"body": body.hex()}
    if "name" in given:
        # Long ones repeat: vectors are to be read by people too.
        content = bytes.fromhex(given["bytes"]) * given["times"]
        made = pieces(bytes.fromhex(given["name"]), content)
        return {"headers": [each[:HEADER].hex() for each in made],
                "body_bytes": [len(each) - HEADER for each in made]}
    form = value_format(given["model"], bytes.fromhex(given["layout"]), given["block_tokens"])
    model_fp = hashlib.sha256(form).digest()
    name = value_name(PUBLIC_KEY, model_fp, bytes.fromhex(given["salt"]), bytes.fromhex(given["key"]))
    return {"format": form.hex(), "model_fp": model_fp.hex(), "name": name.hex()}
