"""What cases of models are made of."""

import json

from . import digest


def model(config, adapter=None, kv_dtype="bf16", block_tokens=16, **digests):
    return {
        "config": config if isinstance(config, str) else json.dumps(config),
        "weights": digests.get("weights", digest("weights")),
        "tokenizer": digests.get("tokenizer", digest("tokenizer")),
        "adapter": adapter,
        "kv_dtype": kv_dtype,
        "block_tokens": block_tokens,
    }


TINY = {"num_hidden_layers": 2, "num_attention_heads": 4, "hidden_size": 64}
PART = {**TINY, "num_key_value_heads": 4}  # A text part says how many KV heads it has.


def changed(config: dict, *without: str, **changes) -> dict:
    return {key: value for key, value in {**config, **changes}.items() if key not in without}


def tiny(**changes) -> dict:
    return model(changed(TINY, **changes))


def part(*without: str, **changes) -> dict:
    return model({"text_config": changed(PART, *without, **changes)})
