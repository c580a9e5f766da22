"""From a model's files to its description and fingerprint.

Follows names.md, "Model description and fingerprint".
"""

import hashlib
import math
from dataclasses import dataclass, field

from kvcast_canonical import canonical, whole
from kvcast_config import MAX_U32, MAX_WHOLE, Members, full_kinds, refuse_unknown
from kvcast_names import MAX_HEADS, MAX_LAYERS, Refused, exactly, u32

KV_DTYPES = ("bf16", "fp16", "fp32", "fp8_e4m3", "fp8_e5m2", "int8")
# By the name that config.json has for it, or our own.
HUGGING_FACE_DTYPES = {
    "bfloat16": "bf16",
    "float16": "fp16",
    "float32": "fp32",
    "float8_e4m3fn": "fp8_e4m3",
    "float8_e5m2": "fp8_e5m2",
    **{name: name for name in KV_DTYPES},
}
DTYPE_MEMBERS = ("dtype", "torch_dtype")
MAX_SIZE = 65536


def sha256(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()


# ---- Config digest ----------------------------------------------------------------------------

WITHOUT_EFFECT = frozenset(
    "transformers_version torch_dtype dtype use_cache"
    " bos_token_id eos_token_id pad_token_id".split()
)


def _effective(members: dict) -> dict:
    return {
        name: value
        for name, value in members.items()
        if not name.startswith("_") and name not in WITHOUT_EFFECT
    }


def usual_kv_dtype(config: dict) -> str:
    """What KV is computed in where nobody says more than the config does."""
    text = config.get("text_config")
    parts = [Members(config)] + ([Members(text)] if isinstance(text, dict) else [])
    for part in parts:
        quantized = part.get("quantization_config")
        for name in ("kv_cache_scheme", "kv_cache_quant_algo"):
            if isinstance(quantized, dict) and quantized.get(name) is not None:
                raise Refused(f"{name}: KV may be stored otherwise than it is computed")
    said = [
        next((part.get(name) for name in DTYPE_MEMBERS if isinstance(part.get(name), str)), None)
        for part in parts
    ]
    said = {value for value in said if value is not None}
    if len(said) != 1 or said.isdisjoint(HUGGING_FACE_DTYPES):
        raise Refused("the config does not say what KV is computed in")
    return HUGGING_FACE_DTYPES[said.pop()]


def config_digest(config: dict) -> bytes:
    kept = _effective(config)
    if isinstance(kept.get("text_config"), dict):
        kept["text_config"] = _effective(kept["text_config"])
    return sha256(canonical(kept))


# ---- Layer groups -----------------------------------------------------------------------------


@dataclass(frozen=True)
class LayerKind:
    """Everything that layers of one group share."""

    attention: str  # mha, gqa or mla
    kv_heads: int
    key_size: int
    value_size: int
    rotary_size: int
    window_kind: str  # full, sliding or chunked
    window: int
    rope: bytes  # a canonical value


@dataclass
class LayerGroup:
    kind: LayerKind
    layers: list[int] = field(default_factory=list)


# Of models whose files may leave out what their code knows.
USUAL_PATTERNS = {"cohere2": 4, "gemma2": 2, "gemma3_text": 6, "gpt_oss": 2}
USUAL_INTERVAL = 4
USUALLY_MULTI_QUERY = ("falcon", "gpt_bigcode")

# Models whose code has a head size of its own, or a number of KV heads, which is not what follows
# from the other counts. Those of the first list have both.
OWN_HEAD_SIZE = frozenset(
    "afmoe cohere2_moe cwm ernie4_5 glm glm4 gpt_oss helium higgs_audio_v2 hrm_text hy_v3"
    " inkling_text laguna llama4_text mellum mimo_v2_flash minimax_m2 minimax_m3_vl_text"
    " ministral3 muse_glimmer_text paddleocr_vl_text qwen3 qwen3_5_moe_text qwen3_5_text"
    " qwen3_next qwen3_vl_moe_text qwen3_vl_text seed_oss solar_open step3p5 zaya".split()
)
OWN_KV_HEADS = frozenset(
    "bitnet dots1 ernie4_5_moe exaone4 exaone_moe glm4_moe minimax ministral mistral mixtral"
    " phi4_multimodal phimoe qwen2 qwen2_moe qwen3_moe smollm3 stablelm starcoder2".split()
)


def _has_own_head_size(text: Members) -> bool:
    kind = text.get("model_type")
    return isinstance(kind, str) and (kind in OWN_HEAD_SIZE or "gemma" in kind)


def _has_own_kv_heads(text: Members) -> bool:
    kind = text.get("model_type")
    return _has_own_head_size(text) or (isinstance(kind, str) and kind in OWN_KV_HEADS)


def _kv_heads(text: Members, heads: int) -> int:
    named = text.first("num_key_value_heads", "num_attention_groups")
    if named:
        return text.count(named, 1, MAX_HEADS)
    multi_query = text.flag("multi_query")
    must_say = text.nested or _has_own_kv_heads(text)
    if multi_query is None and text.get("model_type") in USUALLY_MULTI_QUERY:
        if must_say:
            raise Refused("multi_query is left out")
        multi_query = True
    if multi_query and not text.flag("new_decoder_architecture"):
        return 1
    if "num_kv_heads" in text:
        return text.count("num_kv_heads", 1, MAX_HEADS)
    if must_say:
        raise Refused("the number of KV heads is left out")
    return heads


def _chunked_kinds(text: Members, layers: int) -> list[str]:
    turned = text.get("no_rope_layers")
    if turned is None or turned == []:
        period = USUAL_INTERVAL
        if "no_rope_layer_interval" in text:
            period = text.count("no_rope_layer_interval", 1, MAX_WHOLE)
        return ["chunked" if (layer + 1) % period else "full" for layer in range(layers)]
    if not isinstance(turned, list) or len(turned) != layers:
        raise Refused("no_rope_layers is not a list of one number per layer")
    if any(whole(number) not in (0, 1) for number in turned):
        raise Refused("no_rope_layers has numbers other than 0 and 1")
    return ["chunked" if whole(number) else "full" for number in turned]


def _window_kinds(text: Members, layers: int) -> list[str]:
    """The window's kind of each layer: the first rule that applies."""
    if "layer_types" in text:
        types = text.get("layer_types")
        if not isinstance(types, list) or len(types) != layers:
            raise Refused("layer_types is not a list of one string per layer")
        kinds = {f"{kind}_attention": kind for kind in ("sliding", "chunked")}
        kinds.update(dict.fromkeys(full_kinds(text), "full"))
        for kind in types:
            if not isinstance(kind, str) or kind not in kinds:
                raise Refused(f"a layer of type {kind!r} keeps no KV cache")
        return [kinds[kind] for kind in types]
    if "attention_chunk_size" in text:
        return _chunked_kinds(text, layers)
    if text.flag("use_sliding_window") is False or "sliding_window" not in text:
        return ["full"] * layers
    if "max_window_layers" in text:
        first = text.count("max_window_layers", 0, MAX_WHOLE)
        return ["sliding" if layer >= first else "full" for layer in range(layers)]
    if "sliding_window_pattern" in text:
        period = text.count("sliding_window_pattern", 1, MAX_WHOLE)
    else:
        model_type = text.get("model_type")
        period = USUAL_PATTERNS.get(model_type) if isinstance(model_type, str) else None
    return [
        "full" if period and (layer + 1) % period == 0 else "sliding" for layer in range(layers)
    ]


def _windows(text: Members, layers: int) -> list[tuple[str, int]]:
    """The window's kind and size of each layer. A size that no layer has is not looked at."""
    kinds = _window_kinds(text, layers)
    members = {"sliding": "sliding_window", "chunked": "attention_chunk_size"}
    sizes = {
        kind: text.count(members[kind], 1, MAX_U32) if kind in members else 0
        for kind in set(kinds)
    }
    return [(kind, sizes[kind]) for kind in kinds]


def _rope(text: Members, window_kind: str) -> tuple[dict, object]:
    """The RoPE parameters of a layer, and the rotary factor that stands within them (or None)."""
    parameters = text.get("rope_parameters")
    if isinstance(parameters, dict):
        of_kind = parameters.get(f"{window_kind}_attention")
        if isinstance(of_kind, dict):
            parameters = of_kind
        return parameters, parameters.get("partial_rotary_factor")
    if window_kind == "sliding" and "rope_local_base_freq" in text:
        return {"rope_theta": text.get("rope_local_base_freq")}, None
    return {
        name: text.get(name) for name in ("rope_theta", "rope_scaling") if name in text
    }, None


def _rotary_size(text: Members, head_size: int, factor) -> int:
    if factor is None:
        if "rotary_dim" in text:
            return text.count("rotary_dim", 1, head_size)
        name = text.first("partial_rotary_factor", "rotary_pct")
        factor = text.get(name) if name else 1
    if isinstance(factor, bool) or not isinstance(factor, (int, float)) or not 0 <= factor <= 1:
        raise Refused("the rotary factor is not a number from 0 to 1")
    return math.floor(float(head_size) * factor)  # one multiplication of doubles


def layer_groups(config: dict) -> list[LayerGroup]:
    if not isinstance(config, dict):
        raise Refused("a config is an object")
    top = Members(config)
    nested = isinstance(top.get("text_config"), dict)
    text = Members(config["text_config"], nested) if nested else top
    refuse_unknown(top, text)

    latent = "kv_lora_rank" in text
    counts = ("num_hidden_layers", "n_layer") + (() if latent else ("num_layers",))
    layers = text.count(text.first(*counts), 1, MAX_LAYERS)
    if latent:
        rotary = text.count("qk_rope_head_dim", 1, MAX_SIZE)
        key_size = text.count("kv_lora_rank", 1, MAX_SIZE) + rotary
        attention, kv_heads, value_size = "mla", 1, 0
        if key_size > MAX_SIZE:
            raise Refused(f"a latent of {key_size} values")
    else:
        heads = text.count(text.first("num_attention_heads", "n_head"), 1, MAX_HEADS)
        kv_heads = _kv_heads(text, heads)
        if heads % kv_heads:
            raise Refused(f"{kv_heads} KV heads do not divide {heads} heads")
        attention = "mha" if kv_heads == heads else "gqa"
        if "head_dim" in text:
            key_size = text.count("head_dim", 1, MAX_SIZE)
        elif _has_own_head_size(text):
            raise Refused("the head size is left out")
        else:
            names = ("hidden_size", "n_embd", "d_model", "n_embed")
            hidden = text.count(text.first(*names), 1, MAX_SIZE)
            if hidden % heads:
                raise Refused(f"{heads} heads do not divide a hidden size of {hidden}")
            key_size = hidden // heads
        value_size = text.count("v_head_dim", 1, MAX_SIZE) if "v_head_dim" in text else key_size

    groups: dict[LayerKind, LayerGroup] = {}
    for layer, (window_kind, window) in enumerate(_windows(text, layers)):
        rope, factor = _rope(text, window_kind)
        kind = LayerKind(
            attention=attention,
            kv_heads=kv_heads,
            key_size=key_size,
            value_size=value_size,
            rotary_size=rotary if latent else _rotary_size(text, key_size, factor),
            window_kind=window_kind,
            window=window,
            rope=canonical(rope),
        )
        groups.setdefault(kind, LayerGroup(kind)).layers.append(layer)
    return list(groups.values())  # in the order in which they were first met


# ---- Description and fingerprint --------------------------------------------------------------


def _field(tag: int, value: bytes) -> bytes:
    return bytes([tag]) + u32(len(value)) + value


def _group_fields(group: LayerGroup) -> bytes:
    kind = group.kind
    return b"".join(
        (
            _field(1, kind.attention.encode("ascii")),
            _field(2, b"".join(map(u32, group.layers))),
            _field(3, u32(kind.kv_heads)),
            _field(4, u32(kind.key_size)),
            _field(5, u32(kind.value_size)),
            _field(6, u32(kind.rotary_size)),
            _field(7, kind.window_kind.encode("ascii")),
            _field(8, u32(kind.window)),
            _field(9, kind.rope),
        )
    )


def describe(
    config: dict,
    weights: bytes,
    tokenizer: bytes,
    adapter: bytes | None,
    kv_dtype: str | None,
    block_tokens: int,
) -> bytes:
    """The description, whose SHA-256 is model_fp. A kv_dtype of None is what the config says."""
    if kv_dtype is not None and kv_dtype not in KV_DTYPES:
        raise Refused(f"{kv_dtype!r} is not what KV is computed in")
    if block_tokens < 1:
        raise Refused("a block has at least one token")
    groups = layer_groups(config)
    kv_dtype = usual_kv_dtype(config) if kv_dtype is None else kv_dtype
    return b"kvcast/model/1" + b"".join(
        (
            _field(1, exactly(32, weights, "the weights' digest")),
            _field(2, exactly(32, tokenizer, "the tokenizer's digest")),
            _field(3, b"" if adapter is None else exactly(32, adapter, "the adapter's digest")),
            _field(4, config_digest(config)),
            _field(5, kv_dtype.encode("ascii")),
            _field(6, u32(block_tokens)),
            *(_field(7, _group_fields(group)) for group in groups),
        )
    )
