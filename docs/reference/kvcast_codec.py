"""Blocks as objects and back: codecs.md in Python."""

import struct
from dataclasses import dataclass, field

from kvcast_names import RUNGS, Reader, Refused, vi64
from kvcast_numbers import (BF16, FP16, LARGEST, SPAN_MIN, bits_of, bounded, crc32c,
                            cut, e2m1_of, e2m1_value, e4m3_of, e4m3_value, f32, value_of)
from kvcast_rans import OTHER, STATES, RansReader, Table, rans_write

TYPES = [BF16, FP16]
FIT_SCALES = range(0x1280, 0x6C81)  # From 2^-90 to 2^90, as BF16.
LOSSLESS = ("BF16-lossless", "FP16-lossless")
EXACT = {"BF16": BF16, "FP16": FP16, "BF16-lossless": BF16, "FP16-lossless": FP16}
BUILT = (*EXACT, "Int8", "FP8", "Int4", "FP4")
FORMAT_VERSION, OBJECT_VERSION = 1, 2
LAYERS_MAX, HEADS_MAX, SIZE_MAX, TOKENS_MAX, FORMAT_BYTES_MAX = 4096, 65536, 65536, 65535, 65000
SCALE_MIN, SCALE_MAX = 0x0880, 0x7B80


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
        runs = []
        for layer in self.layers:
            if runs and runs[-1][1] == layer:
                runs[-1][0] += 1
            else:
                runs.append([1, layer])
        out += vi64(len(runs))
        for count, layer in runs:
            out += b"".join(map(vi64, (count, *layer)))
        out += self.calibration or b""
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


# ---- Rows: a head's values as codes ---------------------------------------------------------------


def pack_codes(codes: list[int]) -> bytes:
    half = (len(codes) + 1) // 2
    upper = codes[half:] + [0] * (2 * half - len(codes))
    return bytes(low | high << 4 for low, high in zip(codes[:half], upper))


def unpack_codes(data: bytes, count: int) -> list[int]:
    return ([byte & 15 for byte in data] + [byte >> 4 for byte in data])[:count]


def int8_row(row: list[float]) -> tuple[bytes, bytes, bytes]:
    largest = max(map(abs, row))
    scale = 0 if largest < SPAN_MIN else bits_of(BF16, f32(largest / f32(127.0)))
    inverse = f32(1 / value_of(BF16, scale)) if scale else 0.0
    codes = [max(-127, min(127, round(f32(value * inverse)))) for value in row]
    return struct.pack("<H", scale), b"", struct.pack(f"{len(row)}b", *codes)


def int4_fit(kind: str, group: list[float], low: float, scale: float) -> tuple[float, int]:
    """The line through a group's values over their codes, by least squares: offset and scale."""
    coded = [f32(f32(value - low) * f32(1 / scale)) for value in group]
    codes = [round(u) for u in coded]
    steps = [round(f32(u * 64)) for u in coded]
    n = len(group)
    rise = n * sum(u * q for u, q in zip(steps, codes)) - sum(steps) * sum(codes)
    slope = f32(rise / (n * sum(q * q for q in codes) - sum(codes) ** 2))
    start = f32(f32(sum(steps) - f32(slope * sum(codes))) / n)
    low = f32(low + f32(scale * f32(start / 64)))
    low = 0.0 if abs(low) < SPAN_MIN else low
    return value_of(kind, bits_of(kind, low)), bits_of(BF16, f32(scale * f32(slope / 64)))


def int4_row(row: list[float], kind: str, careful: bool) -> tuple[bytes, bytes, bytes]:
    scales = offsets = codes = b""
    for group in cut(row, 32):
        low = min(group)
        low = 0.0 if abs(low) < SPAN_MIN else low
        span = f32(max(group) - low)
        scale = 0 if span < SPAN_MIN else bits_of(BF16, f32(span * f32(1 / 15)))
        if careful and scale in FIT_SCALES:
            low, scale = int4_fit(kind, group, low, value_of(BF16, scale))
        inverse = f32(1 / value_of(BF16, scale)) if scale else 0.0
        scales += struct.pack("<H", scale)
        offsets += struct.pack("<H", bits_of(kind, low))
        codes += pack_codes([max(0, min(15, round(f32(f32(value - low) * inverse)))) for value in group])
    return scales, offsets, codes


def fp4_block(block: list[float], becomes: int, tensor: float) -> tuple[int, list[int], float]:
    """Scale and codes of a block whose largest value becomes 6 or 4, and how much they err."""
    scale = e4m3_of(f32(max(map(abs, block)) * f32(1 / f32(becomes * tensor))))
    inverse = f32(1 / f32(e4m3_value(scale) * tensor)) if scale else 0.0
    scaled = [f32(value * inverse) for value in block]
    codes = [e2m1_of(value) for value in scaled]
    if not 8 <= scale < 0x7E:
        return scale, codes, 0.0
    off = [round(f32(f32(value - e2m1_value(code)) * 1024)) for value, code in zip(scaled, codes)]
    return scale, codes, f32(sum(value * value for value in off) * e4m3_value(scale) ** 2)


def fp4_row(row: list[float], tensor: float, careful: bool) -> tuple[bytes, bytes, bytes]:
    scales = codes = b""
    for group in cut(row, 32):
        packed = []
        for block in cut(group, 16):
            scale, made, error = fp4_block(block, 6, tensor)
            if careful and scale >= 8:
                four, made_four, error_four = fp4_block(block, 4, tensor)
                if four < 0x7E and error_four < error:
                    scale, made = four, made_four
            scales += bytes([scale])
            packed += made
        codes += pack_codes(packed)
    return scales, b"", codes


def fp8_row(row: list[float], scale: float) -> tuple[bytes, bytes, bytes]:
    inverse = f32(1 / scale)
    return b"", b"", bytes(e4m3_of(f32(value * inverse)) for value in row)


def row_sizes(rung: str, size: int) -> tuple[int, int, int]:
    """Bytes of scales, offsets and codes."""
    packed = size // 32 * 16 + (size % 32 + 1) // 2
    groups = 2 * -(-size // 32)
    return {"Int8": (2, 0, size), "FP8": (0, 0, size), "Int4": (groups, groups, packed),
            "FP4": (-(-size // 16), 0, packed)}[rung]


def decode_row(form: Format, size: int, static, scales: bytes, offsets: bytes, codes: bytes):
    """FP32 values."""
    if form.rung == "Int8":
        scale = value_of(BF16, struct.unpack("<H", scales)[0])
        return [f32(code * scale) for code in struct.unpack(f"{size}b", codes)]
    if form.rung == "FP8":
        return [f32(e4m3_value(code) * static) for code in codes]
    out = []
    reader = Reader(codes)
    for group, count in enumerate(len(part) for part in cut(list(range(size)), 32)):
        unpacked = unpack_codes(reader.take((count + 1) // 2), count)
        if form.rung == "Int4":
            scale = value_of(BF16, struct.unpack_from("<H", scales, 2 * group)[0])
            low = value_of(form.value_type, struct.unpack_from("<H", offsets, 2 * group)[0])
            out += [f32(f32(code * scale) + low) for code in unpacked]
        else:
            by = [f32(e4m3_value(scale) * static) for scale in scales[2 * group:2 * group + 2]]
            out += [f32(e2m1_value(code) * by[i // 16]) for i, code in enumerate(unpacked)]
    return out


def check_scales(form: Format, scales: bytes, offsets: bytes) -> None:
    if form.rung == "FP4":
        sound = all(code <= 0x7E for code in scales)
    else:
        sound = all(number == 0 or SCALE_MIN <= number <= SCALE_MAX
                    for number, in struct.iter_unpack("<H", scales))
    least = SCALE_MIN if form.value_type == BF16 else 0
    for number, in struct.iter_unpack("<H", offsets):
        magnitude = number & 0x7FFF
        sound = sound and (magnitude == 0 or least <= magnitude <= LARGEST[form.value_type])
    if not sound:
        raise Refused("a scale that nobody writes")


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
    states, words = rans_write(units)
    low = bytes(v & 255 if half else v >> 8 & 128 | v & 127 for v in ordered)
    planes = b""
    for shift in (15, 9, 8) if half else ():
        bits = [v >> shift & 1 for v in ordered]
        planes += bytes(sum(bit << i for i, bit in enumerate(byte)) for byte in cut(bits, 8))
    return (struct.pack("<I", len(others)) + low + planes + others
            + struct.pack("<64I", *states) + struct.pack(f"<{len(words)}H", *words))


def decode_lossless(form: Format, tokens: int, body: bytes) -> list[int]:
    half = form.value_type == FP16
    count = tokens * form.values()
    plane_bytes = -(-count // 8) if half else 0
    spare = len(body) - (4 + count + 3 * plane_bytes + 4 * STATES)
    if not 0 <= spare <= 3 * count:
        raise Refused("another size than such tokens can have")
    reader = Reader(body)
    others, = struct.unpack("<I", reader.take(4))
    if others > spare or (spare - others) % 2:
        raise Refused("exponents that do not fit")
    low = reader.take(count)
    planes = [reader.take(plane_bytes) for _ in range(3)]
    others = reader.take(others)
    states = list(struct.unpack("<64I", reader.take(4 * STATES)))
    words = [word for word, in struct.iter_unpack("<H", reader.take(reader.left()))]
    coder = RansReader(states, words, others)
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
