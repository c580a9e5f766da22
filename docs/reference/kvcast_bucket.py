"""The packs of a bucket tier, as bucket-format.md draws them: writes one, reads keys and indexes."""

import re
import struct

from kvcast_disk import BLOCK, block, crc32c, parts, u32, u64, whole, with_records
from kvcast_names import Reader, Refused, vi64

VERSION = 1
TRAILER = 64


def pack_key(prefix: str, node: str, number: int, marker: int) -> str:
    return f"{prefix + '/' if prefix else ''}v{VERSION}/{node}/{number:010d}-{marker:016x}.pack"


def read_key(key: str, prefix: str) -> dict:
    found = re.fullmatch(r"(?:.*/)?v1/([0-9a-f]{32})/(\d{10})-([0-9a-f]{16})\.pack", key)
    if not found:
        raise Refused("not a pack")
    node, number, marker = found[1], int(found[2]), int(found[3], 16)
    if not 0 < number < 1 << 32 or pack_key(prefix, node, number, marker) != key:
        raise Refused("not a pack of ours")
    return {"node": node, "number": number, "marker": marker}


def pack(given: dict) -> bytes:
    node, number, marker = bytes.fromhex(given["node"]), given["number"], given["marker"]
    header = block(b"kvcastP\n", node + u64(number) + u64(marker))
    data, contents = with_records(header, given, node, number)
    body = (u64(given["written_us"]) + vi64(len(given["seen"]))
            + b"".join(bytes.fromhex(other) + vi64(first) + vi64(last)
                       for other, first, last in given["seen"])
            + contents)
    size = len(data) + len(body) + TRAILER
    size += -size % BLOCK
    trailer = (b"kvcastQ\n" + u32(VERSION) + u64(marker) + u32(len(body)) + u32(crc32c(body))
               + u32(number) + node + u64(size) + u32(0))
    return data.ljust(size - TRAILER - len(body), b"\0") + body + trailer + u32(crc32c(trailer))


def read_pack(data: bytes, key: str, prefix: str) -> dict:
    """What the end of a pack says, up to the names of its tracks."""
    named, trailer = read_key(key, prefix), data[-TRAILER:]
    if len(data) % BLOCK or trailer[:8] != b"kvcastQ\n" or trailer[-4:] != u32(crc32c(trailer[:-4])):
        raise Refused("damaged")
    version, marker, length, total, number = struct.unpack("<IQIII", trailer[8:32])
    if version != VERSION:
        raise Refused("another version")
    if (named != {"node": trailer[32:48].hex(), "number": number, "marker": marker}
            or struct.unpack("<Q", trailer[48:56])[0] != len(data)
            or length + TRAILER + BLOCK > len(data)):
        raise Refused("another pack's")
    body = data[len(data) - TRAILER - length : len(data) - TRAILER]
    if crc32c(body) != total:
        raise Refused("damaged")
    reader = Reader(body)
    written_us = struct.unpack("<Q", reader.take(8))[0]
    seen = [[reader.take(16).hex(), reader.vi64(), reader.vi64()] for _ in range(reader.vi64())]
    for run, before in zip(seen, [None, *seen]):
        if not 0 < run[1] <= run[2] < 1 << 32 or before and [*before[:1], before[2] + 1] >= run[:2]:
            raise Refused("runs that are not in order")
    return {"written_us": written_us, "seen": seen, "tracks": reader.vi64()}


def bucket(given: dict) -> dict:
    if "records" in given:
        data = pack(given)
        return {"key": pack_key(given["prefix"], given["node"], given["number"], given["marker"]),
                "size": len(data), "parts": parts(data)}
    if "read" in given:
        return read_pack(whole(given["size"], given["read"]), given["key"], given["prefix"])
    return read_key(given["key"], given["prefix"])
