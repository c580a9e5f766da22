"""Coded caches and calibrations as files: the ends of codecs.md in Python."""

import hashlib
import struct

from kvcast_codec import LAYERS_MAX, LOSSLESS, TYPES, Format, layer_runs, parse_format
from kvcast_names import (IMMUTABLE_PROPERTIES, Reader, Refused, read_properties, vi64,
                          write_properties)

FORMAT_PROPERTY = 0x3803
PRIOR_OBJECT_ID_GAP = 0x3E
KVC, CALIBRATION, CALIBRATION_VERSION = b"KVC1", b"KVCAL", 1
RUN_VALUES = 131_072


# ---- Coded caches ---------------------------------------------------------------------------------


def gap_properties(form: Format, first_token: int) -> bytes:
    if first_token == 0 or form.run_tokens == 1:
        return b""
    return write_properties([(PRIOR_OBJECT_ID_GAP, form.run_tokens - 1)])


def first_tokens(form: Format) -> range:
    return range(0, form.block_tokens, form.run_tokens)


def write_kvc(form: Format, payloads: list[bytes]) -> bytes:
    inner = write_properties([(FORMAT_PROPERTY, form.encode())])
    track = write_properties([(IMMUTABLE_PROPERTIES, inner)])
    out = KVC + vi64(len(track)) + track
    for number, payload in enumerate(payloads):
        gap = gap_properties(form, first_tokens(form)[number % len(first_tokens(form))])
        out += vi64(len(gap)) + gap + vi64(len(payload)) + payload
    return out


def read_kvc(data: bytes) -> tuple[Format, list[bytes]]:
    reader = Reader(data)
    if reader.take(len(KVC)) != KVC:
        raise Refused("not a coded cache")
    track = read_properties(reader.take(reader.vi64()))
    inner = [pair for kind, value in track if kind == IMMUTABLE_PROPERTIES
             for pair in read_properties(value)]
    formats = [value for kind, value in inner if kind == FORMAT_PROPERTY]
    if len(formats) != 1:
        raise Refused("a track has one format")
    form = parse_format(formats[0])
    payloads: list[bytes] = []
    while reader.left():
        token = first_tokens(form)[len(payloads) % len(first_tokens(form))]
        if reader.take(reader.vi64()) != gap_properties(form, token):
            raise Refused("an object that stands elsewhere")
        payloads.append(reader.take(reader.vi64()))
    if not payloads or len(payloads) % len(first_tokens(form)):
        raise Refused("a block that is not whole")
    return form, payloads


# ---- Calibrations ---------------------------------------------------------------------------------


def write_calibration(kind: str, layers: list[tuple[int, int, int]], fp8: list[float],
                      fp4: list[float], tables: list[tuple[bytes, bytes]]) -> bytes:
    out = CALIBRATION + bytes([CALIBRATION_VERSION, TYPES.index(kind)]) + layer_runs(layers)
    out += struct.pack(f"<{len(fp8) + len(fp4)}f", *fp8, *fp4)
    out += b"".join(exponents + shares for exponents, shares in tables)
    return out + hashlib.sha256(out).digest()


def calibrated_format(data: bytes, rung: str, block_tokens: int) -> Format:
    """How blocks are encoded with a calibration."""
    covered, said = data[:-32], data[-32:]
    reader = Reader(covered)
    version_at = len(CALIBRATION)
    if reader.take(version_at) != CALIBRATION or reader.take(1)[0] != CALIBRATION_VERSION:
        raise Refused("not a calibration of this version")
    if hashlib.sha256(covered).digest() != said:
        raise Refused("damaged")
    kind = reader.take(1)[0]
    if kind >= len(TYPES):
        raise Refused("an unknown type of values")
    layers: list[tuple[int, int, int]] = []
    for _ in range(reader.vi64()):
        count, *layer = (reader.vi64() for _ in range(4))
        if count + len(layers) > LAYERS_MAX:
            raise Refused("too many layers")
        layers += [tuple(layer)] * count
    form = Format(rung, TYPES[kind], layers, 0, 0, block_tokens, 1)
    planes = form.planes()
    rows = sum(heads for heads, _ in planes)
    fp8 = list(struct.unpack(f"<{rows}f", reader.take(4 * rows)))
    fp4 = list(struct.unpack(f"<{len(planes)}f", reader.take(4 * len(planes))))
    tables = [(reader.take(15), reader.take(16)) for _ in planes]
    reader.end()
    if write_calibration(TYPES[kind], layers, fp8, fp4, tables) != data:
        raise Refused("not written as it must be")
    form.scales = {"FP8": fp8, "FP4": fp4}.get(rung, [])
    if rung in LOSSLESS:
        form.tables = tables
        run = 1
        while run * form.values() < RUN_VALUES and run < block_tokens:
            run *= 2
        form.run_tokens = min(run, block_tokens)
    if form.scales or form.tables:
        form.calibration = said
    form.check()
    return form


# ---- Golden vectors -------------------------------------------------------------------------------


def coded_file(given: dict) -> dict:
    if "kvc" in given:
        form, payloads = read_kvc(bytes.fromhex(given["kvc"]))
        return {"format": form.encode().hex(), "objects": [payload.hex() for payload in payloads]}
    if "objects" in given:
        form = parse_format(bytes.fromhex(given["format"]))
        return {"kvc": write_kvc(form, list(map(bytes.fromhex, given["objects"]))).hex()}
    data = bytes.fromhex(given["calibration"])
    form = calibrated_format(data, given["rung"], given["block_tokens"])
    return {"format": form.encode().hex()}
