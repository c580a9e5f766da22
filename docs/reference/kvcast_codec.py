"""Blocks as objects and back: codecs.md in Python."""

import struct
from dataclasses import dataclass, field

from kvcast_names import RUNGS, Reader, Refused, vi64
from kvcast_numbers import BF16, FP16, bits_of, bounded, crc32c, cut
from kvcast_rans import OTHER, STATES_BYTES, RansReader, Table, rans_write
from kvcast_rows import check_scales, decode_row, fp4_row, fp8_row, int4_row, int8_row, row_sizes

TYPES = [BF16, FP16]
LOSSLESS = ("BF16-lossless", "FP16-lossless")
EXACT = {"BF16": BF16, "FP16": FP16, "BF16-lossless": BF16, "FP16-lossless": FP16}
BUILT = (*EXACT, "Int8", "FP8", "Int4", "FP4")
FORMAT_VERSION, OBJECT_VERSION = 1, 3
LAYERS_MAX, HEADS_MAX, SIZE_MAX, TOKENS_MAX, FORMAT_BYTES_MAX = 4096, 65536, 65536, 65535, 65000


def layer_runs(layers: list[tuple[int, int, int]]) -> bytes:
    runs: list[list] = []
    for layer in layers:
        if runs and runs[-1][1] == layer:
            runs[-1][0] += 1
        else:
            runs.append([1, layer])
    return vi64(len(runs)) + b"".join(vi64(number) for count, layer in runs for number in (count, *layer))


@dataclass
class Format:
    """What is the same for every object of a track."""

    rung: str
    value_type: str
    layers: list[tuple[int, int, int]]  # KV heads, size of K, size of V.
    first_layer: int
    first_head: int
    block_tokens: int
    run_tokens: int
    calibration: bytes | None = None
    scales: list[float] = field(default_factory=list)
    tables: list[tuple[bytes, bytes]] = field(default_factory=list)

    def planes(self) -> list[tuple[int, int]]:
        """Heads and size of all planes that hold anything."""
        return [(heads, size) for heads, *sizes in self.layers for size in sizes if size]

    def keys(self) -> list[bool]:
        """Which of them are K."""
        return [part == 0 for _, *sizes in self.layers for part, size in enumerate(sizes) if size]

    def values(self) -> int:
        return sum(heads * size for heads, size in self.planes())

    def check(self) -> None:
        sound = (
            0 < len(self.layers) <= LAYERS_MAX
            and all(0 < heads <= HEADS_MAX and 0 < key <= SIZE_MAX and 0 <= value <= SIZE_MAX
                    for heads, key, value in self.layers)
            and self.first_layer < LAYERS_MAX and self.first_head < HEADS_MAX
            and 0 < self.block_tokens <= TOKENS_MAX and 0 < self.run_tokens <= self.block_tokens
        )
        if not sound:
            raise Refused("no cache has such a shape")
        planes = self.planes()
        scales = {"FP8": sum(heads for heads, _ in planes), "FP4": len(planes)}.get(self.rung, 0)
        tables = len(planes) if self.rung in LOSSLESS else 0
        if (len(self.scales), len(self.tables)) != (scales, tables):
            raise Refused("another number of constants than the rung has")
        if not all(2.0**-60 <= scale <= 2.0**60 for scale in self.scales):
            raise Refused("a scale out of range")
        for exponents, shares in self.tables:
            if len(set(exponents)) != 15 or 0 in shares or sum(shares) != 256:
                raise Refused("an unsound table")
        if 4 * scales + 31 * tables + 64 + LAYERS_MAX // 4 > FORMAT_BYTES_MAX:
            raise Refused("too many constants for one track")

    def encode(self) -> bytes:
        parts = bool(self.calibration) | bool(self.scales) << 1 | bool(self.tables) << 2
        out = bytes([FORMAT_VERSION, RUNGS.index(self.rung), TYPES.index(self.value_type), parts])
        for number in (self.first_layer, self.first_head, self.block_tokens, self.run_tokens):
            out += vi64(number)
        out += layer_runs(self.layers) + (self.calibration or b"")
        out += struct.pack(f"<{len(self.scales)}f", *self.scales)
        return out + b"".join(exponents + shares for exponents, shares in self.tables)


def parse_format(data: bytes) -> Format:
    reader = Reader(data)
    version, rung, kind, parts = reader.take(4)
    if version != FORMAT_VERSION or rung >= len(RUNGS) or kind >= len(TYPES):
        raise Refused("another version, rung or type of values")
    numbers = [reader.vi64() for _ in range(4)]
    layers: list[tuple[int, int, int]] = []
    for _ in range(reader.vi64()):
        count, *layer = (reader.vi64() for _ in range(4))
        if count + len(layers) > LAYERS_MAX:
            raise Refused("too many layers")
        layers += [tuple(layer)] * count
    made = Format(RUNGS[rung], TYPES[kind], layers, *numbers)
    planes = made.planes()
    if parts & 1:
        made.calibration = reader.take(32)
    if parts & 2:
        count = {"FP8": sum(heads for heads, _ in planes), "FP4": len(planes)}.get(made.rung, 0)
        made.scales = list(struct.unpack(f"<{count}f", reader.take(4 * count)))
    if parts & 4 and made.rung in LOSSLESS:
        made.tables = [(reader.take(15), reader.take(16)) for _ in planes]
    made.check()
    if made.encode() != data:
        raise Refused("not written as it must be")
    return made


def seal(form: Format, tokens: int, body: bytes) -> bytes:
    head = bytes([OBJECT_VERSION, RUNGS.index(form.rung)]) + struct.pack("<H", tokens)
    return head + struct.pack("<I", crc32c(form.encode() + head + body)) + body


def open_object(form: Format, first_token: int, payload: bytes) -> tuple[int, bytes]:
    head, check, body = payload[:4], payload[4:8], payload[8:]
    if len(check) < 4 or struct.pack("<I", crc32c(form.encode() + head + body)) != check:
        raise Refused("damaged, or of another track")
    version, rung, tokens = struct.unpack("<BBH", head)
    if version != OBJECT_VERSION or rung != RUNGS.index(form.rung):
        raise Refused("another version or rung")
    if first_token % form.run_tokens or tokens != tokens_from(form, first_token):
        raise Refused("another run of tokens")
    return tokens, body


def tokens_from(form: Format, first_token: int) -> int:
    if not 0 <= first_token < form.block_tokens:
        raise Refused("no token of the block")
    return min(form.run_tokens, form.block_tokens - first_token)


# ---- Bodies: some tokens of a block ---------------------------------------------------------------
# Values are given as 16-bit numbers in canonical order: token, layer, K before V, head, value.


def encode_rows(form: Format, values: list[int]) -> bytes:
    scales = offsets = codes = b""
    at = row = 0
    careful = form.keys()
    for plane, (heads, size) in enumerate(form.planes()):
        for _ in range(heads):
            floats = [bounded(form.value_type, bits) for bits in values[at:at + size]]
            made = {"Int8": lambda: int8_row(floats), "FP8": lambda: fp8_row(floats, form.scales[row]),
                    "Int4": lambda: int4_row(floats, form.value_type, careful[plane]),
                    "FP4": lambda: fp4_row(floats, form.scales[plane], careful[plane])}[form.rung]()
            scales, offsets, codes = scales + made[0], offsets + made[1], codes + made[2]
            at, row = at + size, row + 1
    return scales + offsets + codes


def decode_rows(form: Format, body: bytes, out: str) -> list[int]:
    sizes = [(size, row_sizes(form.rung, size)) for heads, size in form.planes() for _ in range(heads)]
    totals = [sum(row[part] for _, row in sizes) for part in range(3)]
    if len(body) != sum(totals):
        raise Refused("another size than tokens of this shape have")
    reader = Reader(body)
    scales, offsets, codes = (Reader(reader.take(total)) for total in totals)
    check_scales(form, scales.data, offsets.data)
    statics = list(form.scales)
    if form.rung == "FP4":
        statics = [form.scales[plane] for plane, (heads, _) in enumerate(form.planes()) for _ in range(heads)]
    values = []
    for row, (size, taken) in enumerate(sizes):
        parts = (part.take(count) for part, count in zip((scales, offsets, codes), taken))
        made = decode_row(form, size, statics[row] if statics else None, *parts)
        values += [bits_of(out, value) for value in made]
    return values


def _plane_major(form: Format, tokens: int) -> list[tuple[int, list[int]]]:
    """For each plane and token, which of the canonical values it has."""
    units, at = [], 0
    for plane, (heads, size) in enumerate(form.planes()):
        for token in range(tokens):
            first = token * form.values() + at
            units.append((plane, list(range(first, first + heads * size))))
        at += heads * size
    return units


def encode_lossless(form: Format, values: list[int]) -> bytes:
    half = form.value_type == FP16
    tables = [Table(*table) for table in form.tables]
    units, ordered = [], []
    for plane, places in _plane_major(form, len(values) // form.values()):
        own = [values[place] for place in places]
        ordered += own
        units.append((tables[plane], bytes(v >> 10 & 31 if half else v >> 7 & 255 for v in own)))
    others = bytes(e for table, unit in units for e in unit if table.symbol_of(e) == OTHER)
    low = bytes(v & 255 if half else v >> 8 & 128 | v & 127 for v in ordered)
    planes = b""
    for shift in (15, 9, 8) if half else ():
        bits = [v >> shift & 1 for v in ordered]
        planes += bytes(sum(bit << i for i, bit in enumerate(byte)) for byte in cut(bits, 8))
    return struct.pack("<I", len(others)) + low + planes + others + rans_write(units)


def decode_lossless(form: Format, tokens: int, body: bytes) -> list[int]:
    half = form.value_type == FP16
    count = tokens * form.values()
    plane_bytes = -(-count // 8) if half else 0
    spare = len(body) - (4 + count + 3 * plane_bytes + STATES_BYTES)
    if not 0 <= spare <= 2 * count:
        raise Refused("another size than such tokens can have")
    reader = Reader(body)
    others, = struct.unpack("<I", reader.take(4))
    if others > spare:
        raise Refused("exponents that do not fit")
    low = reader.take(count)
    planes = [reader.take(plane_bytes) for _ in range(3)]
    others = reader.take(others)
    coder = RansReader(reader.take(reader.left()), others)
    tables = [Table(*table) for table in form.tables]
    values, at = [0] * count, 0
    for plane, places in _plane_major(form, tokens):
        for place, exponent in zip(places, coder.unit(tables[plane], len(places))):
            if half:
                bits = [bitmap[at // 8] >> at % 8 & 1 for bitmap in planes]
                values[place] = bits[0] << 15 | (exponent & 31) << 10 | bits[1] << 9 | bits[2] << 8 | low[at]
            else:
                values[place] = (low[at] & 128) << 8 | exponent << 7 | low[at] & 127
            at += 1
    coder.end()
    return values


def encode(form: Format, first_token: int, values: list[int]) -> bytes:
    """The object that begins with a token; `values` are those of its tokens."""
    tokens = tokens_from(form, first_token)
    if form.rung not in BUILT or EXACT.get(form.rung, form.value_type) != form.value_type:
        raise Refused("no codec for it")
    if first_token % form.run_tokens or len(values) != tokens * form.values():
        raise Refused("not an object's tokens")
    if form.rung in LOSSLESS:
        return seal(form, tokens, encode_lossless(form, values))
    each = cut(values, form.values())
    if form.rung in EXACT:
        return seal(form, tokens, struct.pack(f"<{len(values)}H", *values))
    return seal(form, tokens, b"".join(encode_rows(form, token) for token in each))


def decode(form: Format, first_token: int, payload: bytes, out: str) -> list[int]:
    """An object's values, as `out`."""
    exact = EXACT.get(form.rung)
    if form.rung not in BUILT or exact and (form.value_type, out) != (exact, exact):
        raise Refused("no codec for it")
    tokens, body = open_object(form, first_token, payload)
    if form.rung in LOSSLESS:
        return decode_lossless(form, tokens, body)
    if len(body) % tokens:
        raise Refused("another size than such tokens have")
    if form.rung in EXACT:
        if len(body) != 2 * tokens * form.values():
            raise Refused("another size than such tokens have")
        return [bits for bits, in struct.iter_unpack("<H", body)]
    return [bits for token in cut(body, len(body) // tokens) for bits in decode_rows(form, token, out)]


# ---- Golden vectors -------------------------------------------------------------------------------


def format_members(form: Format) -> dict:
    return {
        "rung": form.rung, "value_type": form.value_type,
        "layers": [list(layer) for layer in form.layers], "first_layer": form.first_layer,
        "first_head": form.first_head, "block_tokens": form.block_tokens,
        "run_tokens": form.run_tokens,
        "calibration": form.calibration.hex() if form.calibration else None,
        "scales": struct.pack(f"<{len(form.scales)}f", *form.scales).hex(),
        "tables": "".join((exponents + shares).hex() for exponents, shares in form.tables),
    }


def codec(given: dict) -> dict:
    form = parse_format(bytes.fromhex(given["format"]))
    if "values" in given:
        values = [bits for bits, in struct.iter_unpack("<H", bytes.fromhex(given["values"]))]
        return {"object": encode(form, given["first_token"], values).hex()}
    if "object" in given:
        values = decode(form, given["first_token"], bytes.fromhex(given["object"]), given["pages"])
        return {"values": struct.pack(f"<{len(values)}H", *values).hex()}
    return format_members(form)
