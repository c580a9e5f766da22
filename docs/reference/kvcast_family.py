"""What the code of a family of models does that its files may not say, by model_type.

Follows names.md, "From config.json to layer groups": the part "Refused, by family".
"""

# Families whose code caches something else than keys and values of every layer, unless the text
# part has one of these members, by which the other rules tell. None decides about those of an
# empty list. One line per reason; a family is added to the line whose reason is its own.
DECIDED_BY = {
    family: tuple(members.split())
    for families, members in (
        # Recurrent layers or a short convolution beside attention, or in place of it.
        (
            "bailing_hybrid bailing_moe_linear bamba falcon_h1 falcon_mamba inkling_mm_model"
            " inkling_text jamba kimi_linear mamba mamba2 nemotron_h olmo_hybrid phi4flash plamo2"
            " recurrent_gemma rwkv xlstm zamba zamba2 zaya",
            "",
        ),
        ("granitemoehybrid lfm2 lfm2_moe lfm2_vl qwen3_5 qwen3_5_moe", "layer_types"),
        ("qwen3_5_moe_text qwen3_5_text qwen3_next", "layer_types"),
        ("minimax minimax_m1 minimax_text_01", "layer_types attn_type_list"),
        # An indexer's keys, or keys that are compressed.
        ("axk2 deepseek_v32 deepseek_v4 glm_moe_dsa minimax_m3_vl minimax_m3_vl_text", ""),
        # Another shape in some layers.
        ("gemma4 gemma4_assistant gemma4_text gemma4_unified gemma4_unified_assistant", ""),
        ("gemma4_unified_text mimo_v2_flash", ""),
        # KV heads that its files count otherwise than its code.
        ("plamo", ""),
        # Keys of images; layers that use what others cache; layers that run several times.
        ("mllama mllama_text_model", ""),
        ("gemma3n gemma3n_text", "num_kv_shared_layers"),
        ("hrm_text huginn_raven", ""),
        ("ouro", "total_ut_steps"),
        # A latent, whose rank has a default.
        ("axk1 deepseek_v2 deepseek_v3 glm4_moe_lite kimi_k2", "kv_lora_rank use_mla"),
        ("longcat_flash minicpm3 mistral4 youtu", "kv_lora_rank use_mla"),
    )
    for family in families.split()
}

# Parts of the names of models whose tokens attend to later ones.
ATTEND_TO_LATER = "chatglm diffusion dllm dream llada paligemma sdar".split()

# A part of the names of models whose code scales RoPE by the length of the prompt.
TURNS_BY_LENGTH = "telechat"

# The one whose layer types call full attention "attention", and whose files keep members of
# recurrent layers where it has none.
GRANITE_HYBRID = "granitemoehybrid"


def folded(value) -> str:
    """A name without regard to the case of ASCII letters; empty for what is no text."""
    return value.encode("utf-8").lower().decode("utf-8") if isinstance(value, str) else ""
