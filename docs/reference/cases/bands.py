"""Objects of AC and KTC, coded with small calibrations."""

import hashlib
import struct

from kvcast_bands import (BAND_RUNGS, HEAD, LAYER, NO_ROPE, SKIPPED, Band, Bands, PlaneBands, Rope,
                          SymbolTable, encode_bands)
from kvcast_codec import Format, seal
from kvcast_coded_file import Calibration
from kvcast_numbers import BF16, FP16, f32

from . import REFUSED
from .codec import _bell, _bytes, _noise, _words

_TABLE = (bytes(range(118, 133)), bytes([3, 4, 6, 10, 16, 24, 34, 44, 42, 32, 18, 10, 6, 3, 2, 2]))
# One with all symbols, one that knows only small numbers, one with lower bits.
_TABLES = [SymbolTable(0, 120, 140, bytes([2, 4, 8, 12, 18, 26, 30, 50, 30, 26, 18, 12, 8, 4, 2, 6])),
           SymbolTable(0, 90, 180, bytes([0] * 6 + [20, 214, 20] + [0] * 6 + [2])),
           SymbolTable(2, 128, 128, bytes([1, 2, 6, 12, 20, 28, 34, 44, 34, 28, 20, 12, 6, 4, 2, 3]))]
_POSITION = 3  # Where the pages of C++ tests begin.
_SHAPES = {"heads": [(2, 8, 6), (2, 8, 6)], "a latent": [(1, 20, 0)], "a head": [(1, 5, 3)]}


def _words_of(seed: str, count: int, most: int) -> list[int]:
    return [word % (2 * most + 1) - most
            for word, in struct.iter_unpack("<H", _bytes(seed, 2 * count))]


def _floats_of(seed: str, count: int, least: float, most: float) -> list[float]:
    return [f32(least + (most - least) * word / 65535)
            for word, in struct.iter_unpack("<H", _bytes(seed, 2 * count))]


def _plane(seed: str, values: int, together: int) -> PlaneBands:
    tables = [bytes(SKIPPED if i == 3 else i % 3 for i in _bytes(f"{seed} {rung}", values))
              for rung in BAND_RUNGS]
    bands = [Band(_floats_of(f"{seed} c{i}", together, 1e-5, 3e-5),
                  _words_of(f"{seed} f{i}", together**2, 3000),
                  _words_of(f"{seed} i{i}", together**2, 32767)) for i in range(values // together)]
    return PlaneBands(_floats_of(seed + "m", values, -1, 1), _floats_of(seed + "i", values, 50, 900),
                      _floats_of(seed + "o", values, 1e-5, 2e-5),
                      _floats_of(seed + "a", values, 0.2, 2), tables, bands)


def _calibration(kind: str, form: int, shape: str) -> Calibration:
    layers = _SHAPES[shape]
    ropes = [Rope(0, False, [2**61 + 12345, 2**57]), Rope(1, True, [2**60 // 3, 7 * 2**50])]
    bands = Bands(form, ropes, bytes((i, NO_ROPE)[i % 3 == 2] % 256 for i in range(len(layers))),
                  [(f32(0.5 + i / 7), f32(0.3 + i / 9), _TABLES) for i in range(4)])
    for number, (heads, *sizes) in enumerate(layers):
        for part, size in enumerate(sizes):
            if size:
                values = heads * size
                bands.planes.append(_plane(f"{shape}{form}{number}{part}", values,
                                           values if form == LAYER else size))
    planes = [size for _, *sizes in layers for size in sizes if size]
    rows = sum(heads for heads, *sizes in layers for size in sizes if size)
    return Calibration(kind, layers, [1.0] * rows, [1.0] * len(planes), [_TABLE] * len(planes), bands)


def _format(rung: str, made_with: Calibration, **changes) -> Format:
    made = Format(rung, made_with.value_type, made_with.layers, 0, 0, 8, 5,
                  made_with.encode()[-32:])
    for name, value in changes.items():
        setattr(made, name, value)
    return made


def _case(calibration: Calibration, form: Format, first_token: int = 0, **more) -> dict:
    return {"calibration": calibration.encode().hex(), "format": form.encode().hex(),
            "first_token": first_token, **more}


def _object(calibration: Calibration, form: Format, values: list[int], tokens: int) -> bytes:
    body = encode_bands(form, calibration.bands, calibration.layers, _POSITION, values)
    return seal(form, tokens, body)


def _both_ways() -> list[tuple]:
    cases = []
    for shape in _SHAPES:
        for kind, way, rung in ((BF16, HEAD, "AC"), (FP16, LAYER, "AC"), (BF16, LAYER, "KTC-fine"),
                                (BF16, HEAD, "KTC-coarse"), (FP16, HEAD, "KTC-medium")):
            calibration = _calibration(kind, way, shape)
            form = _format(rung, calibration)
            count = 5 * form.values()
            for what, values in (("a cache", _bell(rung + shape, kind, count)),
                                 ("any bits", _noise(rung + shape, count))):
                name = f"{rung} of {kind}, {shape}, bands of {'heads' if way == HEAD else 'layers'}, {what}"
                cases.append((f"{name}: encode",
                              _case(calibration, form, position=_POSITION, values=_words(values))))
                payload = _object(calibration, form, values, 5)
                for pages in (BF16, FP16):
                    cases.append((f"{name}: decode to {pages}",
                                  _case(calibration, form, object=payload.hex(), pages=pages)))
    return cases


def _others() -> list[tuple]:
    calibration = _calibration(BF16, HEAD, "heads")
    last = _format("KTC-fine", calibration)
    cases = [("the last run of a block",
              _case(calibration, last, 5, position=_POSITION,
                    values=_words(_bell("last", BF16, 3 * last.values()))))]
    part = _format("KTC-fine", calibration, layers=[(1, 8, 6)], first_layer=1, first_head=1)
    cases.append(("a slice of a layer and a head",
                  _case(calibration, part, position=_POSITION,
                        values=_words(_bell("slice", BF16, 5 * part.values())))))
    whole = _calibration(BF16, LAYER, "heads")
    for rung in ("AC", "KTC-fine"):
        part = _format(rung, whole, layers=[(1, 8, 6)], first_layer=1, first_head=1)
        case = ("a slice of a head where layers are together, " + rung,
                _case(whole, part, position=_POSITION,
                      values=_words(_bell("slice", BF16, 5 * part.values()))))
        cases.append(case if rung == "AC" else (*case, REFUSED))
    form = _format("KTC-fine", calibration)
    good = _object(calibration, form, _bell("good", BF16, 5 * form.values()), 5)
    for what, bad in (("nothing", b""), ("cut short", good[:-2]), ("two bytes more", good + b"\0\0"),
                      ("damaged", good[:30] + bytes([good[30] ^ 1]) + good[31:]),
                      ("a body too short", seal(form, 5, good[8:40])),
                      ("others that are not there", seal(form, 5, good[8:12] + b"\xff\xff\xff\xff" + good[16:])),
                      ("two bytes less, sealed", seal(form, 5, good[8:-2])),
                      ("two bytes more, sealed", seal(form, 5, good[8:] + b"\0\0"))):
        cases.append((f"KTC: {what}", _case(calibration, form, object=bad.hex(), pages=BF16), REFUSED))
    other = _format("KTC-fine", calibration, calibration=hashlib.sha256(b"").digest())
    cases.append(("KTC: another calibration",
                  _case(calibration, other, object=good.hex(), pages=BF16), REFUSED))
    return cases + _calibrations(calibration)


def _calibrations(good: Calibration) -> list[tuple]:
    """Calibrations that are refused, whatever is coded with them."""
    cases = []
    form = _format("AC", good)
    for what, change in (
            ("an unknown form", lambda bands: setattr(bands, "form", 3)),
            ("a rope that is not there", lambda bands: setattr(bands, "rope_of_layer", b"\2\0")),
            ("a rope that is too long", lambda bands: setattr(bands.ropes[0], "turns", [1] * 5)),
            ("a rope without pairs", lambda bands: setattr(bands.ropes[0], "turns", [])),
            ("a step of zero", lambda bands: bands.rungs.__setitem__(2, (0.0, 1.0, _TABLES))),
            ("a table that is not there",
             lambda bands: bands.planes[0].tables.__setitem__(1, bytes([9]) * 16)),
            ("a table that shares out too little", lambda bands: bands.rungs.__setitem__(
                0, (1.0, 1.0, [SymbolTable(0, 1, 1, bytes([1] * 16))] * 3))),
            ("a table without others", lambda bands: bands.rungs.__setitem__(
                0, (1.0, 1.0, [SymbolTable(0, 1, 1, bytes([255, 1] + [0] * 14))] * 3))),
            ("a scale that is infinite",
             lambda bands: bands.planes[0].in_scale.__setitem__(0, float("inf"))),
            ("a mean that is not a number",
             lambda bands: bands.planes[0].mean.__setitem__(0, float("nan"))),
            ("too few planes", lambda bands: bands.planes.pop()),
    ):
        bad = _calibration(BF16, HEAD, "heads")
        change(bad.bands)
        own = _format("AC", bad)
        cases.append((f"a calibration with {what}",
                      _case(bad, own, position=_POSITION,
                            values=_words(_bell("bad", BF16, 5 * form.values()))), REFUSED))
    return cases


BANDS = _both_ways() + _others()
