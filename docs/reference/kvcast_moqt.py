"""Control messages of MoQT draft-18, read and written; see kvcast_moqt_pieces.py."""

import ipaddress
import re
import string

from kvcast_moqt_pieces import (
    DELETE, INVALID_AUTHORITY, INVALID_PATH, MALFORMED_AUTHORITY, MALFORMED_PATH, USE_ALIAS,
    check_track_properties, checked, fault, one_byte, prefixed, read_filter, read_full_name,
    read_location, read_namespace, read_pairs, read_prefixed, read_token, write_filter,
    write_full_name, write_location, write_namespace, write_token)
from kvcast_names import Reader, vi64

# ---- 10.2: message parameters -------------------------------------------------------------------

UPDATE_OF_SUBSCRIPTION = "REQUEST_UPDATE of a subscription"
UPDATE_OF_FETCH = "REQUEST_UPDATE of a fetch"
UPDATE_OF_PREFIX = "REQUEST_UPDATE of a prefix"
UPDATES = (UPDATE_OF_SUBSCRIPTION, UPDATE_OF_FETCH, UPDATE_OF_PREFIX)
TO_SUBSCRIBER = ("PUBLISH_OK", "SUBSCRIBE", UPDATE_OF_SUBSCRIPTION)
TIMEOUTS = ("PUBLISH_OK", "SUBSCRIBE", *UPDATES)

# Type, name, encoding, and where it may stand. TRACK_STATUS_OK has what SUBSCRIBE_OK would have had
# (10.14), so EXPIRES too.
PARAMETERS = [
    (0x02, "OBJECT_DELIVERY_TIMEOUT", "varint", TIMEOUTS),
    (0x03, "AUTHORIZATION_TOKEN", "token", (
        "PUBLISH", "SUBSCRIBE", *UPDATES, "SUBSCRIBE_NAMESPACE", "SUBSCRIBE_TRACKS",
        "PUBLISH_NAMESPACE", "TRACK_STATUS", "FETCH")),
    (0x04, "RENDEZVOUS_TIMEOUT", "varint", ("SUBSCRIBE",)),
    (0x06, "SUBGROUP_DELIVERY_TIMEOUT", "varint", TIMEOUTS),
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


# ---- 10.3: SETUP --------------------------------------------------------------------------------

URI_PLAIN = frozenset(string.ascii_letters + string.digits + "-._~!$&'()*+,;=")
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


def is_ip_literal(value: bytes) -> bool:
    """RFC 3986: what may stand in brackets, an IPv6 address or one of a version yet to come."""
    text = value.decode("latin-1")
    if re.fullmatch(r"[vV][0-9a-fA-F]+\.[A-Za-z0-9._~!$&'()*+,;=:-]+", text):
        return True
    try:
        return "%" not in text and ipaddress.IPv6Address(text) is not None
    except ValueError:
        return False


def check_authority(value: bytes, sender: str) -> str:
    if sender == "server":
        raise fault("a server sends no AUTHORITY", INVALID_AUTHORITY)
    host = value[value.find(b"@") + 1 :]
    literal = host[1 : host.find(b"]")] if host[:1] == b"[" and b"]" in host else None
    if not host or host[:1] == b":" or not is_uri_text(value, ":@[]") or (
            literal is not None and not is_ip_literal(literal)):
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


# ---- 10.4 to 10.20: messages as lists of fields -------------------------------------------------


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
