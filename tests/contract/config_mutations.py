"""Configs like those of the golden vectors, changed at random.

A text is taken apart into a tree that keeps every spelling: an object is a list of [name, value]
pairs (so a name may stand twice), an array a list behind a mark, everything else the text it was
written as.
"""

import json
import random
from pathlib import Path

VECTORS = Path(__file__).resolve().parents[2] / "docs/reference/vectors/model.json"

# What a rule of names.md asks for, and values that such a member often has.
MEMBERS = {
    "num_hidden_layers": "2 3", "n_layer": "2 4", "num_layers": "1 2",
    "num_attention_heads": "4 8", "n_head": "4", "hidden_size": "64", "n_embd": "64 128",
    "d_model": "64", "num_key_value_heads": "1 2 4", "num_kv_heads": "1 2",
    "num_attention_groups": "1 2 4", "num_query_groups": "2", "multi_query_group_num": "2",
    "n_head_kv": "2", "kv_n_head": "2", "num_key_value_heads_per_layer": "[2,2] null",
    "use_mla": "true false", "qk_head_dim": "24", "qk_nope_head_dim": "16",
    "swa_num_key_value_heads": "2", "my_kv_heads": "2 null", "attention_other_setting": "1",
    "multi_query": "true false", "head_dim": "16 24", "v_head_dim": "8 16",
    "kv_lora_rank": "16 512", "qk_rope_head_dim": "8 64", "partial_rotary_factor": "0.5 0.29 1",
    "rotary_pct": "0.25", "use_sliding_window": "true false", "sliding_window": "8 4096",
    "max_window_layers": "0 1 2 28", "sliding_window_pattern": "1 2 6",
    "attention_chunk_size": "4", "no_rope_layers": "[] [1,0]", "no_rope_layer_interval": "1 2",
    "new_decoder_architecture": "true false", "mamba_d_state": "null", "state_size": "null",
    "model_type": '"gemma2" "gemma3_text" "llama" "falcon" "gpt_bigcode" "step3" "qwen3" "mistral"'
                  ' "mixtral2" "bert" "modernbert-decoder" "paligemma" "gpt_oss" "Dream" "bloom"'
                  ' "granitemoehybrid" "Qwen3_Next" "jamba" "gemma3n_text" "ouro" "deepseek_v2"'
                  ' "minimax" "llada2_moe" "x-DLLM"',
    "attention_head_dim": "16 24 16.0", "kv_channels": "16", "total_ut_steps": "1 4 1.0",
    "sparse_config": '{"dense_len":-1} {"dense_len":8192}', "mamba_n_groups": "1",
    "dual_chunk_attention_config": '{"sparse_attention_enabled":false} {}',
    "rope_theta": "10000 1e4", "n_embed": "64", "attn_type_list": "[1,1] [1,0] [1.0,1] null",
    "is_causal": "true false", "use_bidirectional_attention": 'false true "vision"',
    "bidirectional": "false", "is_prefix_lm": "false true", "use_dynamic_ntk": "false true",
    "is_decoder": "true false", "architectures": '["XForCausalLM"] ["XForMaskedLM"] [] ["XDiffusionLM"]',
    "type": '"linear" "yarn" "dynamic" "longrope" "su" "default"',
    "rope_type": '"llama3" "default" "dynamic" "longrope" "mrope" "su"',
    "short_factor": "[1] [1.0] [1,2] []", "long_factor": "[1] [1e0] [1,2] []",
    "short_mscale": "null 1.2", "long_mscale": "null 1.2",
    "rope_scaling": "null", "rope_local_base_freq": "10000.0", "rope_parameters": "null",
    "layer_types": "null", "num_kv_shared_layers": "0", "is_encoder_decoder": "false",
    "index_head_dim": "null", "global_head_dim": "null", "num_global_key_value_heads": "null",
    "full_attention": "null", "sliding_attention": "null", "chunked_attention": "null",
    "text_config": "null", "torch_dtype": '"bfloat16" "float16"',
    "dtype": 'null "bf16" "float16" "auto" 1', "rotary_dim": "4 8 16 99",
    "quantization_config": '{"kv_cache_scheme":1} {"kv_cache_quant_algo":null} null',
    "use_cache": "true",
    "bos_token_id": "1", "transformers_version": '"5"', "_name": "1", "anything": "1",
}
# Of an object that stands where RoPE's parameters may stand.
INNER = ("rope_theta partial_rotary_factor full_attention sliding_attention anything type rope_type"
         " short_factor long_factor long_mscale").split()
NUMBERS = (
    "0 1 2 3 4 8 64 128 -0 -1 0.0 -0.0 1.0 2.0 2e0 20e-1 1E1 0.25 0.5 2.5 1e-400 -1e-400 1e16"
    " 4095 4096 4097 65535 65536 65537 65536.0 4294967295 4294967296 4294967297 1e9"
    " 9007199254740991 9007199254740992 9007199254740993 9007199254740992.0 9007199254740994.0"
    " 9223372036854775807 9223372036854775808 18446744073709551615 18446744073709551616"
    " 18446744073709551616.0 -9223372036854775808 -9223372036854775809"
    " 340282366920938463463374607431768211456 1e308 1.7976931348623157e308"
    " 0.1 0.10000000000000000555 5e-324 2e-324 1.0000000000000002 0.9999999999999999").split()
OTHERS = (
    'null true false "" "x" "2" "full_attention" "sliding_attention" "chunked_attention"'
    ' "linear_attention" "gemma2" "gemma\\u0032" "\\u0000" "\\ud83d\\ude00" "\u00e9"').split(" ")
BROKEN = (
    '01 +1 1. .5 0x1 1e - 1e309 1.8e308 NaN Infinity -Infinity nul True "\\ud800" "\\x"'
    ' "\\udc00\\ud800" \'x\'').split(" ")
BYTES = [b"\0", b"\xff", b"\xc0\x80", b"\xed\xa0\x80", b"\xef\xbb\xbf", b"\x1f", b"\n", b"\x0c",
         b"\xc2\x85", b"\xc2\xa0", b"\x7f", b",", b"}", b"]", b"{", b"[", b'"', b"\\", b":", b"0",
         b" ", b"/**/"]


class Array(list):
    pass


class Object(list):
    pass


def taken_apart(text: str):
    def tree(value):
        if isinstance(value, Object):
            return Object([json.dumps(name), tree(member)] for name, member in value)
        if isinstance(value, list):
            return Array(map(tree, value))
        return value[0] if isinstance(value, tuple) else json.dumps(value)

    def kept(literal):
        return (literal,)

    return tree(json.loads(text, object_pairs_hook=Object, parse_int=kept, parse_float=kept))


def written(node) -> str:
    if isinstance(node, Object):
        return "{" + ", ".join(f"{name}: {written(member)}" for name, member in node) + "}"
    if isinstance(node, Array):
        return "[" + ", ".join(map(written, node)) + "]"
    return node


def texts() -> list[str]:
    """The configs of the vectors that are accepted: what is refused already seldom tells more."""
    cases = json.loads(VECTORS.read_text(encoding="utf-8"))["cases"]
    return sorted({case["in"]["config"] for case in cases if "out" in case})


class Mutator:
    def __init__(self, seed: int):
        self.random = random.Random(seed)
        self.texts = texts()

    def config(self) -> bytes:
        tree = taken_apart(self.random.choice(self.texts))
        for _ in range(self.random.choice([0, 1, 1, 2, 2, 3, 5])):
            tree = self.changed(tree)
        text = written(tree).encode("utf-8")
        return self.torn(text) if self.random.random() < 0.05 else text

    def changed(self, tree):
        places = list(self.places(tree))
        objects = [node for node in places if isinstance(node, Object)]
        filled = [node for node in places if node]
        choice = self.random.random()
        if not objects or not filled or choice < 0.01:
            return self.random.choice([Array([tree]), self.value("anything"), Object()])
        node = self.random.choice(objects)
        if choice < 0.45:  # A member that a rule asks for, in place of one of its name or added.
            name = self.random.choice(list(MEMBERS))
            node[:] = [pair for pair in node if pair[0] != f'"{name}"']
            node.insert(self.random.randint(0, len(node)), [f'"{name}"', self.value(name)])
        elif choice < 0.5:
            self.stir_types(node)
        elif choice < 0.55:  # What the text part says, said at the top, or the other way round.
            tree = Object([['"text_config"', tree]] + self.random.sample(list(tree), min(
                len(tree), self.random.randint(0, 2)))) if isinstance(tree, Object) else tree
        else:
            self.change_one(self.random.choice(filled), choice)
        return tree

    def change_one(self, node: list, choice: float) -> None:
        at = self.random.randrange(len(node))
        is_object = isinstance(node, Object)
        if choice < 0.7:
            del node[at]
        elif choice < 0.73:
            node.append(node[at])  # In an object: a name that stands twice.
        elif choice < 0.76 and is_object:
            node[at] = [self.respelled(node[at][0]), node[at][1]]
            if self.random.random() < 0.2:
                node.append([json.dumps(json.loads(node[at][0])), "1"])
        elif is_object:
            node[at] = [node[at][0], self.literal()]
        else:
            node[at] = self.literal()

    def stir_types(self, node: list) -> None:
        kinds = ["full_attention", "sliding_attention", "chunked_attention", "attention"]
        kinds = kinds[:1] + kinds if self.random.random() < 0.7 else kinds[0::3]
        types = Array(f'"{self.random.choice(kinds)}"'
                      for _ in range(self.random.randint(0, 5)))
        node[:] = [pair for pair in node if pair[0] != '"layer_types"'] + [['"layer_types"', types]]

    def value(self, name: str):
        choice = self.random.random()
        if choice < 0.5:
            return self.random.choice(MEMBERS[name].split())
        if choice < 0.65:
            inner = self.random.sample(INNER, self.random.randint(0, 4))
            return Object([f'"{each}"', self.value(each)] for each in inner)
        return self.literal()

    def literal(self) -> str:
        choice = self.random.random()
        return self.random.choice(NUMBERS if choice < 0.65 else OTHERS if choice < 0.95 else BROKEN)

    def respelled(self, name: str) -> str:
        text = json.loads(name)
        at = self.random.randrange(len(text) + 1)
        return f'"{text[:at]}' + "".join(f"\\u{ord(c):04x}" for c in text[at:at + 1]) + (
            json.dumps(text[at + 1:])[1:])

    def torn(self, text: bytes) -> bytes:
        at = self.random.randrange(len(text) + 1)
        cut = at + self.random.choice([0, 0, 1, 3, len(text)])
        return text[:at] + self.random.choice([b"", *BYTES]) + text[cut:]

    def places(self, node):
        if isinstance(node, list):
            yield node
            for each in node:
                yield from self.places(each[1] if isinstance(node, Object) else each)
