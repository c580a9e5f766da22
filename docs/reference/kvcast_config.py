"""A config's members, and what is refused of them.

Follows names.md, "From config.json to layer groups": the parts that begin with "Refused".
"""

from kvcast_canonical import canonical, whole
from kvcast_family import ATTEND_TO_LATER, DECIDED_BY, GRANITE_HYBRID, TURNS_BY_LENGTH, folded
from kvcast_names import Refused

MAX_U32 = 2**32 - 1
MAX_WHOLE = 2**64 - 1  # Beyond, a number is a double and not whole.


class Members:
    """A config's text part. A member that is null counts as absent."""

    def __init__(self, values: dict, nested: bool = False):
        self.nested = nested
        self.values = {name: value for name, value in values.items() if value is not None}

    def __contains__(self, name: str) -> bool:
        return name in self.values

    def get(self, name: str):
        return self.values.get(name)

    def first(self, *names: str) -> str | None:
        return next((name for name in names if name in self.values), None)

    def count(self, name: str | None, low: int, high: int) -> int:
        if name is None:
            raise Refused("the config lacks a count")
        number = whole(self.values.get(name))
        if number is None or not low <= number <= high:
            raise Refused(f"{name} is not a whole number from {low} to {high}")
        return number

    def flag(self, name: str) -> bool | None:
        value = self.values.get(name)
        if value is not None and not isinstance(value, bool):
            raise Refused(f"{name} is neither true nor false")
        return value


OTHER_STATE = frozenset(
    "attn_layer_indices attn_layer_period block_configs block_types"
    " cross_attention_layers full_attention_interval full_attn_idxs global_head_dim"
    " hybrid_layer_ids hybrid_layer_pattern hybrid_override_pattern index_head_dim"
    " layer_group_size layers_block_type linear_attn_config num_attention_heads_per_layer"
    " num_global_key_value_heads num_key_value_heads_per_layer"
    " state_size".split()
)
OTHER_STATE_PREFIXES = tuple(
    "conv_ linear_conv_ linear_key_ linear_num_ linear_value_ lru_ mamba_ rwkv_ ssm_".split()
)


# Members that tell of KV heads: those that are read, and parts of names of those that are not.
KNOWN_HEAD_MEMBERS = frozenset(
    "head_dim num_attention_groups num_key_value_heads num_kv_heads qk_nope_head_dim"
    " qk_rope_head_dim v_head_dim".split()
)
HEAD_WORDS = (
    "head_dim head_kv head_size key_value_head kv_channels kv_head kv_n_head multi_query_group"
).split()
HEAD_SIZE_AGAIN = ("attention_head_dim", "kv_channels")  # Where head_dim says the same.


def full_kinds(members: Members) -> tuple[str, ...]:
    """What layer_types calls full attention."""
    is_granite = folded(members.get("model_type")) == GRANITE_HYBRID
    return ("full_attention", "attention") if is_granite else ("full_attention",)


def _without_unused(members: Members) -> set[str]:
    """The names of members, without those of recurrent layers that the model has not."""
    kinds = full_kinds(members)
    types = members.get("layer_types")
    unused = len(kinds) > 1 and isinstance(types, list) and all(kind in kinds for kind in types)
    return {name for name in members.values if not (unused and name.startswith("mamba_"))}


def _refuse_unknown_heads(members: Members) -> None:
    latent = "kv_lora_rank" in members
    known = KNOWN_HEAD_MEMBERS | ({"qk_head_dim"} if latent else set())
    size = whole(members.get("head_dim"))
    again = {name for name in HEAD_SIZE_AGAIN if whole(members.get(name)) == size is not None}
    for name in _without_unused(members) - known - again:
        own_word = any(word in name for word in HEAD_WORDS)
        if own_word or name.endswith("_groups") or name == "attention_other_setting":
            raise Refused(f"{name} may tell of KV heads")
    if members.flag("use_mla") not in (None, latent):
        raise Refused("use_mla and kv_lora_rank contradict each other")


def _refuse_hidden_state(members: Members) -> None:
    if "num_kv_shared_layers" in members and members.count("num_kv_shared_layers", 0, MAX_U32):
        raise Refused("layers share KV")
    if "total_ut_steps" in members and members.count("total_ut_steps", 0, MAX_WHOLE) > 1:
        raise Refused("layers run, and cache, several times")
    for name in _without_unused(members):
        if name in OTHER_STATE or name.startswith(OTHER_STATE_PREFIXES):
            raise Refused(f"{name}: there is a state that layer groups do not describe")
    kinds = members.get("attn_type_list")
    if kinds is not None:
        is_softmax = isinstance(kinds, list) and all(whole(kind) == 1 for kind in kinds)
        if not is_softmax or whole(members.get("num_hidden_layers")) != len(kinds):
            raise Refused("attn_type_list: not every layer has a KV cache")
    if members.flag("layer_sharing"):
        raise Refused("layers run, and cache, several times")
    if members.flag("use_cla"):
        raise Refused("layers share KV")
    if members.flag("is_encoder_decoder"):
        raise Refused("an encoder-decoder keeps KV of two kinds")
    _refuse_unknown_heads(members)


# KV that is not a function of the tokens before it.
NO_PREFIX_FLAGS = ("bidirectional", "prefix_lm", "use_dynamic_ntk")


def _present(value: dict, name: str) -> bool:
    return value.get(name) is not None


def _follows_the_length(rope: dict) -> bool:
    kinds = [rope.get(name) for name in ("type", "rope_type")]
    kinds = [kind for kind in kinds if isinstance(kind, str)]
    if any("dynamic" in kind for kind in kinds):
        return True
    if not any("longrope" in kind or kind == "su" for kind in kinds):
        return False
    short, long = rope.get("short_factor"), rope.get("long_factor")
    if _present(rope, "short_mscale") or _present(rope, "long_mscale"):
        return True
    return not isinstance(short, list) or not short or canonical(short) != canonical(long)


def _refuse_beyond_the_prefix(members: Members) -> None:
    for name in ("rope_scaling", "rope_parameters"):
        rope = members.get(name)
        if isinstance(rope, dict):
            for each in [rope, *(value for value in rope.values() if isinstance(value, dict))]:
                if _follows_the_length(each):
                    raise Refused(f"{name}: keys turn by the length of the prompt")
    for name, value in members.values.items():
        if any(word in name for word in NO_PREFIX_FLAGS) and value is not False:
            raise Refused(f"{name}: KV depends on what comes later")
    if "is_causal" in members and members.get("is_causal") is not True:
        raise Refused("is_causal: tokens attend to later ones")
    _refuse_sparse_by_length(members)
    _refuse_whole_prompt_models(members)


def _refuse_sparse_by_length(members: Members) -> None:
    sparse = members.get("sparse_config")
    if sparse is not None and (not isinstance(sparse, dict) or sparse.get("dense_len") != -1):
        raise Refused("sparse_config: attention is sparse from some length of the prompt on")
    chunks = members.get("dual_chunk_attention_config")
    if chunks is None:
        return
    if not isinstance(chunks, dict) or chunks.get("sparse_attention_enabled") is not False:
        raise Refused("dual_chunk_attention_config: attention is sparse in long prompts")
    length = chunks.get("original_max_position_embeddings")
    if length is not None and whole(length) != 0:
        raise Refused("dual_chunk_attention_config: attention is scaled by the prompt's length")


def _refuse_whole_prompt_models(members: Members) -> None:
    architectures = members.get("architectures")
    for name in architectures if isinstance(architectures, list) else ():
        if "formaskedlm" in folded(name) or any(word in folded(name) for word in ATTEND_TO_LATER):
            raise Refused(f"{name}: tokens attend to later ones")
    kind = folded(members.get("model_type"))
    if TURNS_BY_LENGTH in kind:
        raise Refused(f"{kind}: keys turn by the length of the prompt")
    if any(word in kind for word in ATTEND_TO_LATER):
        raise Refused(f"{kind}: tokens attend to later ones")
    if "bert" in kind and "decoder" not in kind and members.get("is_decoder") is not True:
        raise Refused(f"{kind}: an encoder")


def _refuse_family(family: str, text: Members) -> None:
    """Where the code of the family caches otherwise, and the text part does not say it does not."""
    deciding = DECIDED_BY.get(family)
    if deciding is not None and text.first(*deciding) is None:
        raise Refused(f"{family}: there is a state that layer groups do not describe")


def refuse_unknown(top: Members, text: Members) -> None:
    for members in (top, text):
        _refuse_hidden_state(members)
        _refuse_beyond_the_prefix(members)
        _refuse_family(folded(members.get("model_type")), text)
