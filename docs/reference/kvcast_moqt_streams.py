"""Data streams and datagrams of MoQT draft-18, read and written; see kvcast_moqt_pieces.py."""

from kvcast_moqt_pieces import (
    U64_MAX, check_object_properties, checked, fault, malformed_track, one_byte, prefixed,
    read_location, read_prefixed)
from kvcast_names import Reader, vi64

# ---- 11.4.2: subgroup streams -------------------------------------------------------------------

NORMAL, END_OF_GROUP, END_OF_TRACK = 0, 3, 4


def write_subgroup(stream: dict) -> bytes:
    """`subgroup` is a number, or "first object"; `priority` is null for the track's own."""
    header = stream["header"]
    subgroup = header["subgroup"]
    mode = {"first object": 1, 0: 0}.get(subgroup, 2)
    kind = (0x10 | header["properties"] | mode << 1 | header["end_of_group"] << 3
            | (header["priority"] is None) << 5 | header["first_object"] << 6)
    out = vi64(kind) + vi64(header["alias"]) + vi64(header["group"])
    out += vi64(subgroup) if mode == 2 else b""
    out += one_byte(header["priority"]) if header["priority"] is not None else b""
    previous = -1
    for item in stream["objects"]:
        out += vi64(item["object"] - previous - 1)
        previous = item["object"]
        out += prefixed(bytes.fromhex(item["properties"])) if header["properties"] else b""
        payload = bytes.fromhex(item["payload"])
        out += prefixed(payload) + (b"" if payload else vi64(item["status"]))
    return out


def read_subgroup_object(reader: Reader, header: dict, previous: int, ended: bool) -> dict:
    number = previous + 1 + reader.vi64()
    if number > U64_MAX or ended:
        raise fault("an object past 2^64, or past the end of its group or track")
    properties = b""
    if header["properties"]:
        properties = read_prefixed(reader)
        check_object_properties(properties, header["group"], number)
    payload = read_prefixed(reader)
    status = NORMAL if payload else reader.vi64()
    if status not in (NORMAL, END_OF_GROUP, END_OF_TRACK) or (status and properties):
        raise fault("a status that is not defined, or on an object with properties")
    return {"object": number, "properties": properties.hex(), "payload": payload.hex(),
            "status": status}


def read_subgroup(data: bytes) -> dict:
    reader = Reader(data)
    kind = reader.vi64()
    mode = kind >> 1 & 3
    if kind & ~0x7F or not kind & 0x10 or mode == 3:
        raise fault(f"stream type {kind:#x}")
    header = {"alias": reader.vi64(), "group": reader.vi64()}
    header["subgroup"] = reader.vi64() if mode == 2 else ("first object" if mode else 0)
    header["priority"] = None if kind & 0x20 else reader.take(1)[0]
    header["properties"] = kind & 1
    header["end_of_group"] = kind >> 3 & 1
    header["first_object"] = kind >> 6 & 1
    objects = []
    previous, ended = -1, False
    while reader.left():
        objects.append(read_subgroup_object(reader, header, previous, ended))
        previous = objects[-1]["object"]
        ended = objects[-1]["status"] != NORMAL
    return {"header": header, "objects": objects}


# ---- 11.4.4: fetch streams ----------------------------------------------------------------------

RANGES = {"non-existent": 0x8C, "unknown": 0x10C}
ASCENDING, DESCENDING = 1, 2


class Prior:
    """What the next item of a fetch stream may refer to."""

    def __init__(self):
        self.location = None
        self.subgroup = None
        self.priority = None

    def after_object(self, item: dict) -> None:
        self.location = (item["group"], item["object"])
        self.priority = item["priority"]
        if item["subgroup"] is not None:
            self.subgroup = item["subgroup"]

    def check_order(self, location: tuple, order: int) -> None:
        """Groups in the order asked for, objects rising (10.12.3)."""
        if self.location is None:
            return
        if self.location[0] == location[0]:
            rises = self.location[1] < location[1]
        else:
            rises = (self.location[0] < location[0]) == (order == ASCENDING)
        if not rises:
            raise malformed_track("fetched objects out of order")


def write_fetch_object(item: dict, prior: Prior, order: int) -> bytes:
    """Leaves out what the object has in common with the one before."""
    flags, fields = 0, b""
    first = prior.location is None
    group, number = item["group"], item["object"]
    if first or group != prior.location[0]:
        flags |= 0x08
        up = 1 if order == ASCENDING else -1
        fields += vi64(group if first else (group - prior.location[0]) * up - 1)
    if item["subgroup"] is None:
        flags |= 0x40
    elif item["subgroup"]:
        if item["subgroup"] == prior.subgroup:
            flags |= 0x01
        elif prior.subgroup is not None and item["subgroup"] == prior.subgroup + 1:
            flags |= 0x02
        else:
            flags |= 0x03
            fields += vi64(item["subgroup"])
    if first or number != prior.location[1] + 1:
        flags |= 0x04
        fields += vi64(number if flags & 0x08 else number - prior.location[1])
    if item["priority"] != prior.priority:
        flags |= 0x10
        fields += one_byte(item["priority"])
    if item["properties"]:
        flags |= 0x20
        fields += prefixed(bytes.fromhex(item["properties"]))
    prior.after_object(item)
    if item["subgroup"] is None:
        prior.subgroup = None  # What a datagram leaves behind is not told: it is not referred to.
    return vi64(flags) + fields + prefixed(bytes.fromhex(item["payload"]))


def write_fetch_stream(stream: dict) -> bytes:
    out = vi64(0x05) + vi64(stream["request_id"])
    prior = Prior()
    for item in stream["items"]:
        if "range" in item:
            out += vi64(RANGES[item["range"]]) + vi64(item["group"]) + vi64(item["object"])
            prior.location = (item["group"], item["object"])
        else:
            out += write_fetch_object(item, prior, stream["order"])
    return out


def read_fetch_group(reader: Reader, flags: int, prior: Prior, order: int) -> int:
    if prior.location is None:
        if flags & 0x0C != 0x0C:
            raise fault("a first object that does not say where it is")
        return reader.vi64()
    if not flags & 0x08:
        return prior.location[0]
    step = reader.vi64() + 1
    group = prior.location[0] + (step if order == ASCENDING else -step)
    if not 0 <= group <= U64_MAX:
        raise fault("a group below 0 or past 2^64")
    return group


def read_fetch_subgroup(reader: Reader, flags: int, prior: Prior) -> int | None:
    if flags & 0x40:
        return None
    mode = flags & 3
    if mode in (1, 2) and prior.subgroup is None:
        raise fault("a subgroup before it is referred to, and there is none")
    value = reader.vi64() if mode == 3 else (0, prior.subgroup, (prior.subgroup or 0) + 1)[mode]
    if value > U64_MAX:
        raise fault("a subgroup past 2^64")
    return value


def read_fetch_item(reader: Reader, prior: Prior, order: int) -> dict:
    flags = reader.vi64()
    ranges = {number: name for name, number in RANGES.items()}
    if flags in ranges:
        location = tuple(read_location(reader))
        prior.check_order(location, order)
        prior.location = location
        return {"range": ranges[flags], "group": location[0], "object": location[1]}
    if flags >= 0x80:
        raise fault(f"flags {flags:#x}")
    if not flags & 0x10 and prior.priority is None:
        raise fault("a priority before it is referred to, and there is none")
    group = read_fetch_group(reader, flags, prior, order)
    subgroup = read_fetch_subgroup(reader, flags, prior)
    delta = reader.vi64() if flags & 0x04 else 1
    number = delta if flags & 0x0C == 0x0C else prior.location[1] + delta
    if number > U64_MAX:
        raise fault("an object past 2^64")
    prior.check_order((group, number), order)
    priority = reader.take(1)[0] if flags & 0x10 else prior.priority
    properties = read_prefixed(reader) if flags & 0x20 else b""
    check_object_properties(properties, group, number)
    item = {"group": group, "subgroup": subgroup, "object": number, "priority": priority,
            "properties": properties.hex(), "payload": read_prefixed(reader).hex()}
    prior.after_object(item)
    return item


def read_fetch_stream(data: bytes, order: int) -> dict:
    reader = Reader(data)
    if reader.vi64() != 0x05:
        raise fault("no fetch stream")
    stream = {"request_id": reader.vi64(), "order": order, "items": []}
    prior = Prior()
    while reader.left():
        stream["items"].append(read_fetch_item(reader, prior, order))
    return stream


def read_stream(data: bytes, order: int | None) -> dict:
    """A whole data stream, ended by FIN. `order` is that of the fetch; absent for a subgroup."""
    return checked(lambda: read_fetch_stream(data, order) if order else read_subgroup(data))


def write_stream(stream: dict) -> bytes:
    return write_fetch_stream(stream) if "items" in stream else write_subgroup(stream)


# ---- 11.3.1: datagrams --------------------------------------------------------------------------

PADDING_DATAGRAM = 0x132B3E29


def write_datagram(datagram: dict) -> bytes:
    properties = bytes.fromhex(datagram["properties"])
    by_status = datagram["status"] != NORMAL
    kind = (bool(properties) | datagram["end_of_group"] << 1 | (datagram["object"] == 0) << 2
            | (datagram["priority"] is None) << 3 | by_status << 5)
    out = vi64(kind) + vi64(datagram["alias"]) + vi64(datagram["group"])
    out += vi64(datagram["object"]) if datagram["object"] else b""
    out += one_byte(datagram["priority"]) if datagram["priority"] is not None else b""
    out += prefixed(properties) if properties else b""
    return out + (vi64(datagram["status"]) if by_status else bytes.fromhex(datagram["payload"]))


def read_datagram(data: bytes) -> dict:
    def read() -> dict:
        reader = Reader(data)
        kind = reader.vi64()
        if kind == PADDING_DATAGRAM:
            return {"padding": reader.left()}
        if kind & ~0x2F or kind & 0x22 == 0x22:
            raise fault(f"datagram type {kind:#x}")
        out = {"alias": reader.vi64(), "group": reader.vi64()}
        out["object"] = 0 if kind & 0x04 else reader.vi64()
        out["priority"] = None if kind & 0x08 else reader.take(1)[0]
        properties = read_prefixed(reader) if kind & 0x01 else b""
        if kind & 0x01 and not properties:
            raise fault("properties of no bytes")
        check_object_properties(properties, out["group"], out["object"])
        out["properties"] = properties.hex()
        out["end_of_group"] = kind >> 1 & 1
        out["status"] = reader.vi64() if kind & 0x20 else NORMAL
        if out["status"] not in (NORMAL, END_OF_GROUP, END_OF_TRACK):
            raise fault("a status that is not defined")
        if out["status"] and properties:
            raise fault("properties on an object that is not normal")
        out["payload"] = "" if kind & 0x20 else reader.take(reader.left()).hex()
        reader.end()
        return out

    return checked(read)
