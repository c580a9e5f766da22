"""Facts of well-known families, each cut down to what matters here and a little that does not."""

LLAMA_3 = {
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "vocab_size": 128256,
    "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32,
    "num_attention_heads": 32, "num_key_value_heads": 8, "rms_norm_eps": 1e-05,
    "rope_theta": 500000.0, "rope_scaling": {
        "rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
        "original_max_position_embeddings": 8192},
    "bos_token_id": 128000, "eos_token_id": [128001, 128008, 128009], "use_cache": True,
    "torch_dtype": "bfloat16", "transformers_version": "4.43.0",
}
GPT_2 = {
    "model_type": "gpt2", "n_layer": 12, "n_head": 12, "n_embd": 768, "n_positions": 1024,
    "activation_function": "gelu_new", "layer_norm_epsilon": 1e-05, "bos_token_id": 50256,
}
QWEN_2 = {
    "model_type": "qwen2", "hidden_size": 3584, "num_attention_heads": 28,
    "num_hidden_layers": 28, "num_key_value_heads": 4, "rope_theta": 1000000.0,
    "sliding_window": 131072, "use_sliding_window": False, "max_window_layers": 20,
}
MISTRAL = {
    "model_type": "mistral", "hidden_size": 4096, "num_attention_heads": 32,
    "num_hidden_layers": 32, "num_key_value_heads": 8, "rope_theta": 10000.0,
    "sliding_window": 4096,
}
GEMMA_2 = {
    "model_type": "gemma2", "hidden_size": 2304, "head_dim": 256, "num_attention_heads": 8,
    "num_key_value_heads": 4, "num_hidden_layers": 26, "rope_theta": 10000.0,
    "sliding_window": 4096, "query_pre_attn_scalar": 256, "attn_logit_softcapping": 50.0,
}
GEMMA_3_TEXT = {
    "model_type": "gemma3_text", "hidden_size": 2560, "head_dim": 256, "num_attention_heads": 8,
    "num_key_value_heads": 4, "num_hidden_layers": 12, "sliding_window": 1024,
    "rope_theta": 1000000.0, "rope_local_base_freq": 10000.0,
    "rope_scaling": {"factor": 8.0, "rope_type": "linear"},
    "layer_types": (["sliding_attention"] * 5 + ["full_attention"]) * 2,
    "torch_dtype": "bfloat16", "_name": "not part of it",
}
GEMMA_3 = {
    "model_type": "gemma3", "text_config": GEMMA_3_TEXT, "eos_token_id": [1, 106],
    "vision_config": {"num_hidden_layers": 27, "torch_dtype": "float32", "_kept": 1},
    "mm_tokens_per_image": 256, "num_hidden_layers": 99,
}
DEEPSEEK_V3 = {
    "model_type": "deepseek_v3", "hidden_size": 7168, "num_hidden_layers": 61,
    "num_attention_heads": 128, "num_key_value_heads": 128, "kv_lora_rank": 512,
    "q_lora_rank": 1536, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128,
    "rope_theta": 10000, "rope_scaling": {
        "type": "yarn", "factor": 40, "beta_fast": 32, "beta_slow": 1, "mscale": 1.0,
        "mscale_all_dim": 1.0, "original_max_position_embeddings": 4096},
}
PHI = {
    "model_type": "phi", "hidden_size": 2560, "num_attention_heads": 32, "num_hidden_layers": 32,
    "num_key_value_heads": None, "partial_rotary_factor": 0.4, "rope_theta": 10000.0,
    "rope_scaling": None,
}
GPT_NEOX = {
    "model_type": "gpt_neox", "hidden_size": 6144, "num_attention_heads": 64,
    "num_hidden_layers": 44, "rotary_pct": 0.25, "rotary_emb_base": 10000,
}
FALCON = {
    "model_type": "falcon", "hidden_size": 4544, "num_attention_heads": 71, "alibi": False,
    "num_hidden_layers": 32, "multi_query": True, "new_decoder_architecture": False,
}
CHUNKED = {
    "model_type": "llama4", "boi_token_index": 200080, "text_config": {
        "model_type": "llama4_text", "hidden_size": 5120, "head_dim": 128,
        "num_attention_heads": 40, "num_key_value_heads": 8, "num_hidden_layers": 8,
        "attention_chunk_size": 8192, "rope_theta": 500000.0, "no_rope_layers": [1, 1, 1, 0] * 2,
        "layer_types": (["chunked_attention"] * 3 + ["full_attention"]) * 2},
}
PER_KIND = {
    "model_type": "new_style", "hidden_size": 640, "head_dim": 256, "num_attention_heads": 4,
    "num_key_value_heads": 1, "num_hidden_layers": 4, "sliding_window": 512,
    "layer_types": ["sliding_attention", "full_attention"] * 2,
    "rope_parameters": {
        "sliding_attention": {"rope_type": "default", "rope_theta": 10000.0},
        "full_attention": {"rope_type": "linear", "factor": 8.0, "rope_theta": 1000000.0}},
}
GRANITE_4 = {
    "model_type": "granitemoehybrid", "hidden_size": 2560, "num_attention_heads": 40,
    "num_key_value_heads": 8, "num_hidden_layers": 4, "layer_types": ["attention"] * 4,
    "mamba_d_conv": 4, "mamba_n_groups": 1, "mamba_n_heads": 128, "mamba_d_head": 64,
    "position_embedding_type": "rope", "rope_theta": 10000000,
}
MINIMAX_M2 = {
    "model_type": "minimax_m2", "hidden_size": 3072, "head_dim": 128, "num_attention_heads": 48,
    "num_key_value_heads": 8, "num_hidden_layers": 2, "attn_type_list": [1, 1],
    "rope_theta": 5000000, "rotary_dim": 64,
}
GPT_J = {
    "model_type": "gptj", "n_layer": 28, "n_head": 16, "n_embd": 4096, "rotary_dim": 64,
    "torch_dtype": "float16",
}
