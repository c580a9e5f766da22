"""An engine's own values: what they are called, and how they are cut into pieces."""

from kvcast_value import BODY_MAX, piece

from . import REFUSED, digest

_NAME = digest("a value")
_LAYOUT = b"vllm 0.26 HND bf16 tp=0/2".hex()
_SHORT = b"what an engine computed"


def _format(**changed) -> dict:
    return {"model": "m", "layout": _LAYOUT, "block_tokens": 16, "salt": "", "key": b"key".hex(), **changed}


def _content(content: bytes, times: int = 1) -> dict:
    return {"name": _NAME, "bytes": content.hex(), "times": times}


def _taken(given: bytes, length: int = len(_SHORT), index: int = 0, name: str = _NAME) -> dict:
    return {"name": name, "length": length, "index": index, "piece": given.hex()}


_PIECE = piece(bytes.fromhex(_NAME), _SHORT, 0)

VALUE = [
    ("a name", _format()),
    ("a salted one", _format(salt=b"tenant 7".hex())),
    ("of the largest block", _format(block_tokens=1024)),
    ("of the longest key", _format(key="5a" * 1024)),
    ("of another layout", _format(layout=b"vllm 0.26 NHD bf16 tp=0/2".hex())),
    ("no layout", _format(layout=""), REFUSED),
    ("a layout too long", _format(layout="20" * 4097), REFUSED),
    ("a block too small", _format(block_tokens=15), REFUSED),
    ("a block too large", _format(block_tokens=1025), REFUSED),
    ("no key", _format(key=""), REFUSED),
    ("a key too long", _format(key="5a" * 1025), REFUSED),
    ("a byte", _content(b"x")),
    ("a short value", _content(_SHORT)),
    ("as long as one piece", _content(b"12345678", BODY_MAX // 8)),
    ("a byte longer", _content(b"1", BODY_MAX + 1)),
    ("of three pieces", _content(b"kv", BODY_MAX + 7)),
    ("nothing", _content(b"", 0), REFUSED),
    ("a piece is taken", _taken(_PIECE)),
    ("of another value", _taken(_PIECE, name=digest("another value")), REFUSED),
    ("of a longer value", _taken(_PIECE, length=len(_SHORT) + 1), REFUSED),
    ("of another version", _taken(b"\2" + _PIECE[1:]), REFUSED),
    ("with another byte", _taken(_PIECE[:-1] + b"?"), REFUSED),
    ("with another check", _taken(_PIECE[:4] + b"0000" + _PIECE[8:]), REFUSED),
    ("cut", _taken(_PIECE[:-1]), REFUSED),
    ("with a byte more", _taken(_PIECE + b"?"), REFUSED),
    ("of nothing but a header", _taken(_PIECE[:24]), REFUSED),
    ("empty", _taken(b""), REFUSED),
]
