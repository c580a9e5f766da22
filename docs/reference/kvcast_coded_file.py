"""Coded caches and calibrations as files: the ends of codecs.md in Python."""

import hashlib
import struct
from dataclasses import dataclass

from kvcast_bands import BAND_RUNGS, Bands, decode_bands, encode_bands, read_bands
from kvcast_codec import (LAYERS_MAX, LOSSLESS, TYPES, Format, layer_runs, open_object, parse_format,
                          seal, tokens_from)
from kvcast_names import (IMMUTABLE_PROPERTIES, Reader, Refused, read_properties, vi64,
                          write_properties)

FORMAT_PROPERTY = 0x3803
PRIOR_OBJECT_ID_GAP = 0x3E
KVC, CALIBRATION, PLAIN_VERSION, BANDS_VERSION = b"KVC1", b"KVCAL", 1, 2
RUN_VALUES, BAND_RUN_VALUES = 131_072, 1_048_576


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


@dataclass
class Calibration:
    value_type: str
    layers: list[tuple[int, int, int]]
    fp8: list[float]
    fp4: list[float]
    tables: list[tuple[bytes, bytes]]
    bands: Bands | None = None

    def encode(self) -> bytes:
        version = BANDS_VERSION if self.bands else PLAIN_VERSION
        out = CALIBRATION + bytes([version, TYPES.index(self.value_type)]) + layer_runs(self.layers)
        out += struct.pack(f"<{len(self.fp8) + len(self.fp4)}f", *self.fp8, *self.fp4)
        out += b"".join(exponents + shares for exponents, shares in self.tables)
        out += self.bands.encode() if self.bands else b""
        return out + hashlib.sha256(out).digest()


def write_calibration(*constants) -> bytes:
    return Calibration(*constants).encode()


def read_calibration(data: bytes) -> Calibration:
    covered, said = data[:-32], data[-32:]
    reader = Reader(covered)
    if reader.take(len(CALIBRATION)) != CALIBRATION:
        raise Refused("not a calibration")
    version = reader.take(1)[0]
    if version not in (PLAIN_VERSION, BANDS_VERSION):
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
    planes = Format("BF16", TYPES[kind], layers, 0, 0, 1, 1).planes()
    rows = sum(heads for heads, _ in planes)
    fp8 = list(struct.unpack(f"<{rows}f", reader.take(4 * rows)))
    fp4 = list(struct.unpack(f"<{len(planes)}f", reader.take(4 * len(planes))))
    tables = [(reader.take(15), reader.take(16)) for _ in planes]
    bands = read_bands(reader, layers) if version == BANDS_VERSION else None
    reader.end()
    made = Calibration(TYPES[kind], layers, fp8, fp4, tables, bands)
    if made.encode() != data:
        raise Refused("not written as it must be")
    return made


def _run_tokens(form: Format, least: int) -> int:
    run = 1
    while run * form.values() < least and run < form.block_tokens:
        run *= 2
    return min(run, form.block_tokens)


def calibrated_format(data: bytes, rung: str, block_tokens: int) -> Format:
    """How blocks are encoded with a calibration."""
    calibration = read_calibration(data)
    form = Format(rung, calibration.value_type, calibration.layers, 0, 0, block_tokens, 1)
    form.scales = {"FP8": calibration.fp8, "FP4": calibration.fp4}.get(rung, [])
    if rung in LOSSLESS:
        form.tables = calibration.tables
        form.run_tokens = _run_tokens(form, RUN_VALUES)
    if rung in BAND_RUNGS:
        if not calibration.bands:
            raise Refused("a calibration without AC and KTC")
        form.run_tokens = _run_tokens(form, BAND_RUN_VALUES)
    if form.scales or form.tables or rung in BAND_RUNGS:
        form.calibration = data[-32:]
    form.check()
    return form


def band_object(given: dict) -> dict:
    """AC and KTC: an object that a calibration codes, one way or the other."""
    data = bytes.fromhex(given["calibration"])
    calibration, form = read_calibration(data), parse_format(bytes.fromhex(given["format"]))
    if form.calibration != data[-32:] or form.rung not in BAND_RUNGS or not calibration.bands:
        raise Refused("of another calibration")
    first = given["first_token"]
    tokens = tokens_from(form, first)
    if "values" in given:
        values = [bits for bits, in struct.iter_unpack("<H", bytes.fromhex(given["values"]))]
        body = encode_bands(form, calibration.bands, calibration.layers,
                            given["position"] + first, values)
        return {"object": seal(form, tokens, body).hex()}
    _, body = open_object(form, first, bytes.fromhex(given["object"]))
    values = decode_bands(form, calibration.bands, calibration.layers, tokens, body, given["pages"])
    return {"values": struct.pack(f"<{len(values)}H", *values).hex()}


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
