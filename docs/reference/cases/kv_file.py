"""KV caches as files."""

import hashlib
import json

from kvcast_names import RUNGS

from . import REFUSED, digest


def _raw(header, data: bytes = b"", length=None, pad: int = 0) -> dict:
    if not isinstance(header, bytes):
        header = json.dumps(header, separators=(",", ":")).encode()
    text = header + b" " * pad
    size = len(text) if length is None else length
    return {"file": (size.to_bytes(8, "little") + text + data).hex()}


def _tensor(shape, begin, end, dtype="BF16", **more) -> dict:
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end], **more}


def _entry(**changes) -> dict:
    return {**_tensor([2, 1, 2], 0, 8), **changes}


# One layer, two tokens, one head, two values in K and in V.
_K, _V = _tensor([2, 1, 2], 0, 8), _tensor([2, 1, 2], 8, 16)
_GOOD = {"layers.0.k": _K, "layers.0.v": _V}
_DATA = bytes(range(16))
_LATENT = {"layers.0.kv": _tensor([2, 4], 0, 16)}


def _good(metadata=None, data=_DATA, **tensors) -> dict:
    """The file above with tensors changed, added or (None) left out."""
    named = {name.replace("_", ".") if name.startswith("layers_") else name: entry
             for name, entry in tensors.items()}
    header = {} if metadata is None else {"__metadata__": metadata}
    header |= {name: entry for name, entry in {**_GOOD, **named}.items() if entry is not None}
    return _raw(header, data)


def _metadata(**pairs) -> dict:
    return _good({"kvcast." + name: value for name, value in pairs.items()})


_READ = [
    ("K and V", _good()),
    ("V before K in the header", _raw(dict(reversed(_GOOD.items())), _DATA)),
    ("V before K in the data", _good(
        layers_0_k=_tensor([2, 1, 2], 8, 16), layers_0_v=_tensor([2, 1, 2], 0, 8))),
    ("a padded header", _raw(_GOOD, _DATA, pad=5)),
    ("a header on many lines", _raw(json.dumps(_GOOD, indent=1).encode() + b"\n\t\r ", _DATA)),
    ("a name with escapes", _raw(json.dumps(_GOOD).replace("layers.0.k", "l\\u0061yers.0.k")
                                 .encode(), _DATA)),
    ("V of another size", _good(
        layers_0_k=_tensor([2, 1, 3], 0, 12), layers_0_v=_tensor([2, 1, 1], 12, 16))),
    ("F16", _raw({"layers.0.kv": _tensor([2, 4], 0, 16, "F16")}, _DATA)),
    ("F32", _raw({"layers.0.kv": _tensor([1, 4], 0, 16, "F32")}, _DATA)),
    ("MLA", _raw(_LATENT, _DATA)),
    ("queries beside K and V", _good(data=bytes(32), layers_0_q=_tensor([2, 2, 2], 16, 32))),
    ("queries beside a latent", _raw({
        **_LATENT, "layers.0.q": _tensor([2, 3, 1], 16, 28)}, bytes(28))),
    ("layers of other shapes", _raw({
        "layers.1.kv": _tensor([1, 2], 0, 4), "layers.0.v": _tensor([1, 2, 1], 4, 8),
        "layers.0.k": _tensor([1, 2, 2], 8, 16)}, _DATA)),
    ("eleven layers", _raw({
        f"layers.{i}.kv": _tensor([1, 1], 2 * i, 2 * i + 2) for i in range(11)}, bytes(22))),
    ("empty metadata", _good({})),
    ("metadata", _metadata(model="org/m", model_fp=digest("a model"), tokens="2",
                           rope="applied")),
    ("a prompt", _metadata(prompt="0 4294967295")),
    ("a prompt and its digest", _metadata(prompt="1 2", tokens_sha256=hashlib.sha256(
        bytes([1, 0, 0, 0, 2, 0, 0, 0])).hexdigest(), values_crc32c="0123abcd")),
    ("no inputs, and no salt", _metadata(inputs="", salt_sha256=digest(""))),
    ("inputs at the first token and the last", _metadata(
        inputs=f"0={digest('a cat')} 1={digest('a dog')}")),
    *((f"values that came as {rung}", _metadata(rung=rung)) for rung in RUNGS),
    ("a slice of a layer", _metadata(slice=";l=7-7")),
    ("a slice of a head", _metadata(slice=";h=3-3")),
    ("a slice of a layer and a head", _metadata(slice=";l=4095-4095;h=65535-65535")),
    ("a slice of a layer of a latent", _raw({
        "__metadata__": {"kvcast.slice": ";l=0-0"}, **_LATENT}, _DATA)),
    ("metadata of others", _good({"format": "pt", "kvcast.other": "x", "": ""})),
]

_REFUSED = [
    ("no bytes", {"file": ""}),
    ("seven bytes", {"file": "00" * 7}),
    ("no header", _raw(b"")),
    ("a header longer than the file", _raw(_GOOD, b"", length=4096)),
    ("a header of 100,000,001 bytes", _raw(_GOOD, _DATA, length=100_000_001)),
    ("a header of 2^64-1 bytes", _raw(_GOOD, _DATA, length=2**64 - 1)),
    ("a header cut short", _raw(_GOOD, _DATA, length=40)),
    ("a header that begins with a space", _raw(b" " + json.dumps(_GOOD).encode(), _DATA)),
    ("a header that is a list", _raw(b"[]")),
    ("a header that is no UTF-8", _raw(b'{"\xff":{}}')),
    ("a place of minus nothing", _raw(
        json.dumps(_LATENT).encode().replace(b"[0, 16]", b"[-0, 16]"), _DATA)),
    ("no tensors", _raw(b"{}")),
    ("no tensors but metadata", _raw({"__metadata__": {"a": "b"}})),
    ("a tensor twice", _raw(json.dumps(_LATENT).encode()[:-1] + b","
                            + json.dumps(_LATENT).encode()[1:], _DATA)),
    ("K without V", _raw({"layers.0.k": _tensor([2, 4, 1], 0, 16)}, _DATA)),
    ("V without K", _raw({"layers.0.v": _tensor([2, 4, 1], 0, 16)}, _DATA)),
    ("K, V and a latent", _good(data=bytes(20), layers_0_kv=_tensor([2, 1], 16, 20))),
    ("no layer 0", _raw({"layers.1.kv": _LATENT["layers.0.kv"]}, _DATA)),
    ("a layer left out", _raw({
        "layers.0.kv": _tensor([2, 2], 0, 8), "layers.2.kv": _tensor([2, 2], 8, 16)}, _DATA)),
    *(
        (f"a tensor named {name!r}", _raw({name: _LATENT["layers.0.kv"]}, _DATA))
        for name in ["", "layers.00.kv", "layers.-0.kv", "layers.0.KV", "layers.0.kv ",
                     "layers.0.kv\n", "model.layers.0.kv", "layers..kv", "layers.0.q",
                     "layers.\u0660.kv"]
    ),
    ("queries of heads that share no K evenly", _raw({
        "layers.0.k": _tensor([1, 2, 1], 0, 4), "layers.0.v": _tensor([1, 2, 1], 4, 8),
        "layers.0.q": _tensor([1, 3, 1], 8, 14)}, bytes(14))),
    ("queries of another size", _good(data=bytes(24), layers_0_q=_tensor([2, 1, 1], 16, 20) | {
        "shape": [2, 2, 1], "data_offsets": [16, 24]})),
    ("queries of other tokens", _good(data=bytes(20), layers_0_q=_tensor([1, 1, 2], 16, 20))),
    ("queries alone", _raw({"layers.0.q": _tensor([2, 1, 2], 0, 8)}, bytes(8))),
    ("another tensor besides", _good(data=bytes(20), extra=_tensor([2], 16, 20))),
    ("a tensor's name of 257 bytes", _good(**{"n" * 257: _tensor([0], 16, 16)})),
    ("two dtypes", _good(layers_0_v=_tensor([2, 1, 2], 8, 16, "F16"))),
    ("I16", _raw({"layers.0.kv": _tensor([2, 4], 0, 16, "I16")}, _DATA)),
    ("F8_E4M3", _raw({"layers.0.kv": _tensor([2, 8], 0, 16, "F8_E4M3")}, _DATA)),
    ("a dtype in other letters", _raw({"layers.0.kv": _tensor([2, 4], 0, 16, "bf16")}, _DATA)),
    ("a dtype that is no string", _raw({"layers.0.kv": _tensor([2, 4], 0, 16, 1)}, _DATA)),
    ("other tokens in V", _good(layers_0_v=_tensor([1, 1, 4], 8, 16))),
    ("other heads in V", _good(layers_0_v=_tensor([2, 2, 1], 8, 16))),
    ("other tokens in another layer", _raw({
        "layers.0.kv": _tensor([2, 2], 0, 8), "layers.1.kv": _tensor([1, 4], 8, 16)}, _DATA)),
    ("K of two dimensions", _good(layers_0_k=_tensor([2, 2], 0, 8))),
    ("V of four dimensions", _good(layers_0_v=_tensor([2, 1, 2, 1], 8, 16))),
    ("a latent of three dimensions", _raw({"layers.0.kv": _tensor([2, 1, 4], 0, 16)}, _DATA)),
    ("no dimensions", _raw({"layers.0.kv": _tensor([], 0, 2)}, bytes(2))),
    ("no tokens", _raw({"layers.0.kv": _tensor([0, 4], 0, 0)})),
    ("no heads", _good(data=b"", layers_0_k=_tensor([2, 0, 2], 0, 0),
                       layers_0_v=_tensor([2, 0, 2], 0, 0))),
    ("no values", _raw({"layers.0.kv": _tensor([2, 0], 0, 0)})),
    ("a size of 65,537", _raw({"layers.0.kv": _tensor([1, 65537], 0, 131074)}, _DATA)),
    ("a shape whose product wraps", _good(layers_0_k=_tensor([2**63, 2, 2], 0, 0))),
    ("a shape below 0", _good(layers_0_k=_tensor([2, -1, -2], 0, 8))),
    ("a shape with a fraction", _good(layers_0_k=_tensor([2.0, 1, 2], 0, 8))),
    ("a shape with a truth", _good(layers_0_k=_tensor([2, True, 2], 0, 8))),
    ("a shape that is no list", _good(layers_0_k=_tensor("212", 0, 8))),
    ("offsets too few", _good(layers_0_k=_entry(data_offsets=[8]))),
    ("offsets too many", _good(layers_0_k=_entry(data_offsets=[0, 8, 8]))),
    ("offsets the wrong way round", _good(layers_0_k=_entry(data_offsets=[8, 0]))),
    ("offsets that do not fit the shape", _good(layers_0_k=_entry(data_offsets=[0, 10]))),
    ("offsets beyond the data", _good(layers_0_v=_entry(data_offsets=[16, 24]))),
    ("offsets near 2^64", _good(layers_0_v=_entry(data_offsets=[2**64 - 8, 2**64]))),
    ("offsets with a fraction", _good(layers_0_k=_entry(data_offsets=[0, 8.0]))),
    ("tensors that overlap", _good(layers_0_v=_entry(data_offsets=[4, 12]))),
    ("tensors in one place", _good(layers_0_v=_entry(data_offsets=[0, 8]))),
    ("a hole before the first", _good(data=bytes(18), layers_0_k=_entry(data_offsets=[2, 10]),
                                      layers_0_v=_entry(data_offsets=[10, 18]))),
    ("a hole", _good(data=bytes(18), layers_0_v=_entry(data_offsets=[10, 18]))),
    ("data left over", _good(data=bytes(17))),
    ("data missing", _good(data=bytes(15))),
    ("no dtype", _good(layers_0_k={"shape": [2, 1, 2], "data_offsets": [0, 8]})),
    ("no shape", _good(layers_0_k={"dtype": "BF16", "data_offsets": [0, 8]})),
    ("no offsets", _good(layers_0_k={"dtype": "BF16", "shape": [2, 1, 2]})),
    ("a member more", _good(layers_0_k=_entry(strides=[2, 2, 1]))),
    ("a tensor that is no object", _good(layers_0_k=[2, 1, 2])),
    ("metadata that is no object", _good("x")),
    ("metadata that is a number", _good({"a": 1})),
    ("metadata that is null", _good({"a": None})),
    ("metadata twice", _raw(b'{"__metadata__":{},"__metadata__":{},%s'
                            % json.dumps(_LATENT).encode()[1:], _DATA)),
    ("a model's name that is none", _metadata(model="a b")),
    ("a short fingerprint", _metadata(model_fp=digest("a model")[2:])),
    ("an upper-case fingerprint", _metadata(model_fp="A" * 64)),
    ("tokens that are not so many", _metadata(tokens="3")),
    ("tokens with a leading zero", _metadata(tokens="02")),
    ("RoPE that is not applied", _metadata(rope="none")),
    *(
        (f"a prompt that is none of two tokens: {text!r}", _metadata(prompt=text))
        for text in ["", "1", "1 2 3", "1,2", "1  2", " 1 2", "1 2 ", "[1 2]", "01 2", "1 -2",
                     "1 4294967296", "1 x", "1 \u0662"]
    ),
    ("a prompt of another digest", _metadata(prompt="1 2", tokens_sha256="0" * 64)),
    ("a prompt's digest in upper case", _metadata(tokens_sha256="A" * 64)),
    ("a check of seven digits", _metadata(values_crc32c="0123abc")),
    *(
        (f"inputs that are none: {text!r}", _metadata(inputs=text.replace("#", digest("a cat"))))
        for text in [" ", "0", "0=", "=#", "0=#0", "0=# ", " 0=#", "00=#", "-0=#", "0=#,1=#", "0=#  1=#", "1=# 0=#",
                     "0=# 0=#", "2=#", "18446744073709551616=#", "0=" + "A" * 64, "0=" + "0" * 63, "\u0660=#"]
    ),
    ("a salt's digest in upper case", _metadata(salt_sha256="A" * 64)),
    ("a salt's digest of 63 digits", _metadata(salt_sha256="0" * 63)),
    *(
        (f"a rung that is none: {text!r}", _metadata(rung=text))
        for text in ["", "bf16", "BF16 ", "KTC", "Int8,BF16"]
    ),
    *(
        (f"a slice that is none: {text!r}", _metadata(slice=text))
        for text in ["", "h=0-0", ";h=0", ";h=0-", ";h=1-0", ";h=00-0", ";h=0-0;l=0-0", ";h=0-0 ",
                     ";h=0-0;h=0-0", ";l=4096-4096", ";h=65536-65536", ";l=0-" + "9" * 5000, ";h=\u0660-0"]
    ),
    ("a slice of more layers than there are", _metadata(slice=";l=0-1")),
    ("a slice of more heads than there are", _metadata(slice=";l=0-0;h=0-1")),
    ("a slice of a latent's heads", _raw({
        "__metadata__": {"kvcast.slice": ";h=0-0"}, **_LATENT}, _DATA)),
    ("queries where K has no heads", _good(
        data=bytes(8), layers_0_k=_tensor([2, 0, 2], 0, 0), layers_0_v=_tensor([2, 0, 2], 0, 0),
        layers_0_q=_tensor([2, 1, 2], 0, 8))),
]


def _heads(k: str, v: str, kv_heads=1, key_size=2, value_size=2) -> dict:
    return {"kind": "heads", "kv_heads": kv_heads, "key_size": key_size,
            "value_size": value_size, "k": k, "v": v}


def _mla(kv: str, size: int, kv_heads=1, value_size=0) -> dict:
    return {"kind": "latent", "kv_heads": kv_heads, "key_size": size, "value_size": value_size,
            "kv": kv}


def _write(layers, dtype="BF16", tokens=2, **metadata) -> dict:
    return {"dtype": dtype, "tokens": tokens, "layers": layers,
            "metadata": {name.replace("__", "."): value for name, value in metadata.items()}}


_ONE = _heads("0001020304050607", "08090a0b0c0d0e0f")

_WRITE = [
    ("write one layer", _write([_ONE])),
    ("write two layers", _write([_ONE, _heads("ff" * 12, "ee" * 4, 1, 3, 1)], dtype="F16")),
    ("write MLA", _write([_mla("aa" * 12, 3)], dtype="F32", tokens=1)),
    ("write both kinds", _write([_mla("aa" * 12, 3), _ONE])),
    ("write metadata", _write([_ONE], kvcast__tokens="2", kvcast__rope="applied",
                              kvcast__model="org/m", kvcast__model_fp=digest("a model"),
                              note='\u00e9 "quoted" \\', Z="")),
    ("write a slice", _write([_ONE], kvcast__slice=";l=3-3;h=1-1")),
]
_WRITE_REFUSED = [
    ("write no layers", _write([])),
    ("write no tokens", _write([_heads("", "")], tokens=0)),
    ("write too few bytes", _write([_heads("00" * 7, "00" * 8)])),
    ("write too many bytes", _write([_heads("00" * 8, "00" * 9)])),
    ("write another dtype", _write([_ONE], dtype="I8")),
    ("write no heads", _write([_heads("", "", kv_heads=0)])),
    ("write a latent with two heads", _write([_mla("aa" * 12, 3, kv_heads=2)])),
    ("write a latent with V", _write([_mla("aa" * 12, 3, value_size=3)])),
    ("write other tokens than there are", _write([_ONE], kvcast__tokens="3")),
    ("write other heads than the slice has", _write([_ONE], kvcast__slice=";h=0-1")),
]

KV_FILE = [
    *_READ,
    *((name, given, REFUSED) for name, given in _REFUSED),
    *_WRITE,
    *((name, given, REFUSED) for name, given in _WRITE_REFUSED),
]
