"""How a publisher asks for durability and hears what was reached: durability.md in Python."""

from kvcast_names import IMMUTABLE_PROPERTIES, Reader, Refused, read_properties, vi64, write_properties

DURABILITY = 0x3802
LEVELS = ["memory", "disk", "bucket"]
NOT_REACHED = 255
NAME_BYTES_MAX = 4096
HEAD = b"kvak" + bytes([1, 0, 0, 0])


def durability_properties(level: str) -> bytes:
    inner = write_properties([(DURABILITY, LEVELS.index(level))])
    return write_properties([(IMMUTABLE_PROPERTIES, inner)])


def durability_of(properties: bytes) -> str:
    """What a track asks for."""
    asked = []
    for kind, value in read_properties(properties):
        if kind == IMMUTABLE_PROPERTIES:
            asked += [number for inner, number in read_properties(value) if inner == DURABILITY]
    if len(asked) > 1 or any(number >= len(LEVELS) for number in asked):
        raise Refused("two durabilities, or one that there is not")
    return LEVELS[asked[0]] if asked else "memory"


def write_acks(records: list[dict]) -> bytes:
    out = HEAD
    for record in records:
        name = bytes.fromhex(record["name"])
        level = record["level"]
        out += bytes([NOT_REACHED if level is None else LEVELS.index(level)])
        out += vi64(len(name)) + name + vi64(record["first"]) + vi64(record["last"])
    return out


def read_acks(payload: bytes) -> list[dict]:
    reader = Reader(payload)
    if reader.take(len(HEAD)) != HEAD:
        raise Refused("no acknowledgement, or one of another version")
    records = []
    while True:
        outcome = reader.take(1)[0]
        if outcome >= len(LEVELS) and outcome != NOT_REACHED:
            raise Refused(f"there is no durability {outcome}")
        length = reader.vi64()
        if length > NAME_BYTES_MAX:
            raise Refused("a track's name is not that long")
        name = reader.take(length)
        first, last = reader.vi64(), reader.vi64()
        if last < first:
            raise Refused("the groups end before they begin")
        records.append({"level": None if outcome == NOT_REACHED else LEVELS[outcome],
                        "name": name.hex(), "first": first, "last": last})
        if not reader.left():
            return records


def durability(given: dict) -> dict:
    if "level" in given:
        return {"properties": durability_properties(given["level"]).hex()}
    if "properties" in given:
        return {"level": durability_of(bytes.fromhex(given["properties"]))}
    if "records" in given:
        return {"object": write_acks(given["records"]).hex()}
    return {"records": read_acks(bytes.fromhex(given["object"]))}
