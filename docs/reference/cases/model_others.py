"""Models of which a family's code, or a part of the config, says more than the counts do."""

from .model_families import DEEPSEEK_V3, GPT_J, GRANITE_4, MINIMAX_M2
from .model_given import PART, TINY, changed, model, part, tiny

_HEADS = dict(num_key_value_heads=2, head_dim=16)
_FULL = ["full_attention"] * 2


def _family(kind: str, **changes) -> dict:
    return tiny(model_type=kind, **_HEADS, **changes)


def _above(kind: str, **changes) -> dict:
    return model({"model_type": kind, "text_config": {**PART, **_HEADS, **changes}})


def _said(top: str | None, part: str | None, **changes) -> dict:
    """A model whose two parts may say what it computes in, where nobody else does."""
    return model({"torch_dtype": top, **changes, "text_config": {**PART, "dtype": part}},
                 kv_dtype=None)


_OTHER_STATE = (
    "bailing_moe_linear bamba falcon_h1 inkling_text jamba kimi_linear mamba2 nemotron_h"
    " olmo_hybrid plamo2 recurrent_gemma zamba2 zaya deepseek_v32 glm_moe_dsa gemma4_text"
    " mimo_v2_flash minimax_m3_vl_text mllama_text_model hrm_text").split()
_BY_LAYER_TYPES = (
    "granitemoehybrid lfm2 minimax qwen3_5_moe_text qwen3_5_text qwen3_next").split()
_BY_RANK = "deepseek_v2 deepseek_v3 glm4_moe_lite kimi_k2 longcat_flash".split()

ACCEPTED_OTHERS = [
    *((f"{kind}, all of attention", _family(kind, layer_types=_FULL)) for kind in _BY_LAYER_TYPES),
    ("minimax, softmax in every layer", _family("minimax", attn_type_list=[1, 1])),
    ("qwen3_5 above its text part, all of attention", _above("qwen3_5", layer_types=_FULL)),
    ("gemma3n_text without shared layers", _family("gemma3n_text", num_kv_shared_layers=0)),
    ("layers that do not share", tiny(layer_sharing=False)),
    ("windows of gpt_oss, which leaves out its layer types", tiny(
        model_type="gpt_oss", sliding_window=8, **_HEADS)),
    ("ouro that runs once", _family("ouro", total_ut_steps=1)),
    ("ouro that runs once, as a double", _family("ouro", total_ut_steps=1.0)),
    ("deepseek_v2 without MLA, and says so", _family("deepseek_v2", use_mla=False)),
    ("deepseek_v3 as a text part", model({"text_config": DEEPSEEK_V3})),
    ("granite-4-micro-like: members of layers that it has not", model(GRANITE_4)),
    ("the same in newer words", model(changed(GRANITE_4, layer_types=["full_attention"] * 4))),
    ("a family that nobody knows", _family("never_heard_of")),
    ("a family whose name goes on", _family("jamba_of_attention")),
    ("a family of no name, as text", _family("")),
    ("the head size twice", tiny(**_HEADS, attention_head_dim=16, kv_channels=16.0)),
    ("sparse at every length", tiny(sparse_config={"dense_len": -1})),
    ("chunks, never sparse and never scaled", tiny(dual_chunk_attention_config={
        "chunk_size": 8, "sparse_attention_enabled": False})),
    ("chunks, scaled from no length on", tiny(dual_chunk_attention_config={
        "sparse_attention_enabled": False, "original_max_position_embeddings": 0})),
    ("minimax-m2-like: rotary values by number", model(MINIMAX_M2)),
    ("gpt-j-like: rotary values by number", model(GPT_J)),
    ("rotary values by number before the factor", tiny(rotary_dim=4, partial_rotary_factor=0.5)),
    ("rotary values by number after the factor within RoPE", tiny(
        rotary_dim=99, rope_parameters={"partial_rotary_factor": 0.5})),
    ("all values are rotary", tiny(rotary_dim=16.0)),
    ("rotary values of null", tiny(rotary_dim=None, rotary_pct=0.25)),
    ("MLA does not read rotary values by number", model(changed(DEEPSEEK_V3, rotary_dim=1000))),
    *((f"KV in what the config says: {kind}", model(changed(TINY, dtype=kind), kv_dtype=None))
      for kind in ("bfloat16", "float16", "float32", "float8_e4m3fn", "float8_e5m2", "int8",
                   "bf16")),
    ("KV in what the newer name says", model(
        changed(TINY, torch_dtype="float32", dtype="float16"), kv_dtype=None)),
    ("KV in what the text part says", _said(None, "float16")),
    ("KV in what the top says", _said("float16", None)),
    ("KV in what both say", _said("float16", "float16")),
    ("KV in what a text says, not what an object does", model(
        changed(TINY, torch_dtype="float32", dtype={"self": "float16"}), kv_dtype=None)),
    ("KV of weights that are quantized", _said("float16", None, quantization_config={
        "bits": 4, "kv_cache_scheme": None, "kv_cache_quant_algo": None})),
    ("KV that is quantized, and somebody said how", model(changed(
        TINY, quantization_config={"kv_cache_scheme": {}}), kv_dtype="fp8_e4m3")),
]

REFUSED_OTHERS = [
    *((f"another state, as {kind} usually has", _family(kind))
      for kind in _OTHER_STATE + _BY_LAYER_TYPES),
    *((f"another state, as {kind} has whatever its layers are called",
       _family(kind, layer_types=_FULL)) for kind in ("falcon_h1", "zaya", "kimi_linear")),
    ("another state in a family in other letters", _family("Jamba")),
    ("another state in a text part", part(model_type="qwen3_5_text", **_HEADS)),
    ("another state above a text part", _above("qwen3_5")),
    ("another state above a text part, with layer types beside it", model(
        {"model_type": "qwen3_5", "layer_types": _FULL, "text_config": {**PART, **_HEADS}})),
    ("layer types of no attention", _family("granitemoehybrid", layer_types=["mamba"] * 2)),
    ("layer types of granite in another family", _family("llama", layer_types=["attention"] * 2)),
    ("granite with one layer that is recurrent", model(changed(
        GRANITE_4, layer_types=["attention"] * 3 + ["mamba"]))),
    ("granite's members in another family", model(changed(
        GRANITE_4, model_type="llama", layer_types=["full_attention"] * 4))),
    ("shared layers, as gemma3n usually has", _family("gemma3n_text")),
    ("shared layers, as gemma3n usually has, above its text part", _above("gemma3n")),
    ("layers that run four times", tiny(total_ut_steps=4)),
    ("layers that run twice, at the top", model({"text_config": PART, "total_ut_steps": 2})),
    ("layers that run half a time", tiny(total_ut_steps=0.5)),
    ("layers that run twice, by another word", tiny(layer_sharing=True)),
    ("KV heads that plamo's files count otherwise", _family("plamo")),
    *((f"RoPE by the prompt's length in {kind}", _family(kind)) for kind in ("telechat", "TeleChat2")),
    ("layers that run several times, as ouro's usually do", _family("ouro")),
    *((f"a rank that only {kind} knows", _family(kind)) for kind in _BY_RANK),
    ("another head size by another name", tiny(**_HEADS, attention_head_dim=32)),
    ("a head size by another name only", tiny(attention_head_dim=16)),
    *((f"not by the prefix: {kind}", _family(kind))
      for kind in ("llada2_moe", "sdar", "SDAR_moe", "dream", "Fast_dLLM_Qwen", "LLaDA",
                   "X-Diffusion", "PaliGemma")),
    *((f"not by the prefix: class {name}", tiny(architectures=["X", name]))
      for name in ("ADiffusionLM", "XDLLMForCausalLM", "Fast_dLLM_QwenForCausalLM", "DreamModel",
                   "LLaDA2MoeModelLM", "SDARForCausalLM")),
    *((f"sparse from a length on: {config}", tiny(sparse_config=config))
      for config in ({"dense_len": 8192}, {"dense_len": 2**64 - 1}, {}, {"dense_len": None}, True)),
    *((f"sparse in long prompts: {config}", tiny(dual_chunk_attention_config=config))
      for config in ({}, {"chunk_size": 8, "sparse_attention_enabled": True}, 1,
                     {"sparse_attention_enabled": 0})),
    ("scaled in long prompts", tiny(dual_chunk_attention_config={
        "sparse_attention_enabled": False, "original_max_position_embeddings": 262144})),
    *((f"rotary values by number: {number}", tiny(rotary_dim=number))
      for number in (0, 17, 2.5, "8", True)),
    ("KV in what two parts say differently", _said("bfloat16", "float16")),
    ("KV in what two parts say in different words", _said("bf16", "bfloat16")),
    ("KV in what nobody says", _said(None, None)),
    ("KV in what no dtype is called", _said("auto", None)),
    ("KV in an empty word", _said("", None)),
    *((f"KV that is quantized: {name}", _said("bfloat16", None, quantization_config={name: value}))
      for name, value in {"kv_cache_scheme": {"num_bits": 8}, "kv_cache_quant_algo": "FP8"}.items()),
    ("KV that is quantized, by a text part", model({"text_config": changed(
        PART, dtype="bfloat16", quantization_config={"kv_cache_scheme": False})}, kv_dtype=None)),
]
