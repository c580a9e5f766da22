"""Canonical values and the digests of files."""

import json

from . import REFUSED

_TEXTS = [
    "null", "true", "false", "0", "-0", "1", "-1", "127", "-128", "9223372036854775807",
    "-9223372036854775808", "9223372036854775808", "18446744073709551615",
    "18446744073709551616", "-9223372036854775809", "100000000000000000000000000000",
    "0.0", "-0.0", "1.0", "10000", "10000.0", "1e4", "1E+4", "0.1e5", "100000e-1", "-2.50e1",
    "0.5", "-0.5", "1e-05", "3.141592653589793", "0.1", "0.10000000000000000555", "0.3",
    "9007199254740992.0", "9007199254740993.0", "9007199254740994.0", "-9007199254740992.0",
    "-9007199254740994.0", "9007199254740993", "1e15", "1e16", "1e22", "1e300", "-1e300",
    "1.7976931348623157e308", "5e-324", "2.2250738585072014e-308", "1e-400", "-1e-400",
    '""', '"text"', '"\\u00e9"', '"e\\u0301"', '"\\ud83d\\ude00"', '"\\u0000"', '"\\uffff"',
    '"a\\"b\\\\c\\/d\\b\\f\\n\\r\\t"', '"\\u0041"', '"1"',
    "[]", "[1, 1.0, true, null]", "[[], [[]], {}]", " [ 1 ,\\t2 ] ".replace("\\t", "\t"),
    "{}", '{"b": 1, "a": 2}', '{"a": 2, "b": 1}', '{"": 0}', '{"a": {"d": 1, "c": [2]}}',
    '{"aa": 1, "a": 2, "b": 3, "B": 4, "_": 5}',
    '{"\\uffff": 1, "\\ud83d\\ude00": 2, "\\u007f": 3}',
    '{"a": 1, "A": 1}', "[" * 32 + "]" * 32,
]
_NOT_JSON = [
    "", " ", "nul", "True", "NaN", "Infinity", "-Infinity", "+1", "01", "-01", "1.", ".5", "1e",
    "1e+", "0x10", "1_000", "--1", "'a'", '"a', '"\t"', '"\\x41"', '"\\u12"', '"\\ud83d"',
    '"\\ude00"', '"\\ude00\\ud83d"', "[1,]", "[1 2]", "[", "]", "{", '{"a"}', '{"a":}',
    '{"a":1,}', "{a:1}", "{1:1}", '{"a":1}{', "1 2", "[1]]", "// a\n1", "1e309", "-1e309",
    "1" + "0" * 400, '{"a":1,"a":1}', '{"a":1,"b":2,"a":3}', '[{"x":{"a":1,"\\u0061":2}}]',
    "\ufeff1", "\u00a01", "1\u0000",
]

CANONICAL = [
    *((text, {"json": text}) for text in _TEXTS),
    *((f"refused: {text!r}", {"json": text}, REFUSED) for text in _NOT_JSON),
]


def _index(*names) -> str:
    return json.dumps({"metadata": {}, "weight_map": {f"t{i}": n for i, n in enumerate(names)}})


_A, _B = "model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"
_INDEX = "model.safetensors.index.json"


def _weights(files: dict, **given) -> dict:
    return {"use": "weights", "files": files, **given}


def _tokenizer(*names: str) -> dict:
    return {"use": "tokenizer", "files": {name: f"this is {name}" for name in names}}


def _adapter(*names: str, config: str = '{"peft_type": "LORA", "alora_invocation_tokens": null}') -> dict:
    contents = {name: f"this is {name}" for name in names}
    return {"use": "adapter", "files": {
        name: config if name == "adapter_config.json" else text for name, text in contents.items()}}


FILE_DIGEST = [
    ("one file", _weights({"model.safetensors": "w"})),
    ("an empty file", _weights({"model.safetensors": ""})),
    ("an index", _weights({_INDEX: _index(_A, _B, _A), _B: "two", _A: "one"})),
    ("an index in another order", _weights({_INDEX: _index(_B, _A), _A: "one", _B: "two"})),
    ("contents the other way round", _weights({_INDEX: _index(_A, _B), _A: "two", _B: "one"})),
    ("an index wins over other weights", _weights(
        {_INDEX: _index(_A), _A: "one", "consolidated.safetensors": "w"})),
    ("an index that names model.safetensors", _weights(
        {_INDEX: _index("model.safetensors"), "model.safetensors": "w"})),
    ("an index wins over parts of the same in another format", _weights(
        {_INDEX: _index(_A), _A: "one", "consolidated-00001-of-00002.safetensors": "w"})),
    ("model.safetensors wins over the same in another format", _weights(
        {"model.safetensors": "w", "consolidated.safetensors": "o",
         "consolidated-1-of-2.safetensors": "p"})),
    ("nothing but another format", _weights({"consolidated.safetensors": "o"})),
    ("another format beside weights of any name", _weights(
        {"a.safetensors": "a", "consolidated.safetensors": "o"})),
    ("all that end in .safetensors", _weights(
        {"b.safetensors": "b", "a.safetensors": "a", "B.safetensors": "B", "a.bin": "x",
         "adapter_x.safetensors": "x", "consolidated.safetensors.index": "x"})),
    ("an adapter beside the weights, and it is named", _weights(
        {"model.safetensors": "w", "adapter_model.safetensors": "x", "adapter_config.json": "{}",
         "new_embeddings.safetensors": "e"}, adapter=True)),
    ("an adapter beside parts of weights, and it is named", _weights(
        {_INDEX: _index(_A), _A: "one", "adapter_model.safetensors": "x"}, adapter=True)),
    ("all that end in .safetensors but an adapter, and it is named", _weights(
        {"a.safetensors": "a", "adapter_model.safetensors": "x",
         "new_embeddings.safetensors": "e"}, adapter=True)),
    ("names that are nearly those of parts", _weights(
        {"a-1-of-.safetensors": "a", "b-1of2.safetensors": "b", "c-of-2.safetensors": "c",
         "d-1-of-2.safetensors.bak": "d", "-x-of-2.safetensors": "e"})),
    ("names beyond ASCII in byte order", _weights(
        {"\uff5e.safetensors": "1", "\U0001f600.safetensors": "2", "z.safetensors": "3"})),
    ("tokenizer.json", _tokenizer("tokenizer.json", "tokenizer.model", "vocab.json")),
    ("tokenizer.model", _tokenizer("tokenizer.model", "merges.txt", "vocab.json")),
    ("merges and vocabulary", _tokenizer("vocab.json", "merges.txt", "special.json")),
    ("merges and vocabulary before tiktoken.model", _tokenizer(
        "vocab.json", "merges.txt", "tiktoken.model")),
    ("tiktoken.model", _tokenizer("tekken.json", "tiktoken.model", "vocab.json")),
    ("tekken.json", _tokenizer("tekken.json", "tokenizer_config.json")),
    ("an adapter", _adapter("adapter_model.safetensors", "adapter_config.json", "README.md")),
    ("an adapter with embeddings of its own", _adapter(
        "adapter_model.safetensors", "adapter_config.json", "new_embeddings.safetensors")),
    *(
        (name, given, REFUSED)
        for name, given in [
            ("no weights", _weights({"config.json": "{}"})),
            ("nothing but an adapter's weights", _weights(
                {"adapter_model.safetensors": "x"}, adapter=True)),
            ("an adapter's weights beside the model's", _weights(
                {"model.safetensors": "w", "adapter_model.safetensors": "x"})),
            ("an adapter's config beside the weights", _weights(
                {_INDEX: _index(_A), _A: "one", "adapter_config.json": "{}"})),
            ("an index, and a model.safetensors that it does not name", _weights(
                {_INDEX: _index(_A), _A: "one", "model.safetensors": "w"})),
            *((f"an adapter's {name} beside the weights", _weights(
                {"model.safetensors": "w", name: "x"}))
              for name in ("new_embeddings.safetensors", "new_embeddings.bin")),
            ("an index that names model.safetensors, and a part beside it", _weights(
                {_INDEX: _index("model.safetensors"), "model.safetensors": "w", _A: "one"})),
            ("an index, and weights of any name beside it", _weights(
                {_INDEX: _index(_A), _A: "one", "extra.safetensors": "x"})),
            ("an index, and weights that are called like an adapter's", _weights(
                {_INDEX: _index(_A), _A: "one", "adapter_x.safetensors": "x"})),
            ("model.safetensors, and others", _weights(
                {"model.safetensors": "w", "other.safetensors": "o"})),
            ("model.safetensors, and others in other letters", _weights(
                {"model.safetensors": "w", "Consolidated.safetensors": "o"})),
            ("parts of nothing but another format", _weights(
                {"consolidated-1-of-2.safetensors": "o"})),
            ("a part of two", _weights({_A: "one"})),
            ("all parts, but no index", _weights({_A: "one", _B: "two"})),
            ("a part beside model.safetensors", _weights(
                {"model.safetensors": "w", "x-1-of-3.safetensors": "x"})),
            ("a part whose name begins where it ends", _weights({"-1-of-3.safetensors": "x"})),
            ("a part whose name has a line end", _weights({"a\n-1-of-3.safetensors": "x"})),
            ("an index whose file is missing", _weights({_INDEX: _index(_A, _B), _A: "one"})),
            ("an index that names nothing", _weights(
                {_INDEX: _index(), "model.safetensors": "w"})),
            ("an index without a map", _weights({_INDEX: "{}", "model.safetensors": "w"})),
            ("an index that is no JSON", _weights({_INDEX: "", "model.safetensors": "w"})),
            ("an index that names a number", _weights({_INDEX: _index(1), "1": "w"})),
            ("an index that leaves the folder", _weights({_INDEX: _index("../w"), "../w": "w"})),
            ("an index that names a folder", _weights({_INDEX: _index(".."), "..": "w"})),
            ("an index that names no weights", _weights(
                {_INDEX: _index("config.json"), "config.json": "{}"})),
            ("no tokenizer", _tokenizer("tokenizer_config.json")),
            ("a vocabulary without merges", _tokenizer("vocab.json")),
            ("an adapter without its config", _adapter("adapter_model.safetensors")),
            ("an adapter without its weights", _adapter("adapter_config.json")),
            *((f"an adapter of another kind: {config}", _adapter(
                "adapter_model.safetensors", "adapter_config.json", config=config))
              for config in (
                  "", "[]", '{"peft_type": "XLORA"}', '{"peft_type": 1}',
                  '{"alora_invocation_tokens": [1, 2]}',
                  '{"peft_type": "LORA", "layer_replication": [[0, 4], [2, 6]]}')),
            ("an adapter with embeddings that nobody reads", _adapter(
                "adapter_model.safetensors", "adapter_config.json", "new_embeddings.bin")),
        ]
    ),
]
