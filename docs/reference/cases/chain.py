"""Prefix chains."""

from . import REFUSED, digest

_KEY = digest("a naming key")
_MODEL = digest("a model")
_IMAGE = digest("an image")
_SOUND = digest("a sound")


def _tokens(tokens, block_tokens=4, inputs=(), salt="", model_fp=_MODEL, **scope):
    return {
        **(scope or {"key": _KEY}),
        "model_fp": model_fp,
        "salt": salt,
        "block_tokens": block_tokens,
        "tokens": list(tokens),
        "inputs": [{"position": position, "digest": value} for position, value in inputs],
    }


def _hashes(hashes, salt="", **scope):
    return {**(scope or {"key": _KEY}), "model_fp": _MODEL, "salt": salt, "hashes": hashes}


PREFIX_CHAIN = [
    ("no tokens", _tokens([])),
    ("the public tenant", _tokens(range(12), tenant="public")),
    ("the public tenant's key, spelled out", _tokens(
        range(12), key="%s" % digest("kvcast/public/1"))),
    ("another key", _tokens(range(12))),
    ("another model", _tokens(range(12), model_fp=digest("another model"))),
    ("one token short of a block", _tokens(range(3))),
    ("exactly a block", _tokens(range(4))),
    ("a block and a part", _tokens(range(7))),
    ("blocks of one token", _tokens([5, 5, 5], block_tokens=1)),
    ("blocks of 16 tokens", _tokens(range(100, 148), block_tokens=16)),
    ("the same tokens in larger blocks", _tokens(range(12), block_tokens=6)),
    ("a block larger than the prompt", _tokens(range(12), block_tokens=2**32 - 1)),
    ("the largest token", _tokens([2**32 - 1, 0, 2**31, 1])),
    ("a salt", _tokens(range(8), salt="73616c74")),
    ("a salt of zeros", _tokens(range(8), salt="00000000")),
    ("a salt of 1024 bytes", _tokens(range(4), salt="5a" * 1024)),
    ("an input at the start", _tokens(range(12), inputs=[(0, _IMAGE)])),
    ("an input at a block's end", _tokens(range(12), inputs=[(3, _IMAGE)])),
    ("an input at the second block's start", _tokens(range(12), inputs=[(4, _IMAGE)])),
    ("another input at the same place", _tokens(range(12), inputs=[(4, _SOUND)])),
    ("two inputs in a block, one later", _tokens(
        range(12), inputs=[(1, _IMAGE), (2, _SOUND), (9, _IMAGE)])),
    ("the same inputs, not in order", _tokens(
        range(12), inputs=[(9, _IMAGE), (2, _SOUND), (1, _IMAGE)])),
    ("an input in the part that has no name", _tokens(range(7), inputs=[(5, _IMAGE)])),
    ("engine hashes", _hashes([digest("h1"), digest("h2"), digest("h3")])),
    ("engine hashes for the public tenant", _hashes([digest("h1")], tenant="public")),
    ("engine hashes of 8 bytes", _hashes(["0123456789abcdef", "fedcba9876543210"])),
    ("engine hashes of 1 and 1024 bytes", _hashes(["00", "77" * 1024])),
    ("engine hashes and a salt", _hashes([digest("h1")], salt="73616c74")),
    ("no engine hashes", _hashes([])),
    ("blocks of no tokens", _tokens(range(4), block_tokens=0), REFUSED),
    ("a token of 2^32", _tokens([0, 1, 2, 2**32]), REFUSED),
    ("a token of 2^32 in the part that has no name", _tokens([0, 1, 2, 3, 2**32]), REFUSED),
    ("a token below 0", _tokens([0, 1, 2, -1]), REFUSED),
    ("a salt of 1025 bytes", _tokens(range(4), salt="5a" * 1025), REFUSED),
    ("a key of 31 bytes", _tokens(range(4), key=_KEY[2:]), REFUSED),
    ("a key of 33 bytes", _tokens(range(4), key=_KEY + "00"), REFUSED),
    ("no key", _tokens(range(4), key=""), REFUSED),
    ("a fingerprint of 8 bytes", _tokens(range(4), model_fp=_MODEL[:16]), REFUSED),
    ("an input behind the prompt", _tokens(range(4), inputs=[(4, _IMAGE)]), REFUSED),
    ("an input before the prompt", _tokens(range(4), inputs=[(-1, _IMAGE)]), REFUSED),
    ("two inputs at one place", _tokens(range(4), inputs=[(1, _IMAGE), (1, _SOUND)]), REFUSED),
    ("an input's digest of 31 bytes", _tokens(range(4), inputs=[(1, _IMAGE[2:])]), REFUSED),
    ("an empty engine hash", _hashes([digest("h1"), ""]), REFUSED),
    ("an engine hash of 1025 bytes", _hashes(["77" * 1025]), REFUSED),
]
