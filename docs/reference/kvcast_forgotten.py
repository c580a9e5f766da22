"""What a node was told to forget, for relays below it: catalog.md in Python."""

import hashlib

from kvcast_names import Reader, Refused, vi64

HEAD = b"kvfg" + bytes([1, 0, 0, 0])
CHECK_BYTES = 8
OF_MODEL = 1
OF_PREFIX = 2
ENTRIES_MAX = 1024
MODEL_BYTES_MAX = 512


def _check(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()[:CHECK_BYTES]


def write_list(entries: list[dict]) -> bytes:
    out = HEAD
    for entry in entries:
        model, prefix = entry["model"], entry["prefix"]
        out += bytes([OF_MODEL * (model is not None) | OF_PREFIX * (prefix is not None)])
        out += entry["at"].to_bytes(8, "little")
        if model is not None:
            out += vi64(len(model.encode())) + model.encode()
        if prefix is not None:
            out += bytes.fromhex(prefix)
    return out + _check(out)


def _read_entry(reader: Reader) -> dict:
    what = reader.take(1)[0]
    if what > OF_MODEL | OF_PREFIX:
        raise Refused(f"nothing is forgotten by {what}")
    entry = {"at": int.from_bytes(reader.take(8), "little"), "model": None, "prefix": None}
    if entry["at"] >= 1 << 63:
        raise Refused("a time that never comes")
    if what & OF_MODEL:
        length = reader.vi64()
        if not 1 <= length <= MODEL_BYTES_MAX:
            raise Refused("a model's name has 1 to 512 bytes")
        entry["model"] = reader.take(length).decode()
    if what & OF_PREFIX:
        entry["prefix"] = reader.take(32).hex()
    return entry


def read_list(payload: bytes) -> list[dict]:
    body = payload[:-CHECK_BYTES]
    if len(payload) < len(HEAD) + CHECK_BYTES or not body.startswith(HEAD):
        raise Refused("no list of what was forgotten, or one of another version")
    if payload[-CHECK_BYTES:] != _check(body):
        raise Refused("the check sum is another one")
    reader = Reader(body, len(HEAD))
    entries = []
    while True:
        entry = _read_entry(reader)
        if len(entries) == ENTRIES_MAX:
            raise Refused("more entries than a list has")
        if entries and entry["at"] <= entries[-1]["at"]:
            raise Refused("an entry is not later than the one before it")
        entries.append(entry)
        if not reader.left():
            return entries


def add(entries: list[dict], model: str | None, prefix: str | None, now: int) -> list[dict]:
    """The list with one more, in place of what that makes superfluous."""
    at = max(now, entries[-1]["at"] + 1) if entries else now
    left = [entry for entry in entries
            if (model is not None and entry["model"] != model)
            or (prefix is not None and entry["prefix"] != prefix)]
    if len(left) == ENTRIES_MAX:
        half = ENTRIES_MAX // 2
        left = [{"at": left[half - 1]["at"], "model": None, "prefix": None}] + left[half:]
    return [*left, {"at": at, "model": model, "prefix": prefix}]


def forgotten(given: dict) -> dict:
    if "object" in given:
        return {"entries": read_list(bytes.fromhex(given["object"]))}
    if "add" in given:
        entries = given["entries"]
        for one in given["add"]:
            entries = add(entries, one["model"], one["prefix"], one["now"])
        return {"entries": entries}
    made = write_list(given["entries"])
    if read_list(made) != given["entries"]:
        raise AssertionError("a list does not survive its bytes")
    return {"object": made.hex()}
