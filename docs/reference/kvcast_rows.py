"""Rows of the fixed-rate rungs: a head's values as codes, and back. Part of codecs.md in Python.

A track's format is kvcast_codec.Format.
"""

import struct

from kvcast_names import Reader, Refused
from kvcast_numbers import (BF16, LARGEST, SPAN_MIN, bits_of, cut, e2m1_of, e2m1_value, e4m3_of,
                            e4m3_value, f32, value_of)

FIT_SCALES = range(0x1280, 0x6C81)  # From 2^-90 to 2^90, as BF16.
SCALE_MIN, SCALE_MAX = 0x0880, 0x7B80


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


def int4_fit(kind: str, steps: list[int], codes: list[int], low: float, scale: float) -> tuple[float, int]:
    """The line through a group's values over their codes, by least squares: offset and scale."""
    n = len(codes)
    rise = n * sum(w * q for w, q in zip(steps, codes)) - sum(steps) * sum(codes)
    slope = f32(rise / (n * sum(q * q for q in codes) - sum(codes) ** 2))
    start = f32(f32(sum(steps) - f32(slope * sum(codes))) / n)
    low = f32(low + f32(scale * f32(start / 16)))
    low = 0.0 if abs(low) < SPAN_MIN else low
    return value_of(kind, bits_of(kind, low)), bits_of(BF16, f32(scale * f32(slope / 16)))


def int4_row(row: list[float], kind: str, careful: bool) -> tuple[bytes, bytes, bytes]:
    scales = offsets = codes = b""
    for group in cut(row, 32):
        low = min(group)
        low = 0.0 if abs(low) < SPAN_MIN else low
        span = f32(max(group) - low)
        scale = 0 if span < SPAN_MIN else bits_of(BF16, f32(span * f32(1 / 15)))
        inverse = f32(1 / value_of(BF16, scale)) if scale else 0.0
        if careful:
            steps = [round(f32(f32(value - low) * (16 * inverse))) for value in group]
            made = [(w + 8) >> 4 for w in steps]
            if scale in FIT_SCALES:
                low, scale = int4_fit(kind, steps, made, low, value_of(BF16, scale))
        else:
            made = [max(0, min(15, round(f32(f32(value - low) * inverse)))) for value in group]
        scales += struct.pack("<H", scale)
        offsets += struct.pack("<H", bits_of(kind, low))
        codes += pack_codes(made)
    return scales, offsets, codes


def fp4_error(code: int, by: int, part: int) -> int:
    """How much a code errs of the middle of a part, squared; scales in sixteenths of six's."""
    return (2 * part + 1 - int(e2m1_value(code) * by)) ** 2


def fp4_block(block: list[float], tensor: float, careful: bool) -> tuple[int, list[int]]:
    """Scale and codes of a block whose largest value becomes 6, or 4."""
    scale = e4m3_of(f32(max(map(abs, block)) * f32(1 / f32(6 * tensor))))
    inverse = f32(1 / f32(e4m3_value(scale) * tensor)) if scale else 0.0
    parts = [int(max(-63, min(63, f32(value * (8 * inverse))))) for value in block]
    six = [e2m1_of(abs(part) / 8) for part in parts]
    four = [e2m1_of(abs(part) / 12) for part in parts]
    by_six = sum(fp4_error(code, 16, abs(part)) for code, part in zip(six, parts))
    by_four = sum(fp4_error(code, 24, abs(part)) for code, part in zip(four, parts))
    above = e4m3_of(e4m3_value(scale) * 1.5)
    if careful and scale >= 8 and above < 0x7E and by_four < by_six:
        scale, six = above, four
    return scale, [code | (8 if part < 0 else 0) for code, part in zip(six, parts)]


def fp4_row(row: list[float], tensor: float, careful: bool) -> tuple[bytes, bytes, bytes]:
    scales = codes = b""
    for group in cut(row, 32):
        packed = []
        for block in cut(group, 16):
            scale, made = fp4_block(block, tensor, careful)
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


def decode_row(form, size: int, static, scales: bytes, offsets: bytes, codes: bytes):
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


def check_scales(form, scales: bytes, offsets: bytes) -> None:
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
