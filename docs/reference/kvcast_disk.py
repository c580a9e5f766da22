"""The files of a disk tier, as disk-format.md draws them: writes a segment, reads blocks."""

import struct

from kvcast_names import Reader, Refused, vi64
from kvcast_numbers import crc32c

BLOCK = 4096
VERSION = 1
KINDS = {"object": 1, "facts": 2, "end": 3, "removal": 4}


def u32(value: int) -> bytes:
    return struct.pack("<I", value)


def u64(value: int) -> bytes:
    return struct.pack("<Q", value)


def padded(data: bytes, step: int) -> bytes:
    return data + bytes(-len(data) % step)


def block(magic: bytes, fields: bytes) -> bytes:
    body = (magic + u32(VERSION) + fields).ljust(BLOCK - 4, b"\0")
    return body + u32(crc32c(body))


def open_block(data: bytes, magic: bytes) -> bytes:
    """The fields of a block that is whole and of our version."""
    if len(data) != BLOCK or data[:8] != magic or data[-4:] != u32(crc32c(data[:-4])):
        raise Refused("damaged")
    if data[8:12] != u32(VERSION):
        raise Refused("another version")
    return data[12:-4]


def superblock(directory: bytes, disk_class: int, segment_bytes: int) -> bytes:
    return 2 * block(b"kvcastD\n", directory + bytes([disk_class]) + bytes(7) + u64(segment_bytes))


def read_superblock(data: bytes) -> dict:
    fields = open_block(data, b"kvcastD\n")
    segment_bytes = struct.unpack("<Q", fields[24:32])[0]
    if fields[16] > 1 or segment_bytes % BLOCK or not 8 * BLOCK <= segment_bytes <= 1 << 34:
        raise Refused("fields make no sense")
    return {"directory": fields[:16].hex(), "class": fields[16], "segment_bytes": segment_bytes}


def location(pair: list[int]) -> bytes:
    return vi64(pair[0]) + vi64(pair[1])


def sized(data: bytes) -> bytes:
    return vi64(len(data)) + data


def body(record: dict) -> bytes:
    kind = record["kind"]
    if kind == "object":
        return (location(record["location"]) + vi64(record["subgroup"])
                + bytes([record["priority"], record["forwarding"], record["status"]])
                + u64(record["received_us"]) + sized(bytes.fromhex(record["properties"])))
    if kind == "facts":
        largest, end = record["largest"], record["end"]
        return (bytes([(1 if largest else 0) | (2 if end else 0)])
                + (location(largest) if largest else b"") + (location(end) if end else b"")
                + vi64(len(record["gaps"]))
                + b"".join(location(gap[0]) + location(gap[1]) for gap in record["gaps"])
                + sized(bytes.fromhex(record["properties"])))
    if kind == "end":
        return vi64(record["group"]) + vi64(record["end"])
    group = record["group"]
    return (bytes([0 if group is not None else 1]) + vi64(group or 0)
            + vi64(record["before"][0]) + vi64(record["before"][1]))


def properties_in(encoded: bytes) -> list[tuple[int, int | bytes]]:
    reader, found, kind = Reader(encoded), [], 0
    while reader.at < len(encoded):
        kind += reader.vi64()
        found.append((kind, reader.take(reader.vi64()) if kind % 2 else reader.vi64()))
    return found


def immutable_in(encoded: bytes) -> bytes | None:
    return next((value for kind, value in properties_in(encoded) if kind == 0x0B), None)


def identity(record: dict, payload: bytes) -> int:
    immutable = immutable_in(bytes.fromhex(record["properties"]))
    return crc32c(location(record["location"]) + vi64(record["subgroup"])
                  + bytes([record["priority"], record["forwarding"], record["status"]])
                  + vi64(len(payload)) + u32(crc32c(payload))
                  + (b"\0" if immutable is None else b"\1" + immutable))


def absent_before(record: dict, immutable: bytes) -> int:
    """How many right before an object do not exist, as its PRIOR_OBJECT_ID_GAP says."""
    said = properties_in(bytes.fromhex(record["properties"])) + properties_in(immutable)
    gap = next((value for kind, value in said if kind == 0x3E), 0)
    return gap if gap <= min(record["location"][1], 2**32 - 1) else 0


def entry_fields(record: dict, payload: bytes, key_property: int) -> bytes:
    if record["kind"] != "object":
        return body(record)
    immutable = immutable_in(bytes.fromhex(record["properties"])) or b""
    key = next((value for kind, value in properties_in(immutable)
                if kind == key_property and len(value) == 32), None)
    absent = absent_before(record, immutable)
    return (location(record["location"]) + vi64(len(payload)) + u32(identity(record, payload))
            + bytes([(0 if key is None else 1) | (2 if absent else 0)]) + (key or b"")
            + (vi64(absent) if absent else b""))


def place(directory: bytes, number: int, offset: int) -> int:
    return crc32c(directory + u64(number) + u64(offset))


def whole_record(record: dict, marker: int, ordinal: int, start: int) -> bytes:
    """Without the zeros behind it. `start` is the sum of its place."""
    payload = bytes.fromhex(record.get("payload", ""))
    meta, kind = bytes.fromhex(record["track"]) + body(record), bytes([KINDS[record["kind"]]])
    head = (u64(marker) + u32(ordinal) + kind + bytes(3) + u32(len(meta)) + u32(len(payload))
            + u32(crc32c(meta)) + u32(crc32c(payload)) + u32(0))
    return head + u32(crc32c(head, start)) + meta + payload


def export(given: dict) -> bytes:
    """What kvcast store export writes, as export-format.md draws it."""
    directory, marker = bytes.fromhex(given["export"]), given["marker"]
    data = block(b"kvcastX\n", directory + u64(marker))
    for ordinal, record in enumerate(given["records"]):
        start = place(directory, 0, len(data))
        data += padded(whole_record(record, marker, ordinal, start), 8)
    end = b"kvcastE\n" + u64(len(given["records"])) + bytes(44)
    return data + end + u32(crc32c(end, place(directory, 0, len(data))))


def with_records(data: bytes, given: dict, directory: bytes, number: int) -> tuple[bytes, bytes]:
    """Records behind what stands before them, and the contents of a footer that lists them."""
    marker = given["marker"]
    names: list[bytes] = []
    entries = b""
    for ordinal, record in enumerate(given["records"]):
        name, payload = bytes.fromhex(record["track"]), bytes.fromhex(record.get("payload", ""))
        kind = bytes([KINDS[record["kind"]]])
        found = whole_record(record, marker, ordinal, place(directory, number, len(data)))
        if name not in names:
            names.append(name)
        entries += (kind + vi64(names.index(name)) + vi64(len(data) // 8) + vi64(len(found))
                    + entry_fields(record, payload, given["key_property"]))
        data += padded(found, 8)
    return data, vi64(len(names)) + b"".join(names) + vi64(len(given["records"])) + entries


def segment(given: dict) -> bytes:
    """A sealed segment whose records were committed together."""
    directory, number = bytes.fromhex(given["directory"]), given["segment"]
    size, marker = given["segment_bytes"], given["marker"]
    header = block(b"kvcastS\n", directory + u64(number) + u64(size) + u64(marker))
    data, index = with_records(header, given, directory, number)
    trailer = (b"kvcastF\n" + u64(marker) + u32(len(index)) + u32(crc32c(index)) + bytes(36))
    footer = index + trailer + u32(crc32c(trailer, place(directory, number, size - 64)))
    return padded(data, BLOCK).ljust(size - len(footer), b"\0") + footer


def parts(data: bytes) -> list[list]:
    """What is not zero, in runs of 64 bytes: [offset, hex]."""
    found: list[list] = []
    for at in range(0, len(data), 64):
        piece = data[at : at + 64]
        if not any(piece):
            continue
        if found and found[-1][0] + len(found[-1][1]) // 2 == at:
            found[-1][1] += piece.hex()
        else:
            found.append([at, piece.hex()])
    return found


def whole(size: int, given: list[list]) -> bytes:
    data = bytearray(size)
    for at, piece in given:
        data[at : at + len(piece) // 2] = bytes.fromhex(piece)
    return bytes(data)


def disk(given: dict) -> dict:
    if "read" in given:
        return read_superblock(whole(BLOCK, given["read"]))
    if "records" in given:
        data = export(given) if "export" in given else segment(given)
    else:
        data = superblock(bytes.fromhex(given["directory"]), given["class"], given["segment_bytes"])
    return {"size": len(data), "parts": parts(data)}
