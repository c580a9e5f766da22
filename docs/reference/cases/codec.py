"""Blocks as objects at every rung that is built."""

import hashlib
import struct
from dataclasses import replace

from kvcast_codec import Format, encode, seal
from kvcast_numbers import BF16, FP16, bits_of

from . import REFUSED

_HEADS = [(2, 40, 24), (2, 40, 24), (1, 70, 0)]
_LATENT = [(1, 36, 0)]
_SMALL = [(1, 3, 2)]


def _bytes(seed: str, count: int) -> bytes:
    """Bytes that anyone can make again."""
    made = b""
    while len(made) < count:
        made += hashlib.sha256(f"{seed} {len(made)}".encode()).digest()
    return made[:count]


def _noise(seed: str, count: int) -> list[int]:
    return list(struct.unpack(f"<{count}H", _bytes(seed, 2 * count)))


def _bell(seed: str, kind: str, count: int) -> list[int]:
    """What caches look like, with some channels larger than others."""
    rows = [_bytes(f"{seed} {i}", count) for i in range(4)]
    return [bits_of(kind, (sum(parts) - 510) / 100 * (8 if i % 16 == 5 else 1))
            for i, parts in enumerate(zip(*rows))]


def _format(rung: str, kind: str, layers=None, **changes) -> Format:
    layers = layers or _HEADS
    made = Format(rung, kind, layers, 0, 0, 4, 1)
    planes = made.planes()
    if rung == "FP8":
        made.scales = [2.0 ** (i % 3 - 4) for i in range(sum(heads for heads, _ in planes))]
    if rung == "FP4":
        made.scales = [(3 + i) / 2048 for i in range(len(planes))]
    if rung.endswith("lossless"):
        first = 118 if kind == BF16 else 8
        shares = [3, 4, 6, 10, 16, 24, 34, 44, 42, 32, 18, 10, 6, 3, 2, 2]
        made.tables = [(bytes(range(first + i % 2, first + i % 2 + 15)), bytes(shares))
                       for i in range(len(planes))]
        made.run_tokens = 3
    for name, value in changes.items():
        setattr(made, name, value)
    return made


def _words(values: list[int]) -> str:
    return struct.pack(f"<{len(values)}H", *values).hex()


def _encoded(form: Format, values: list[int], first_token: int = 0) -> dict:
    return {"format": form.encode().hex(), "first_token": first_token, "values": _words(values)}


def _decoded(form: Format, payload: bytes, pages: str, first_token: int = 0) -> dict:
    return {"format": form.encode().hex(), "first_token": first_token, "object": payload.hex(),
            "pages": pages}


_KINDS = [("BF16", BF16), ("FP16", FP16), ("BF16-lossless", BF16), ("FP16-lossless", FP16),
          *((rung, kind) for rung in ("Int8", "FP8", "Int4", "FP4") for kind in (BF16, FP16))]


def _both_ways() -> list[tuple]:
    cases = []
    for rung, kind in _KINDS:
        for shape, layers in (("heads and a latent", _HEADS), ("a latent", _LATENT)):
            form = _format(rung, kind, layers)
            for what, values in (("a cache", _bell(rung + shape, kind, form.run_tokens * form.values())),
                                 ("any bits", _noise(rung + shape, form.run_tokens * form.values()))):
                name = f"{rung} of {kind}, {shape}, {what}"
                cases.append((f"{name}: encode", _encoded(form, values)))
                exact = rung.startswith(("BF16", "FP16"))
                for pages in (kind,) if exact else (BF16, FP16):
                    cases.append((f"{name}: decode to {pages}",
                                  _decoded(form, encode(form, 0, values), pages)))
    return cases


def _edges() -> list[tuple]:
    cases = []
    for rung in ("Int8", "FP8", "Int4", "FP4"):
        form = _format(rung, BF16, _LATENT)
        for what, values in (
            ("zeros", [0, 0x8000] * 18), ("one value", [0x3FC0] * 36), ("denormals", [1, 0x8001, 0x7F] * 12),
            ("the largest", [0x7B80, 0xFB80, 0x7F7F] * 12), ("infinities and NaN", [0x7F80, 0xFF80, 0x7FC0] * 12),
            ("very small", [0x0D80, 0x8D80, 0x0D00] * 12), ("ties", [0x3F80, 0x3F88, 0x3F90, 0x3F98, 0x3E80, 0x3F40] * 6),
        ):
            made = encode(form, 0, values)
            cases.append((f"{rung}: {what}: encode", _encoded(form, values)))
            cases += [(f"{rung}: {what}: decode to {pages}", _decoded(form, made, pages))
                      for pages in (BF16, FP16)]
    last = _format("BF16-lossless", BF16)
    values = _bell("last", BF16, last.values())
    cases.append(("the last run of a block is shorter", _encoded(last, values, 3)))
    cases.append(("the last run of a block is read", _decoded(last, encode(last, 3, values), BF16, 3)))
    return cases


def _refusals() -> list[tuple]:
    cases = []
    for rung, kind in _KINDS[:4] + _KINDS[4::2]:
        form = _format(rung, kind, _SMALL)
        good = encode(form, 0, _bell(rung, kind, form.run_tokens * form.values()))
        for what, bad in (("nothing", b""), ("a header cut short", good[:7]), ("cut short", good[:-1]),
                          ("a byte more", good + b"\0"), ("a bit of its header", b"\2" + good[1:]),
                          ("its last bit", good[:-1] + bytes([good[-1] ^ 1])),
                          ("too short, its check fits", seal(form, form.run_tokens, good[8:-1])),
                          ("too many tokens, its check fits", seal(form, form.run_tokens + 1, good[8:]))):
            cases.append((f"{rung}: {what}", _decoded(form, bad, kind), REFUSED))
        other = _format(rung, kind, _SMALL, first_layer=1)
        cases.append((f"{rung}: of another slice", _decoded(other, good, kind), REFUSED))
        other = _format(rung, kind, _SMALL, calibration=bytes(32))
        cases.append((f"{rung}: of another calibration", _decoded(other, good, kind), REFUSED))
    int8 = _format("Int8", BF16, _SMALL)
    cases.append(("Int8: a scale that is no number", _decoded(
        int8, seal(int8, 1, b"\xc0\x7f" + bytes(7)), BF16), REFUSED))
    fp4 = _format("FP4", BF16, _SMALL)
    cases.append(("FP4: a scale that is no number", _decoded(
        fp4, seal(fp4, 1, b"\x7f" + bytes(4)), BF16), REFUSED))
    exact = _format("BF16-lossless", BF16, _SMALL, run_tokens=1)
    body = encode(exact, 0, [0x3F80] * 5)[8:]
    for what, bad in (("a state too small", body[:9] + bytes(4) + body[13:]),
                      ("bytes left over", body + bytes(2)),
                      ("more exponents than there are", b"\xff" + body[1:])):
        cases.append((f"BF16-lossless: {what}", _decoded(exact, seal(exact, 1, bad), BF16), REFUSED))
    cases.append(("BF16 into pages of FP16", _decoded(
        _format("BF16", BF16, _SMALL), encode(_format("BF16", BF16, _SMALL), 0, [0] * 5), FP16), REFUSED))
    return cases


def _formats() -> list[tuple]:
    good = _format("FP8", BF16, _SMALL)
    cases = [(f"the format of {rung} of {kind}", {"format": _format(rung, kind, calibration=b"\5" * 32).encode().hex()})
             for rung, kind in _KINDS]
    for what, changes in (
        ("no layers", {"layers": [], "scales": []}), ("no heads", {"layers": [(0, 3, 2)], "scales": []}),
        ("no tokens", {"block_tokens": 0}), ("a run longer than a block", {"run_tokens": 5}),
        ("a scale too few", {"scales": [1.0]}), ("a scale of zero", {"scales": [0.0, 1.0]}),
        ("a scale below zero", {"scales": [1.0, -1.0]}), ("a scale too large", {"scales": [1.0, 2.0**61]}),
        ("another rung's constants", {"rung": "Int8"}),
    ):
        cases.append((f"a format with {what}", {"format": replace(good, **changes).encode().hex()}, REFUSED))
    data = good.encode()
    cases += [
        ("a format cut short", {"format": data[:-1].hex()}, REFUSED),
        ("a format and a byte", {"format": (data + b"\0").hex()}, REFUSED),
        ("a format of another version", {"format": (b"\2" + data[1:]).hex()}, REFUSED),
        ("a format of a rung that there is not", {"format": (data[:1] + b"\x0c" + data[2:]).hex()}, REFUSED),
        ("a format with a part that there is not", {"format": (data[:3] + b"\x0a" + data[4:]).hex()}, REFUSED),
    ]
    return cases


CODEC = _both_ways() + _edges() + _refusals() + _formats()
