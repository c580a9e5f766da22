"""Names of cache tracks."""

from . import REFUSED, digest

_PREFIX = digest("a prefix")
_GENERATION = digest("a generation")[:32]
_FP = digest("a model")
_ROOT = "moq://kvcache.moq.arpa/v1/"
_TAG = _FP[:16]


def _track(tenant="acme", model_name="llama-3-8b", rung="BF16-lossless", layers=None, heads=None,
           model_fp=_FP, prefix=_PREFIX, generation=_GENERATION):
    return {
        "tenant": tenant,
        "model_name": model_name,
        "model_fp": model_fp,
        "prefix": prefix,
        "generation": generation,
        "rung": rung,
        "layers": layers,
        "heads": heads,
    }


def _name(track="BF16", scope=f"acme/m@{_TAG}", root=_ROOT, rest=(_PREFIX, _GENERATION)):
    return {
        "fields": [root.encode("utf-8").hex(), scope.encode("utf-8").hex(), *rest],
        "name": track.encode("utf-8").hex(),
    }


_RUNGS = (
    "FP16 BF16 FP8 Int8 FP4 Int4 AC BF16-lossless FP16-lossless KTC-coarse KTC-medium KTC-fine"
).split()
_PRINTABLE = "".join(chr(code) for code in range(0x21, 0x7F) if chr(code) != "@")

TRACK_NAMING = [
    *((f"rung {rung}", _track(rung=rung)) for rung in _RUNGS),
    ("the public tenant", _track(tenant="public")),
    ("a tenant of 64 characters", _track(tenant="a" * 60 + "-09z")),
    ("a tenant of hyphens", _track(tenant="--")),
    ("a model name with slashes", _track(model_name="org/family/model")),
    ("a model name that begins with a slash", _track(model_name="/model")),
    ("every character a model name may have", _track(model_name=_PRINTABLE)),
    ("a model name of 255 bytes", _track(model_name="m" * 255)),
    ("layers", _track(layers=[0, 15])),
    ("one layer", _track(layers=[7, 7])),
    ("heads", _track(heads=[4, 7])),
    ("layers and heads", _track(layers=[16, 31], heads=[0, 3])),
    ("the last layer and head there can be", _track(layers=[4095, 4095], heads=[65535, 65535])),
    ("zero bytes in the raw fields", _track(prefix="00" * 32, generation="ff" * 16)),
    ("no tenant", _track(tenant=""), REFUSED),
    ("a tenant of 65 characters", _track(tenant="a" * 65), REFUSED),
    ("an upper-case tenant", _track(tenant="Acme"), REFUSED),
    ("a tenant with a slash", _track(tenant="a/b"), REFUSED),
    ("a tenant with an underscore", _track(tenant="a_b"), REFUSED),
    ("a tenant with a newline", _track(tenant="acme\n"), REFUSED),
    ("no model name", _track(model_name=""), REFUSED),
    ("a model name of 256 bytes", _track(model_name="m" * 256), REFUSED),
    ("a model name with a space", _track(model_name="a b"), REFUSED),
    ("a model name with an @", _track(model_name="a@b"), REFUSED),
    ("a model name with a control character", _track(model_name="a\u007f"), REFUSED),
    ("a model name beyond ASCII", _track(model_name="mod\u00e8le"), REFUSED),
    ("a prefix of 31 bytes", _track(prefix=_PREFIX[2:]), REFUSED),
    ("a generation of 8 bytes", _track(generation=_GENERATION[:16]), REFUSED),
    ("a fingerprint of 8 bytes", _track(model_fp=_TAG), REFUSED),
    ("an unknown rung", _track(rung="FP2"), REFUSED),
    ("a rung in other letters", _track(rung="INT8"), REFUSED),
    ("no rung", _track(rung=""), REFUSED),
    ("layers the wrong way round", _track(layers=[5, 4]), REFUSED),
    ("heads the wrong way round", _track(heads=[1, 0]), REFUSED),
    ("layer 4096", _track(layers=[0, 4096]), REFUSED),
    ("head 65536", _track(heads=[0, 65536]), REFUSED),
    ("parse: plain", _name()),
    ("parse: a slice", _name("KTC-coarse;l=0-4095;h=8-15")),
    ("parse: a slice of heads", _name("Int4;h=0-0")),
    ("parse: a model name with slashes", _name(scope=f"a-1/b/c/d@{_TAG}")),
    ("parse: a wire form", {"wire": "04" "1a" + _ROOT.encode().hex() + "17"
                            + f"acme/m@{_TAG}".encode().hex() + "20" + _PREFIX + "10"
                            + _GENERATION + "04" + b"BF16".hex()}),
    ("parse: a rendered name", {"rendered": "moq.3a.2f.2fkvcache.2emoq.2earpa.2fv1.2f"
                                f"-acme.2fm.40{_TAG}-" + "aA" * 16 + "-" + "_9" * 8
                                + "--FP8.3bl.3d1.2d2"}),
    *(
        (f"parse: {why}", given, REFUSED)
        for why, given in [
            ("another root", _name(root="moq://kvcache.moq.arpa/v2/")),
            ("a root without its last slash", _name(root=_ROOT[:-1])),
            ("a field too few", _name(rest=(_PREFIX,))),
            ("a field too many", _name(rest=(_PREFIX, _GENERATION, "00"))),
            ("a prefix of 33 bytes", _name(rest=(_PREFIX + "00", _GENERATION))),
            ("a generation of 15 bytes", _name(rest=(_PREFIX, _GENERATION[2:]))),
            ("a catalog's namespace", _name(
                "v1", rest=(b"catalog".hex(), digest("node and boot")))),
            ("no tenant", _name(scope=f"/m@{_TAG}")),
            ("no slash", _name(scope=f"acme@{_TAG}")),
            ("no model name", _name(scope=f"acme/@{_TAG}")),
            ("no tag", _name(scope="acme/m")),
            ("a tag of 15 digits", _name(scope=f"acme/m@{_TAG[1:]}")),
            ("a tag of 17 digits", _name(scope=f"acme/m@{_TAG}0")),
            ("an upper-case tag", _name(scope=f"acme/m@{_TAG[:-1]}F")),
            ("a second @", _name(scope=f"acme/m@x@{_TAG}")),
            ("a newline behind the tag", _name(scope=f"acme/m@{_TAG}\n")),
            ("a space in the model name", _name(scope=f"acme/a b@{_TAG}")),
            ("an upper-case tenant", _name(scope=f"ACME/m@{_TAG}")),
            *(
                (f"track {track!r}", _name(track))
                for track in [
                    "", "bf16", "BF16 ", "BF16\n", "BF16;", "BF16;l=", "BF16;l=1", "BF16;l=1-",
                    "BF16;l=-1", "BF16;l=01-2", "BF16;l=1-02", "BF16;l=+1-2", "BF16;l=2-1",
                    "BF16;l=0-4096", "BF16;h=0-65536", "BF16;h=0-1;l=0-1", "BF16;l=0-1;l=0-1",
                    "BF16;l=0-1;h=0-1;", "BF16;x=0-1", "BF16;L=0-1", "BF16;l=0-1;h=",
                    "BF16;l=1-99999999999999999999", ";l=0-1", "BF16l=0-1",
                ]
            ),
        ]
    ),
]
