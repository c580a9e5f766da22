"""Small floating-point formats and FP32 arithmetic, for codecs.md in Python.

Slow and plain on purpose: the nearest of a format's values is found by comparing, not by bits.
"""

import math
import struct
from bisect import bisect_left

BF16, FP16 = "BF16", "FP16"
LARGEST = {BF16: 0x7B80, FP16: 0x7BFF}
SPAN_MIN = 2.0**-100


def cut(row: list, size: int) -> list[list]:
    return [row[at:at + size] for at in range(0, len(row), size)]


def f32(value: float) -> float:
    """Rounded to FP32. Of sums, products and quotients of FP32 numbers, rounding the double
    result gives what rounding the exact one would."""
    try:
        return struct.unpack("<f", struct.pack("<f", value))[0]
    except OverflowError:
        return math.copysign(math.inf, value)


def _half(bits: int) -> float:
    return struct.unpack("<e", struct.pack("<H", bits))[0]


def value_of(kind: str, bits: int) -> float:
    if kind == FP16:
        return _half(bits)
    return struct.unpack("<f", struct.pack("<I", bits << 16))[0]


def bounded(kind: str, bits: int) -> float:
    """A value of a page; what is not finite or too large counts as the largest."""
    return value_of(kind, bits & 0x8000 | min(bits & 0x7FFF, LARGEST[kind]))


def _nearest(magnitudes: list[float], wanted: float, ties_up: bool = False) -> int:
    """The index of the nearest; of two as near the even one, or the larger."""
    above = min(bisect_left(magnitudes, wanted), len(magnitudes) - 1)
    if above == 0 or magnitudes[above] == wanted:
        return above
    lower, upper = wanted - magnitudes[above - 1], magnitudes[above] - wanted
    if lower == upper:
        return above if ties_up or above % 2 == 0 else above - 1
    return above if upper < lower else above - 1


_BF16 = [value_of(BF16, bits) for bits in range(0x7F80)]
_HALF = [_half(bits) for bits in range(0x7C00)]
E4M3 = [(code % 8) * 2.0**-9 if code < 8 else (8 + code % 8) * 2.0 ** (code // 8 - 10)
        for code in range(0x7F)]
E2M1 = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0]


def _is_negative(value: float) -> bool:
    return math.copysign(1.0, value) < 0


def bits_of(kind: str, value: float) -> int:
    """The nearest value of a page, saturating."""
    table = _HALF if kind == FP16 else _BF16
    return (0x8000 if _is_negative(value) else 0) | _nearest(table, abs(value))


def e4m3_of(value: float) -> int:
    return (0x80 if _is_negative(value) else 0) | _nearest(E4M3, abs(value))


def e4m3_value(code: int) -> float:
    """The code that E4M3 keeps for NaN counts as 480."""
    magnitude = 480.0 if code & 0x7F == 0x7F else E4M3[code & 0x7F]
    return -magnitude if code & 0x80 else magnitude


def e2m1_of(value: float) -> int:
    return (8 if _is_negative(value) else 0) | _nearest(E2M1, abs(value), ties_up=True)


def e2m1_value(code: int) -> float:
    return -E2M1[code & 7] if code & 8 else E2M1[code & 7]


def _crc_table() -> list[int]:
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
        table.append(byte)
    return table


_CRC = _crc_table()


def crc32c(data: bytes, start: int = 0) -> int:
    total = start ^ 0xFFFFFFFF
    for byte in data:
        total = total >> 8 ^ _CRC[(total ^ byte) & 0xFF]
    return total ^ 0xFFFFFFFF
