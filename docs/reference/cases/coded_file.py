"""Coded caches and calibrations as files."""

import hashlib

from kvcast_coded_file import write_calibration, write_kvc
from kvcast_numbers import BF16, FP16

from . import REFUSED
from .codec import _format

_LAYERS = [(2, 40, 24), (2, 40, 24), (1, 70, 0)]
_TABLE = (bytes(range(118, 133)), bytes([3, 4, 6, 10, 16, 24, 34, 44, 42, 32, 18, 10, 6, 3, 2, 2]))


def _kvc() -> list[tuple]:
    cases = []
    for rung, kind in (("Int8", BF16), ("FP8", FP16), ("BF16-lossless", BF16)):
        form = _format(rung, kind)
        # What the payloads hold is not looked at here.
        payloads = [bytes([i]) * (40 * i % 97) for i in range(8 if form.run_tokens == 1 else 4)]
        hexes = [payload.hex() for payload in payloads]
        cases.append((f"{rung} is written", {"format": form.encode().hex(), "objects": hexes}))
        good = write_kvc(form, payloads)
        cases.append((f"{rung} is read", {"kvc": good.hex()}))
        for what, bad in (("nothing", b""), ("another magic", b"KVC2" + good[4:]),
                          ("a byte less", good[:-1]), ("a byte more", good + b"\0"),
                          ("an object less", write_kvc(form, payloads[:-1])),
                          ("no objects", write_kvc(form, [])),
                          ("no format", b"KVC1\0")):
            cases.append((f"{rung}: {what}", {"kvc": bad.hex()}, REFUSED))
    runs = _format("BF16-lossless", BF16)
    good = write_kvc(runs, [b"a", b"b"])
    cases.append(("an object without the gap before it", {"kvc": (good[:-5] + b"\0\1b").hex()}, REFUSED))
    return cases


def _sealed(covered: bytes) -> bytes:
    return covered + hashlib.sha256(covered).digest()


def _calibrations() -> list[tuple]:
    cases = []
    good = write_calibration(BF16, _LAYERS, [2.0 ** (i - 4) for i in range(9)],
                             [(3 + i) / 2048 for i in range(5)], [_TABLE] * 5)
    for rung in ("BF16", "BF16-lossless", "Int8", "FP8", "Int4", "FP4"):
        for block_tokens in (16, 128, 4096):
            cases.append((f"a calibration, {rung} in blocks of {block_tokens}",
                          {"calibration": good.hex(), "rung": rung, "block_tokens": block_tokens}))
    for what, bad in (("nothing", b""), ("cut short", good[:-1]), ("a byte more", good + b"\0"),
                      ("damaged", good[:20] + bytes([good[20] ^ 1]) + good[21:]),
                      ("another version", _sealed(good[:5] + b"\3" + good[6:-32])),
                      ("a version with bands, and none", _sealed(good[:5] + b"\2" + good[6:-32])),
                      ("an unknown type of values", _sealed(good[:6] + b"\2" + good[7:-32])),
                      ("too few constants", _sealed(good[:-33])),
                      ("layers that are no more than said twice",
                       _sealed(good[:7] + b"\3\1\2\x28\x18" * 1 + good[8:-32]))):
        cases.append((f"a calibration: {what}",
                      {"calibration": bad.hex(), "rung": "FP8", "block_tokens": 16}, REFUSED))
    cases.append(("AC without bands", {"calibration": good.hex(), "rung": "AC", "block_tokens": 16},
                  REFUSED))
    zero = write_calibration(BF16, [(1, 3, 2)], [0.0, 1.0], [1.0, 1.0], [_TABLE] * 2)
    cases.append(("a calibration with a scale of zero",
                  {"calibration": zero.hex(), "rung": "FP8", "block_tokens": 16}, REFUSED))
    return cases


CODED_FILE = _kvc() + _calibrations()
