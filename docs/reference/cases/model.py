"""Models: how their configs become layer groups, descriptions and fingerprints."""

import json

from . import REFUSED, digest
from .model_families import (
    LLAMA_3, GPT_2, QWEN_2, MISTRAL, GEMMA_2, GEMMA_3_TEXT, GEMMA_3, DEEPSEEK_V3,
    PHI, GPT_NEOX, FALCON, CHUNKED, PER_KIND)
from .model_given import PART, TINY, changed as _with, model as _model, part as _part, tiny as _tiny
from .model_others import ACCEPTED_OTHERS, REFUSED_OTHERS


_SLIDE = dict(num_hidden_layers=4, sliding_window=8)
_SPELLED = (
    '{"num_hidden_layers": %s, "num_attention_heads": 4, "hidden_size": 64, "rope_theta": %s}'
)

_ACCEPTED = [
    ("llama-3-like: GQA and scaled RoPE", _model(LLAMA_3)),
    ("the same with other token ids and dtype", _model(_with(
        LLAMA_3, "use_cache", torch_dtype="float16", dtype="float16", bos_token_id=1,
        eos_token_id=2, pad_token_id=3, transformers_version="5.0.0", _name_or_path="x"))),
    ("the same with another epsilon", _model(_with(LLAMA_3, rms_norm_eps=1e-06))),
    ("the same with an adapter", _model(LLAMA_3, adapter=digest("adapter"))),
    ("the same with KV in fp8", _model(LLAMA_3, kv_dtype="fp8_e4m3")),
    ("the same in blocks of 64", _model(LLAMA_3, block_tokens=64)),
    ("the same with other weights", _model(LLAMA_3, weights=digest("other weights"))),
    ("the same with another tokenizer", _model(LLAMA_3, tokenizer=digest("another"))),
    ("gpt-2-like: MHA, no RoPE", _model(GPT_2, kv_dtype="fp32")),
    ("qwen-2-like: window switched off", _model(QWEN_2)),
    ("qwen-2-like: window from layer 20 on", _model(_with(QWEN_2, use_sliding_window=True))),
    ("mistral-like: all layers slide", _model(MISTRAL)),
    ("mistral-like: no window", _model(_with(MISTRAL, sliding_window=None))),
    ("gemma-2-like: every other layer slides", _model(GEMMA_2)),
    ("gemma-3-like: nested text part, layer types, local RoPE", _model(GEMMA_3)),
    ("gemma-3-like: the text part alone", _model(GEMMA_3_TEXT)),
    ("gemma-3-like: a pattern instead of layer types", _model(_with(
        GEMMA_3_TEXT, "layer_types", sliding_window_pattern=6))),
    ("RoPE parameters per kind", _model(PER_KIND)),
    ("RoPE parameters for one kind of two", _model(_with(PER_KIND, rope_parameters={
        "full_attention": {"rope_theta": 5.5}, "rope_theta": 7}))),
    ("RoPE parameters for all, with a rotary factor", _model(_with(
        PER_KIND, partial_rotary_factor=1.0,
        rope_parameters={"rope_theta": 10000.0, "partial_rotary_factor": 0.5}))),
    ("a rotary factor per kind", _model(_with(
        PER_KIND, partial_rotary_factor=0.75, rope_parameters={
            "sliding_attention": {"rope_theta": 1e4},
            "full_attention": {"rope_theta": 1e4, "partial_rotary_factor": 0.25}}))),
    ("RoPE parameters win over rope_theta", _tiny(
        rope_theta=1, rope_scaling={"a": 1}, rope_parameters={})),
    ("RoPE parameters that are null", _tiny(rope_theta=1, rope_parameters=None)),
    ("RoPE parameters that are no object", _tiny(rope_theta=1, rope_parameters="default")),
    ("local RoPE without a global one", _tiny(
        **_SLIDE, sliding_window_pattern=2, rope_local_base_freq=1e4, rope_scaling={"a": 1.5})),
    ("local RoPE is not for chunks", _tiny(
        layer_types=["chunked_attention", "full_attention"], attention_chunk_size=4,
        rope_theta=5, rope_local_base_freq=6)),
    ("deepseek-v3-like: MLA", _model(DEEPSEEK_V3)),
    ("MLA without heads, sizes that do not divide", _model(
        {"num_hidden_layers": 1, "kv_lora_rank": 16, "qk_rope_head_dim": 8, "hidden_size": 7,
         "partial_rotary_factor": 0.5})),
    ("a kv_lora_rank of null is no MLA", _tiny(kv_lora_rank=None, qk_rope_head_dim=8)),
    ("phi-like: partial rotary", _model(PHI)),
    ("gpt-neox-like: partial rotary by its older name", _model(GPT_NEOX)),
    ("both names of the factor: the newer counts", _tiny(
        partial_rotary_factor=0.5, rotary_pct=0.25)),
    ("a factor of 0", _tiny(partial_rotary_factor=0)),
    ("a product just below a whole number", _tiny(head_dim=100, partial_rotary_factor=0.29)),
    ("falcon-like: multi-query", _model(FALCON)),
    ("falcon-7b-like: one KV head, whatever it says", _model(_with(FALCON, num_kv_heads=71))),
    ("falcon-40b-like: KV heads named", _model(_with(
        FALCON, num_attention_heads=64, hidden_size=4096, num_kv_heads=8,
        new_decoder_architecture=True))),
    ("falcon-40b-like: no KV heads named", _model(_with(FALCON, new_decoder_architecture=True))),
    ("multi_query beside the usual name", _tiny(multi_query=True, num_key_value_heads=2)),
    ("multi_query false", _model(_with(FALCON, multi_query=False))),
    ("falcon-like: multi-query unless it says otherwise", _model(_with(FALCON, "multi_query"))),
    ("starcoder-like: multi-query unless it says otherwise", _tiny(model_type="gpt_bigcode")),
    ("others say so", _tiny(model_type="falcon2")),
    ("step-3-like: KV heads by another name", _tiny(num_attention_groups=1, head_dim=32)),
    ("both names of KV heads", _tiny(num_attention_groups=1, num_key_value_heads=2)),
    ("another name before the oldest", _tiny(num_attention_groups=2, num_kv_heads=4)),
    ("another name before multi_query", _tiny(num_attention_groups=2, multi_query=True)),
    ("unknown names of heads that are null", _tiny(
        n_head_kv=None, num_query_groups=None, attention_other_setting=None)),
    ("MLA that says so", _model(_with(DEEPSEEK_V3, use_mla=True, qk_head_dim=192))),
    ("no MLA, and says so", _tiny(use_mla=False, kv_lora_rank=None, qk_rope_head_dim=0)),
    ("chunked attention", _model(CHUNKED)),
    ("chunked attention: by no_rope_layers", _model({"text_config": _with(
        CHUNKED["text_config"], "layer_types")})),
    ("chunked attention: by an interval", _tiny(
        num_hidden_layers=7, attention_chunk_size=8, no_rope_layers=[], no_rope_layer_interval=3)),
    ("chunked attention: by the usual interval", _tiny(num_hidden_layers=9, attention_chunk_size=8)),
    ("chunked attention: all full", _tiny(attention_chunk_size=0, no_rope_layer_interval=1)),
    ("gemma-3-27b-like: the usual pattern", _tiny(
        sliding_window=8, num_hidden_layers=13, model_type="gemma3_text", head_dim=16,
        num_key_value_heads=4)),
    ("cohere-2-like: the usual pattern", _tiny(
        sliding_window=8, num_hidden_layers=9, model_type="cohere2")),
    ("older names: d_model, num_layers", _model(
        {"num_layers": 2, "n_head": 4, "d_model": 32, "n_embd": None})),
    ("the first name counts", _tiny(n_layer=9, n_head=9, n_embd=9)),
    ("a first name that is null", _tiny(num_hidden_layers=None, n_layer=3)),
    ("V of another size", _tiny(head_dim=192, v_head_dim=128)),
    ("a head size that is not hidden / heads", _tiny(head_dim=24, hidden_size=63)),
    ("window rules: pattern 1 is all full", _tiny(**_SLIDE, sliding_window_pattern=1)),
    ("window rules: pattern beyond the layers", _tiny(**_SLIDE, sliding_window_pattern=9)),
    ("window rules: window layers beyond the layers", _tiny(**_SLIDE, max_window_layers=9)),
    ("window rules: from layer 0 on", _tiny(**_SLIDE, max_window_layers=0)),
    ("window rules: window layers before pattern", _tiny(
        **_SLIDE, max_window_layers=3, sliding_window_pattern=2)),
    ("window rules: layer types before all others", _tiny(
        **_SLIDE, use_sliding_window=False, max_window_layers=3,
        layer_types=["sliding_attention"] * 3 + ["full_attention"])),
    ("window rules: a window of no use", _tiny(sliding_window=0, use_sliding_window=False)),
    ("window rules: no layer slides, so the window's size is not read", _tiny(
        sliding_window=0, max_window_layers=2)),
    ("window rules: pattern 1, and a window of no size", _tiny(
        sliding_window="none", sliding_window_pattern=1)),
    ("window rules: layer types without the window that stands there", _tiny(
        sliding_window=0.25, attention_chunk_size=-1, layer_types=["full_attention"] * 2)),
    ("window rules: a pattern of 65,537", _tiny(**_SLIDE, sliding_window_pattern=65537)),
    ("window rules: the largest pattern", _tiny(**_SLIDE, sliding_window_pattern=2**64 - 1)),
    ("window rules: a pattern of 2^32 is not one of 0", _tiny(
        **_SLIDE, sliding_window_pattern=2**32)),
    ("window rules: 2^32 window layers", _tiny(**_SLIDE, max_window_layers=2**32)),
    ("window rules: the most window layers", _tiny(**_SLIDE, max_window_layers=2**64 - 1)),
    ("window rules: the most window layers as a double", _tiny(
        **_SLIDE, max_window_layers=float(2**53))),
    ("window rules: the largest window", _tiny(sliding_window=2**32 - 1)),
    ("counts as doubles, RoPE in digits", _model(_SPELLED % ("2.0", "10000"))),
    ("counts with exponents, RoPE as a double", _model(_SPELLED % ("2e0", "1.0e4"))),
    ("text_config that is no object", _tiny(text_config=None)),
    ("what stands beside the text part does not count", _model(
        {"text_config": PART, "n_head": 3})),
    ("a text part of one KV head", _part("num_key_value_heads", multi_query=True)),
    ("a text part that names KV heads in the oldest way", _part(
        "num_key_value_heads", num_kv_heads=2)),
    ("a text part of MLA needs no KV heads", _model({"text_config": _with(
        DEEPSEEK_V3, "num_key_value_heads")})),
    ("a head size of its own, said", _tiny(
        model_type="qwen3", head_dim=128, num_key_value_heads=2)),
    ("KV heads of its own, said", _tiny(model_type="mistral", num_key_value_heads=2)),
    ("KV heads of its own, one for all", _tiny(model_type="mistral", multi_query=True)),
    ("a type of no name", _tiny(model_type=["qwen3"])),
    ("bloom-like: hidden by another name", _model(
        {"model_type": "bloom", "n_layer": 2, "n_head": 4, "n_embed": 64})),
    ("minimax-m2-like: softmax in every layer", _tiny(attn_type_list=[1, 1.0])),
    *((f"RoPE of type {kind}", _tiny(rope_scaling={name: kind, "factor": 4.0}))
      for name, kind in [("type", "linear"), ("type", "yarn"), ("rope_type", "llama3"),
                         ("rope_type", "default"), ("type", "mrope"), ("rope_type", "sus")]),
    ("RoPE of a type that is no text", _tiny(rope_scaling={"type": ["dynamic"]})),
    ("RoPE for long prompts that is the same for short ones", _tiny(rope_scaling={
        "rope_type": "longrope", "short_factor": [1, 2.5], "long_factor": [1.0, 2.5],
        "short_mscale": None})),
    ("RoPE whose name of a member tells nothing", _tiny(rope_parameters={"dynamic": "x"})),
    ("causal, and says so", _tiny(
        is_causal=True, use_bidirectional_attention=False, is_prefix_lm=None)),
    ("an encoder's code as a decoder", _tiny(model_type="bert", is_decoder=True)),
    ("a decoder of that family", _tiny(model_type="modernbert-decoder")),
    ("no shared layers", _tiny(num_kv_shared_layers=0, index_head_dim=None)),
    ("no encoder", _tiny(is_encoder_decoder=False)),
    ("the largest heads and sizes", _model(
        {"num_hidden_layers": 1, "num_attention_heads": 65536, "num_kv_heads": 1,
         "head_dim": 65536})),
    *ACCEPTED_OTHERS,
]

_REFUSED = [
    ("a layer that keeps a state", _tiny(layer_types=["linear_attention", "full_attention"])),
    ("a layer of no kind", _tiny(layer_types=["full_attention", 1])),
    ("layer types too few", _tiny(layer_types=["full_attention"])),
    ("layer types too many", _tiny(layer_types=["full_attention"] * 3)),
    ("layer types that are no list", _tiny(layer_types="full_attention")),
    ("a sliding layer without a window", _tiny(layer_types=["sliding_attention"] * 2)),
    ("a chunked layer without a size", _tiny(layer_types=["chunked_attention"] * 2)),
    ("shared layers", _tiny(num_kv_shared_layers=1)),
    ("shared layers of no number", _tiny(num_kv_shared_layers="1")),
    ("MLA that counts layers of two attentions",
     _model(_with(DEEPSEEK_V3, "num_hidden_layers", num_layers=28))),
    ("an indexer", _model(_with(DEEPSEEK_V3, index_head_dim=128))),
    ("an indexer at the top", _model({"text_config": DEEPSEEK_V3, "index_head_dim": 128})),
    ("global head size", _tiny(global_head_dim=512)),
    ("global KV heads", _tiny(num_global_key_value_heads=1)),
    *((f"another state: {name}", _tiny(**{name: value})) for name, value in {
        "attn_layer_indices": [1], "attn_layer_period": 8, "attn_type_list": [1, 0],
        "block_configs": [], "block_types": ["recurrent"], "cross_attention_layers": [1],
        "full_attention_interval": 4, "hybrid_layer_ids": [1], "hybrid_layer_pattern": [0, 1],
        "hybrid_override_pattern": "M*", "layers_block_type": ["mamba", "attention"],
        "linear_attn_config": {}, "state_size": 16,
        "full_attn_idxs": [2, 5], "layer_group_size": 5, "use_cla": True, "conv_L_cache": 3,
        "num_attention_heads_per_layer": [4, 4], "num_key_value_heads_per_layer": [4, 2],
        "linear_conv_kernel_dim": 4, "linear_key_head_dim": 128, "linear_num_key_heads": 16,
        "linear_value_head_dim": 128, "lru_width": 64, "mamba_d_state": 16, "rwkv_head": 1,
        "ssm_cfg": {}}.items()),
    *((f"heads in its own words: {name}", _tiny(**{name: value})) for name, value in {
        "attention_head_dim": 16, "attention_other_setting": {}, "head_size": 16, "kv_channels": 16,
        "kv_n_heads": 2, "multi_query_group_num": 2, "n_head_kv": 2, "n_kv_heads": 2,
        "num_key_value_groups": 2, "num_query_groups": 2, "qk_head_dim": 24,
        "swa_head_dim": 16, "swa_num_key_value_heads": 2}.items()),
    ("heads in its own words at the top", _model({"text_config": PART, "n_head_kv": 2})),
    ("heads in its own words beside the usual", _tiny(num_key_value_heads=2, n_head_kv=1)),
    ("KV heads by another name that do not divide", _tiny(num_attention_groups=3)),
    ("MLA that says it is none", _model(_with(DEEPSEEK_V3, use_mla=False))),
    ("MLA without a rank", _tiny(use_mla=True)),
    ("MLA of no truth", _tiny(use_mla=1)),
    ("another state at the top", _model({"text_config": PART, "mamba_d_state": 16})),
    ("softmax in every layer but one too few", _tiny(attn_type_list=[1])),
    ("softmax of truths", _tiny(attn_type_list=[True, True])),
    ("softmax in no list", _tiny(attn_type_list=1)),
    ("softmax in layers that are counted elsewhere", _model(
        {"text_config": PART, "attn_type_list": [1, 1]})),
    *((f"a head size that only {kind} knows", _tiny(model_type=kind, num_key_value_heads=2))
      for kind in ("gemma", "gemma2", "gemma3_text", "gemma99", "vaultgemma", "qwen3", "glm4",
                   "gpt_oss", "ernie4_5", "seed_oss", "llama4_text", "zaya")),
    *((f"KV heads that only {kind} knows", _tiny(model_type=kind, head_dim=16))
      for kind in ("gemma2", "qwen3", "mistral", "mixtral", "qwen2", "starcoder2")),
    ("a head size that only the text part's code knows", _part(model_type="gemma")),
    ("a text part that leaves its KV heads out", _part("num_key_value_heads")),
    ("a text part that leaves out its KV heads, which are not one", _part(
        "num_key_value_heads", multi_query=False)),
    ("falcon-like as a text part: multi_query left out", _part(
        "num_key_value_heads", model_type="falcon", num_kv_heads=4)),
    *((f"RoPE by the prompt's length: {kind} as {name} in {where}", _tiny(
        **{where: {name: kind, "factor": 4.0}}))
      for kind in ("longrope", "su", "dynamic", "dynamic_ntk") for name in ("type", "rope_type")
      for where in ("rope_scaling", "rope_parameters")),
    ("RoPE by the prompt's length in one kind of layers", _model(_with(
        PER_KIND, rope_parameters={"sliding_attention": {"rope_type": "default"},
                                   "full_attention": {"rope_type": "dynamic"}}))),
    ("RoPE by the prompt's length beside the text part", _model(
        {"text_config": PART, "rope_scaling": {"type": "su"}})),
    ("RoPE by the prompt's length under both names", _tiny(
        rope_scaling={"type": "dynamic", "rope_type": "default"})),
    ("RoPE for long prompts and short ones", _tiny(rope_scaling={
        "type": "longrope", "short_factor": [1, 2], "long_factor": [1, 3]})),
    ("RoPE for long prompts that scales otherwise", _tiny(rope_scaling={
        "type": "longrope", "short_factor": [1], "long_factor": [1], "long_mscale": 1.2})),
    ("RoPE for long prompts without factors", _tiny(rope_scaling={
        "type": "longrope", "short_factor": [], "long_factor": []})),
    ("RoPE that is dynamic, with equal factors", _tiny(rope_scaling={
        "type": "dynamic", "short_factor": [1], "long_factor": [1]})),
    *((f"not by the prefix: {name}", _tiny(**{name: value})) for name, value in {
        "use_bidirectional_attention": True, "bidirectional": 1, "is_causal": False,
        "prefix_lm": True, "use_dynamic_ntk": True, "architectures": ["X", "AForMaskedLM"]
    }.items()),
    ("not by the prefix: bidirectional among images", _tiny(
        use_bidirectional_attention="vision")),
    ("not by the prefix: is_causal of no truth", _tiny(is_causal=1)),
    *((f"not by the prefix: {kind}", _tiny(model_type=kind))
      for kind in ("bert", "xlm-roberta", "chatglm", "llada", "Dream", "x_diffusion")),
    ("not by the prefix: an encoder of no truth", _tiny(model_type="bert", is_decoder=1)),
    ("not by the prefix: paligemma above its text part", _model(
        {"model_type": "paligemma", "text_config": PART})),
    ("no_rope_layers too few", _tiny(attention_chunk_size=8, no_rope_layers=[1])),
    ("no_rope_layers of no list", _tiny(attention_chunk_size=8, no_rope_layers=1)),
    ("no_rope_layers of 2", _tiny(attention_chunk_size=8, no_rope_layers=[1, 2])),
    ("no_rope_layers of truths", _tiny(attention_chunk_size=8, no_rope_layers=[True, False])),
    ("an interval of 0", _tiny(attention_chunk_size=8, no_rope_layer_interval=0)),
    ("an encoder", _tiny(is_encoder_decoder=True)),
    ("an encoder above the text part", _model({"text_config": PART, "is_encoder_decoder": True})),
    ("an encoder of no truth", _tiny(is_encoder_decoder=1)),
    ("KV heads that do not divide heads", _tiny(num_key_value_heads=3)),
    ("more KV heads than heads", _tiny(num_key_value_heads=8)),
    ("no KV heads", _tiny(num_key_value_heads=0)),
    ("KV heads per layer", _tiny(num_key_value_heads=[4, 2])),
    ("multi_query of no truth", _tiny(multi_query="true")),
    ("heads that do not divide hidden", _tiny(hidden_size=65)),
    ("no heads", _tiny(num_attention_heads=0)),
    ("65,537 heads", _tiny(num_attention_heads=65537, head_dim=1)),
    ("heads missing", _model({"num_hidden_layers": 2, "hidden_size": 64})),
    ("hidden size missing", _model({"num_hidden_layers": 2, "num_attention_heads": 4})),
    ("layers missing", _model({"num_attention_heads": 4, "hidden_size": 64})),
    ("no layers", _tiny(num_hidden_layers=0)),
    ("layers below 0", _tiny(num_hidden_layers=-2)),
    ("4,097 layers", _tiny(num_hidden_layers=4097)),
    ("2^64-1 layers", _tiny(num_hidden_layers=2**64 - 1)),
    ("layers with a fraction", _tiny(num_hidden_layers=2.5)),
    ("layers as a string", _tiny(num_hidden_layers="2")),
    ("layers as a truth", _tiny(num_hidden_layers=True)),
    ("layers as a list", _tiny(num_hidden_layers=[2])),
    ("a head size of 0", _tiny(head_dim=0)),
    ("a head size of 65,537", _tiny(head_dim=65537)),
    ("a value size of 0", _tiny(v_head_dim=0)),
    ("MLA without its rotary part", _model(_with(DEEPSEEK_V3, "qk_rope_head_dim"))),
    ("MLA of rank 0", _model(_with(DEEPSEEK_V3, kv_lora_rank=0))),
    ("MLA with a latent of 65,537", _model(_with(
        DEEPSEEK_V3, kv_lora_rank=65535, qk_rope_head_dim=2))),
    ("a rotary factor above 1", _tiny(partial_rotary_factor=1.01)),
    ("a rotary factor below 0", _tiny(partial_rotary_factor=-0.1)),
    ("a rotary factor as a string", _tiny(partial_rotary_factor="0.5")),
    ("a rotary factor within RoPE above 1", _tiny(rope_parameters={"partial_rotary_factor": 2})),
    ("a window of 0", _tiny(sliding_window=0)),
    ("a window of 2^32", _tiny(sliding_window=2**32)),
    ("a window as a string", _tiny(sliding_window="8")),
    ("a pattern of 0", _tiny(**_SLIDE, sliding_window_pattern=0)),
    ("a pattern as letters", _tiny(**_SLIDE, sliding_window_pattern="LLG")),
    ("a pattern of 2^64, which is a double", _tiny(**_SLIDE, sliding_window_pattern=2**64)),
    ("window layers of 2^64", _tiny(**_SLIDE, max_window_layers=2**64)),
    ("window layers of 1e16, which is a double", _tiny(**_SLIDE, max_window_layers=1e16)),
    ("a window of 1e16", _tiny(sliding_window=1e16)),
    ("a window with a fraction, of one layer that slides", _tiny(
        sliding_window=0.25, max_window_layers=1)),
    ("window layers below 0", _tiny(**_SLIDE, max_window_layers=-1)),
    ("use_sliding_window of no truth", _tiny(**_SLIDE, use_sliding_window=0)),
    ("a config that is a list", _model("[]")),
    ("a config that is no JSON", _model("{")),
    ("an empty config", _model("{}")),
    ("a member twice", _model('{"num_hidden_layers": 2, ' + json.dumps(TINY)[1:])),
    ("a member twice, deep within", _model(_SPELLED % ("2", '{"a": [{"b": 1, "b": 1}]}'))),
    ("a member twice, one spelled otherwise", _model(_SPELLED % ("2", '{"a": 1, "\\u0061": 1}'))),
    ("a number beyond a double", _model(_SPELLED % ("2", "1e999"))),
    ("KV in int4", _model(TINY, kv_dtype="int4")),
    ("KV in BF16, in other letters", _model(TINY, kv_dtype="BF16")),
    ("KV in nothing", _model(TINY, kv_dtype="")),
    ("blocks of no tokens", _model(TINY, block_tokens=0)),
    ("blocks of 2^32 tokens", _model(TINY, block_tokens=2**32)),
    ("a weights' digest of 31 bytes", _model(TINY, weights=digest("weights")[2:])),
    ("no tokenizer's digest", _model(TINY, tokenizer="")),
    ("an adapter's digest of 0 bytes", _model(TINY, adapter="")),
    *REFUSED_OTHERS,
]

MODEL = [*_ACCEPTED, *((name, given, REFUSED) for name, given in _REFUSED)]
