"""MoQT draft-18 on the wire: what messages and objects are made of.

kvcast_moqt.py has the messages, kvcast_moqt_streams.py data streams and datagrams. All of it was
written from the draft's text alone, as a second opinion on the C++ that carries real traffic. It is
plain and slow: whole inputs, no state between messages. What the draft forbids raises Refused, with
the code that it names: a session's (`code`), or a stream's where only the track is at fault
(`reset`). Section numbers are the draft's.
"""

from kvcast_names import Reader, Refused, read_track_name, vi64

PROTOCOL_VIOLATION = 0x3
KEY_VALUE_FORMATTING_ERROR = 0x6
INVALID_PATH = 0x8
MALFORMED_PATH = 0x9
INVALID_AUTHORITY = 0x19
MALFORMED_AUTHORITY = 0x1A
MALFORMED_TRACK = 0x12
U64_MAX = 2**64 - 1


def fault(what: str, code: int = PROTOCOL_VIOLATION) -> Refused:
    refused = Refused(what)
    refused.where = {"code": code}
    return refused


def malformed_track(what: str) -> Refused:
    refused = Refused(what)
    refused.where = {"reset": MALFORMED_TRACK}
    return refused


def checked(read, code: int = PROTOCOL_VIOLATION):
    """What a reader underneath refuses is a violation, unless it has said which one."""
    try:
        return read()
    except Refused as refusal:
        if hasattr(refusal, "where"):
            raise
        raise fault(str(refusal), code) from refusal


# ---- 1.4 and 2.4: pieces that messages are made of ----------------------------------------------


def prefixed(data: bytes) -> bytes:
    return vi64(len(data)) + data


def one_byte(value: int) -> bytes:
    return bytes([value])


def read_prefixed(reader: Reader, most: int = U64_MAX) -> bytes:
    length = reader.vi64()
    if length > most:
        raise fault(f"a length of {length} where {most} is the most")
    return reader.take(length)


def write_namespace(fields: list[str]) -> bytes:
    return vi64(len(fields)) + b"".join(prefixed(bytes.fromhex(field)) for field in fields)


def read_namespace(reader: Reader) -> list[str]:
    count = reader.vi64()
    if count > 32:
        raise fault(f"a namespace of {count} fields")
    fields = [read_prefixed(reader, 4096) for _ in range(count)]
    if not all(fields) or sum(map(len, fields)) > 4096:
        raise fault("a namespace with an empty field, or too long")
    return [field.hex() for field in fields]


def write_full_name(fields: list[str], name: str) -> bytes:
    return write_namespace(fields) + prefixed(bytes.fromhex(name))


def read_full_name(reader: Reader) -> dict:
    name = read_track_name(reader)
    return {"namespace": [field.hex() for field in name.fields], "name": name.name.hex()}


def read_location(reader: Reader) -> list[int]:
    return [reader.vi64(), reader.vi64()]


def write_location(location: list[int]) -> bytes:
    return vi64(location[0]) + vi64(location[1])


# ---- 10.2.2: authorization tokens ---------------------------------------------------------------

DELETE, REGISTER, USE_ALIAS, USE_VALUE = range(4)


def write_token(token: dict) -> bytes:
    kind = token["alias_type"]
    out = vi64(kind)
    if kind != USE_VALUE:
        out += vi64(token["alias"])
    if kind in (REGISTER, USE_VALUE):
        out += vi64(token["type"]) + bytes.fromhex(token["value"])
    return out


def read_token(data: bytes) -> dict:
    def read() -> dict:
        reader = Reader(data)
        kind = reader.vi64()
        if kind > USE_VALUE:
            raise Refused(f"alias type {kind}")
        token = {"alias_type": kind}
        if kind != USE_VALUE:
            token["alias"] = reader.vi64()
        if kind in (REGISTER, USE_VALUE):
            token["type"] = reader.vi64()
            token["value"] = reader.take(reader.left()).hex()
        reader.end()
        return token

    return checked(read, KEY_VALUE_FORMATTING_ERROR)


# ---- 5.1.2: subscription filters ----------------------------------------------------------------


def write_filter(value: dict) -> bytes:
    out = vi64(value["type"])
    if value["type"] in (3, 4):
        out += write_location(value["start"])
    if value["type"] == 4:
        out += vi64(value["end_group"] - value["start"][0])
    return out


def read_filter(data: bytes) -> dict:
    reader = Reader(data)
    kind = reader.vi64()
    if not 1 <= kind <= 4:
        raise fault(f"filter type {kind}")
    value = {"type": kind}
    if kind in (3, 4):
        value["start"] = read_location(reader)
    if kind == 4:
        value["end_group"] = value["start"][0] + reader.vi64()
        if value["end_group"] > U64_MAX:
            raise fault("an end group of 2^64 or more")
    reader.end()
    return value


# ---- 2.5 and 12: properties ---------------------------------------------------------------------

IMMUTABLE, PRIOR_GROUP_GAP, PRIOR_OBJECT_GAP = 0x0B, 0x3C, 0x3E
TRACK_PROPERTY_VALUES = {0x0E: range(256), 0x22: (1, 2), 0x30: (0, 1)}


def read_pairs(data: bytes) -> list[tuple]:
    """Key-value pairs (1.4.3) to the end of the bytes."""
    reader = Reader(data)
    pairs = []
    kind = 0
    while reader.left():
        kind += reader.vi64()
        if kind > U64_MAX:
            raise fault("a type of 2^64 or more")
        pairs.append((kind, read_prefixed(reader, 65535) if kind % 2 else reader.vi64()))
    return pairs


def all_pairs(data: bytes) -> list[tuple]:
    """The pairs, and those inside the immutable ones, whose contents only a track answers for."""
    pairs = checked(lambda: read_pairs(data))
    insides = [value for kind, value in pairs if kind == IMMUTABLE]
    if len(insides) > 1:
        raise malformed_track("immutable properties twice")
    for inside in insides:
        try:
            inner = read_pairs(inside)
        except Refused as refusal:
            raise malformed_track("immutable properties that cannot be read") from refusal
        if any(kind == IMMUTABLE for kind, _ in inner):
            raise malformed_track("immutable properties within immutable ones")
        pairs = pairs + inner
    return pairs


def check_track_properties(data: bytes) -> None:
    for kind, value in all_pairs(data):
        if value not in TRACK_PROPERTY_VALUES.get(kind, (value,)):
            raise fault(f"property {kind:#x} has the value {value}")


def check_object_properties(data: bytes, group: int, number: int) -> None:
    pairs = all_pairs(data)
    if any(0x4000 <= kind <= 0x7FFF for kind, _ in pairs):
        raise malformed_track("a mandatory track property on an object")
    for gap, below in ((PRIOR_GROUP_GAP, group), (PRIOR_OBJECT_GAP, number)):
        values = [value for kind, value in pairs if kind == gap]
        if len(values) > 1 or any(value > below for value in values):
            raise malformed_track(f"property {gap:#x} twice, or reaching below 0")
