"""MoQT draft-18 on the wire: control messages, data streams and datagrams, read and written.

Written from the draft's text alone, as a second opinion on the C++ that carries real traffic. It is
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


# ---- 10.2: message parameters -------------------------------------------------------------------

UPDATE_OF_SUBSCRIPTION = "REQUEST_UPDATE of a subscription"
UPDATE_OF_FETCH = "REQUEST_UPDATE of a fetch"
UPDATE_OF_PREFIX = "REQUEST_UPDATE of a prefix"
UPDATES = (UPDATE_OF_SUBSCRIPTION, UPDATE_OF_FETCH, UPDATE_OF_PREFIX)
TO_SUBSCRIBER = ("PUBLISH_OK", "SUBSCRIBE", UPDATE_OF_SUBSCRIPTION)

# Type, name, encoding, and where it may stand. TRACK_STATUS_OK has what SUBSCRIBE_OK would have had
# (10.14), so EXPIRES too.
PARAMETERS = [
    (0x02, "OBJECT_DELIVERY_TIMEOUT", "varint", TO_SUBSCRIBER),
    (0x03, "AUTHORIZATION_TOKEN", "token", (
        "PUBLISH", "SUBSCRIBE", *UPDATES, "SUBSCRIBE_NAMESPACE", "SUBSCRIBE_TRACKS",
        "PUBLISH_NAMESPACE", "TRACK_STATUS", "FETCH")),
    (0x04, "RENDEZVOUS_TIMEOUT", "varint", ("SUBSCRIBE",)),
    (0x06, "SUBGROUP_DELIVERY_TIMEOUT", "varint", TO_SUBSCRIBER),
    (0x08, "EXPIRES", "varint", (
        "SUBSCRIBE_OK", "PUBLISH", "PUBLISH_OK", "REQUEST_UPDATE_OK", "TRACK_STATUS_OK")),
    (0x09, "LARGEST_OBJECT", "location", (
        "SUBSCRIBE_OK", "PUBLISH", "REQUEST_UPDATE_OK", "TRACK_STATUS_OK")),
    (0x0A, "FILL_TIMEOUT", "varint", ("FETCH",)),
    (0x10, "FORWARD", "flag", (
        "SUBSCRIBE", UPDATE_OF_SUBSCRIPTION, "PUBLISH", "PUBLISH_OK", "SUBSCRIBE_TRACKS")),
    (0x20, "SUBSCRIBER_PRIORITY", "uint8", (*TO_SUBSCRIBER, "FETCH", UPDATE_OF_FETCH)),
    (0x21, "SUBSCRIPTION_FILTER", "filter", TO_SUBSCRIBER),
    (0x22, "GROUP_ORDER", "order", ("SUBSCRIBE", "PUBLISH_OK", "FETCH")),
    (0x32, "NEW_GROUP_REQUEST", "varint", TO_SUBSCRIBER),
    (0x34, "TRACK_NAMESPACE_PREFIX", "namespace", (UPDATE_OF_PREFIX,)),
]
REPEATABLE = 0x03


def one_byte(value: int) -> bytes:
    return bytes([value])


WRITE_VALUE = {
    "varint": vi64,
    "flag": one_byte,
    "uint8": one_byte,
    "order": one_byte,
    "location": write_location,
    "token": lambda value: prefixed(write_token(value)),
    "filter": lambda value: prefixed(write_filter(value)),
    "namespace": write_namespace,
}


def read_value(reader: Reader, encoding: str):
    if encoding in ("uint8", "flag", "order"):
        value = reader.take(1)[0]
        allowed = {"uint8": range(256), "flag": (0, 1), "order": (1, 2)}[encoding]
        if value not in allowed:
            raise fault(f"the value {value} for a {encoding}")
        return value
    if encoding == "token":
        return read_token(read_prefixed(reader))
    if encoding == "filter":
        return read_filter(read_prefixed(reader))
    return {"varint": Reader.vi64, "location": read_location, "namespace": read_namespace}[
        encoding
    ](reader)


def write_parameters(parameters: list[dict]) -> bytes:
    by_name = {name: (kind, encoding) for kind, name, encoding, _ in PARAMETERS}
    out = vi64(len(parameters))
    previous = 0
    for parameter in parameters:
        kind, encoding = by_name[parameter["parameter"]]
        out += vi64(kind - previous) + WRITE_VALUE[encoding](parameter["value"])
        previous = kind
    return out


def read_parameters(reader: Reader, where: str) -> list[dict]:
    by_type = {kind: (name, encoding, scope) for kind, name, encoding, scope in PARAMETERS}
    found = []
    kind = 0
    for number in range(reader.vi64()):
        delta = reader.vi64()
        if number and not delta and kind != REPEATABLE:
            raise fault(f"parameter {kind:#x} twice")
        kind += delta
        if kind not in by_type or where not in by_type[kind][2]:
            raise fault(f"parameter {kind:#x} in {where}")
        name, encoding, _ = by_type[kind]
        found.append({"parameter": name, "value": read_value(reader, encoding)})
    return found


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


# ---- 10.3: SETUP --------------------------------------------------------------------------------

URI_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~!$&'()*+,;=")
HEX_DIGITS = frozenset("0123456789abcdefABCDEF")


def is_uri_text(data: bytes, more: str) -> bool:
    """RFC 3986: unreserved characters, sub-delimiters, `more`, and escapes of two hex digits."""
    text = data.decode("latin-1")
    at = 0
    while at < len(text):
        if text[at] == "%":
            if len(text) < at + 3 or not HEX_DIGITS.issuperset(text[at + 1 : at + 3]):
                return False
            at += 2
        elif text[at] not in URI_PLAIN and text[at] not in more:
            return False
        at += 1
    return True


def check_path(value: bytes, sender: str) -> str:
    if sender == "server":
        raise fault("a server sends no PATH", INVALID_PATH)
    if (value and value[:1] not in b"/?") or not is_uri_text(value, ":@/?"):
        raise fault("no path of a URI", MALFORMED_PATH)
    return value.hex()


def check_authority(value: bytes, sender: str) -> str:
    if sender == "server":
        raise fault("a server sends no AUTHORITY", INVALID_AUTHORITY)
    host = value[value.find(b"@") + 1 :]
    if not host or host[:1] == b":" or not is_uri_text(value, ":@[]"):
        raise fault("no authority of a URI", MALFORMED_AUTHORITY)
    return value.hex()


def write_setup(setup: dict) -> bytes:
    pairs = []
    if "path" in setup:
        pairs.append((0x01, prefixed(bytes.fromhex(setup["path"]))))
    pairs += [(0x03, prefixed(write_token(token))) for token in setup["tokens"]]
    if "token_cache_bytes" in setup:
        pairs.append((0x04, vi64(setup["token_cache_bytes"])))
    if "authority" in setup:
        pairs.append((0x05, prefixed(bytes.fromhex(setup["authority"]))))
    if "implementation" in setup:
        pairs.append((0x07, prefixed(bytes.fromhex(setup["implementation"]))))
    out = b""
    previous = 0
    for kind, value in pairs:
        out += vi64(kind - previous) + value
        previous = kind
    return out


def read_setup(reader: Reader, sender: str) -> dict:
    setup = {"tokens": []}
    for kind, value in read_pairs(reader.take(reader.left())):
        if kind == 0x03:
            token = read_token(value)
            if token["alias_type"] in (DELETE, USE_ALIAS):
                raise fault("SETUP refers to a token that cannot be there yet")
            setup["tokens"].append(token)
            continue
        name, read = {
            0x01: ("path", lambda: check_path(value, sender)),
            0x04: ("token_cache_bytes", lambda: value),
            0x05: ("authority", lambda: check_authority(value, sender)),
            0x07: ("implementation", lambda: value.hex()),
        }.get(kind, (None, None))
        if name is None:  # Unknown ones are ignored, twice as well as once.
            continue
        if name in setup:
            raise fault(f"{name} twice")
        setup[name] = read()
    return setup


# ---- 10.4 to 10.20: messages as lists of fields ---------------------------------------------------


def write_properties_hex(properties: str) -> bytes:
    return bytes.fromhex(properties)


def read_track_properties(reader: Reader) -> str:
    data = reader.take(reader.left())
    check_track_properties(data)
    return data.hex()


def read_no_properties(reader: Reader) -> str:
    if reader.left():
        raise fault("track properties where there may be none")
    return ""


def read_bit(reader: Reader) -> int:
    value = reader.take(1)[0]
    if value > 1:
        raise fault(f"{value} where 0 or 1 stands")
    return value


def text_field(most: int) -> tuple:
    return (
        lambda value: prefixed(bytes.fromhex(value)),
        lambda reader: read_prefixed(reader, most).hex(),
    )


NUMBER = (vi64, Reader.vi64)
NAMESPACE = (write_namespace, read_namespace)
LOCATION = (write_location, read_location)
PROPERTIES = (write_properties_hex, read_track_properties)
NO_PROPERTIES = (write_properties_hex, read_no_properties)
REASON = text_field(1024)
PARAMETER_FIELD = "parameters"  # Its reading depends on the message.

TRACK_REQUEST = [("request_id", NUMBER), ("full name", None), (PARAMETER_FIELD, None)]
PREFIX_REQUEST = [("request_id", NUMBER), ("namespace", NAMESPACE), (PARAMETER_FIELD, None)]
UPDATE = [("request_id", NUMBER), (PARAMETER_FIELD, None)]
OK = [(PARAMETER_FIELD, None), ("properties", NO_PROPERTIES)]

# By the names that the draft calls them; where one type has several uses, each has its own entry.
MESSAGES = {
    "SETUP": (0x2F00, [("options", None)]),
    "GOAWAY on the control stream": (0x10, [
        ("uri", text_field(8192)), ("timeout_ms", NUMBER), ("request_id", NUMBER)]),
    "GOAWAY on a request": (0x10, [("uri", text_field(8192)), ("timeout_ms", NUMBER)]),
    "PUBLISH_OK": (0x07, OK),
    "REQUEST_UPDATE_OK": (0x07, OK),
    "TRACK_STATUS_OK": (0x07, [(PARAMETER_FIELD, None), ("properties", PROPERTIES)]),
    "SUBSCRIBE_NAMESPACE_OK": (0x07, OK),
    "SUBSCRIBE_TRACKS_OK": (0x07, OK),
    "PUBLISH_NAMESPACE_OK": (0x07, OK),
    "REQUEST_ERROR": (0x05, [
        ("error", NUMBER), ("retry_interval", NUMBER), ("reason", REASON), ("redirect", None)]),
    "SUBSCRIBE": (0x03, TRACK_REQUEST),
    "SUBSCRIBE_OK": (0x04, [
        ("alias", NUMBER), (PARAMETER_FIELD, None), ("properties", PROPERTIES)]),
    UPDATE_OF_SUBSCRIPTION: (0x02, UPDATE),
    UPDATE_OF_FETCH: (0x02, UPDATE),
    UPDATE_OF_PREFIX: (0x02, UPDATE),
    "PUBLISH": (0x1D, [
        ("request_id", NUMBER), ("full name", None), ("alias", NUMBER), (PARAMETER_FIELD, None),
        ("properties", PROPERTIES)]),
    "PUBLISH_DONE": (0x0B, [("status", NUMBER), ("streams", NUMBER), ("reason", REASON)]),
    "FETCH": (0x16, [("request_id", NUMBER), ("fetch", None), (PARAMETER_FIELD, None)]),
    "FETCH_OK": (0x18, [
        ("end_of_track", (one_byte, read_bit)), ("end", LOCATION), (PARAMETER_FIELD, None),
        ("properties", PROPERTIES)]),
    "TRACK_STATUS": (0x0D, TRACK_REQUEST),
    "PUBLISH_NAMESPACE": (0x06, PREFIX_REQUEST),
    "NAMESPACE": (0x08, [("namespace", NAMESPACE)]),
    "NAMESPACE_DONE": (0x0E, [("namespace", NAMESPACE)]),
    "SUBSCRIBE_NAMESPACE": (0x50, PREFIX_REQUEST),
    "SUBSCRIBE_TRACKS": (0x51, PREFIX_REQUEST),
    "PUBLISH_BLOCKED": (0x0F, [("full name", None)]),
}
REDIRECT = 0x34


def write_fetch(fetch: dict) -> bytes:
    out = vi64(fetch["type"])
    if fetch["type"] == 1:
        return (out + write_full_name(fetch["namespace"], fetch["name"])
                + write_location(fetch["start"]) + write_location(fetch["end"]))
    return out + vi64(fetch["joining_request_id"]) + vi64(fetch["joining_start"])


def read_fetch(reader: Reader) -> dict:
    kind = reader.vi64()
    if not 1 <= kind <= 3:
        raise fault(f"fetch type {kind}")
    if kind == 1:
        return {"type": kind, **read_full_name(reader), "start": read_location(reader),
                "end": read_location(reader)}
    return {"type": kind, "joining_request_id": reader.vi64(), "joining_start": reader.vi64()}


def write_field(name: str, message: dict) -> bytes:
    """The fields whose shape is not one value for one member."""
    if name == PARAMETER_FIELD:
        return write_parameters(message["parameters"])
    if name == "full name":
        return write_full_name(message["namespace"], message["name"])
    if name == "fetch":
        return write_fetch(message["fetch"])
    if name == "options":
        return write_setup(message["options"])
    if message["error"] != REDIRECT:
        return b""
    redirect = message["redirect"]
    return (prefixed(bytes.fromhex(redirect["uri"]))
            + write_full_name(redirect["namespace"], redirect["name"]))


def read_field(name: str, reader: Reader, message: dict, sender: str) -> dict:
    if name == PARAMETER_FIELD:
        return {"parameters": read_parameters(reader, message["message"])}
    if name == "full name":
        return read_full_name(reader)
    if name == "fetch":
        return {"fetch": read_fetch(reader)}
    if name == "options":
        return {"options": read_setup(reader, sender)}
    if message["error"] != REDIRECT:
        return {}
    return {"redirect": {"uri": read_prefixed(reader).hex(), **read_full_name(reader)}}


def write_message(message: dict) -> bytes:
    kind, fields = MESSAGES[message["message"]]
    body = b""
    for name, codec in fields:
        body += codec[0](message[name]) if codec else write_field(name, message)
    return vi64(kind) + len(body).to_bytes(2, "big") + body


def read_message(data: bytes, expected: str, sender: str) -> dict:
    """One whole message that is expected where it stands; anything else there is a violation."""
    kind, fields = MESSAGES[expected]

    def read() -> dict:
        reader = Reader(data)
        if reader.vi64() != kind:
            raise fault("another message")
        body = Reader(reader.take(int.from_bytes(reader.take(2), "big")))
        reader.end()
        message = {"message": expected}
        for name, codec in fields:
            if codec:
                message[name] = codec[1](body)
            else:
                message.update(read_field(name, body, message, sender))
        body.end()
        return message

    return checked(read)


# ---- 11.4.2: subgroup streams ---------------------------------------------------------------------

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


# ---- 11.4.4: fetch streams ------------------------------------------------------------------------

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


# ---- 11.3.1: datagrams ----------------------------------------------------------------------------

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
