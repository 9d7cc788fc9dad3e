"""A decoder's shape, worked out from its configuration: layers, heads, windows, experts.

`Architecture` is what `parameters` counts and `from_config` turns into a `ModelSpec`.
"""

from __future__ import annotations

from dataclasses import dataclass

from labkit.catalog.errors import ConfigError
from labkit.catalog.family import Family
from labkit.catalog.hf_config import HFConfig

LAYER_KINDS = {
    "full_attention": "full",
    "sliding_attention": "sliding",
    "chunked_attention": "sliding",
    "linear_attention": "linear",
}


@dataclass(frozen=True, slots=True)
class Latent:
    """Multi-head latent attention: ranks and widths of DeepSeek-V2's equations."""

    kv_rank: int
    q_rank: int | None
    nope_dim: int
    rope_dim: int
    value_dim: int


@dataclass(frozen=True, slots=True)
class Experts:
    """One mixture-of-experts layer: routed experts of width `width`, shared ones beside them."""

    count: int
    per_token: int
    width: int
    shared: int
    shared_width: int
    shared_gate: bool


@dataclass(frozen=True, slots=True)
class Architecture:
    """Everything a parameter count needs. Widths are elements, `kinds` one entry per layer."""

    hidden: int
    layers: int
    vocab: int
    heads: int
    kv_heads: int
    head_dim: int
    mlp_width: int
    kinds: tuple[str, ...]
    window: int | None
    moe_mask: tuple[bool, ...]
    latent: Latent | None
    experts: Experts | None
    qkv_bias: bool
    out_bias: bool
    mlp_bias: bool
    qk_norm: str
    position_rows: int
    embedding_width: int
    final_norm: bool
    tied: bool
    norms: int
    head_bias: bool


def build(config: HFConfig, family: Family, label: str) -> Architecture:
    """The shape that `config` describes under its family's rules.

    Raises `ConfigError` where fields contradict each other or one that is needed is missing.
    """
    heads, layers = config.num_attention_heads, config.num_hidden_layers
    kv_heads = heads if family.multi_head else (config.num_key_value_heads or heads)
    latent = _latent(config, label)
    if heads % kv_heads and latent is None:
        raise ConfigError(
            f"{label} gives num_attention_heads = {heads} and num_key_value_heads = {kv_heads}: "
            "the first must be a multiple of the second."
        )
    head_dim = None if family.multi_head else config.head_dim
    if latent is not None:
        head_dim = latent.nope_dim + latent.rope_dim
    elif head_dim is None:
        head_dim, rest = divmod(config.hidden_size, heads)
        if rest:
            raise ConfigError(
                f"{label} gives hidden_size = {config.hidden_size} and num_attention_heads = "
                f"{heads}: without head_dim the first must be a multiple of the second."
            )
    experts = _experts(config, label)
    moe_mask = _moe_mask(config, experts)
    mlp_width = config.intermediate_size or (
        family.mlp_ratio * config.hidden_size if family.mlp_ratio else 0
    )
    if not mlp_width and not all(moe_mask):
        raise ConfigError(f"{label} lacks the field intermediate_size.")
    kinds = _kinds(config, family, latent, label)

    def switch(value: bool | str) -> bool:
        return bool(getattr(config, value)) if isinstance(value, str) else value

    qk_norm = family.qk_norm
    if family.qk_norm_switch and not switch(family.qk_norm_switch):
        qk_norm = ""
    positions = 0
    if family.positions is not None:
        if config.max_position_embeddings is None:
            raise ConfigError(f"{label} lacks the field max_position_embeddings.")
        positions = config.max_position_embeddings + family.positions
    return Architecture(
        hidden=config.hidden_size,
        layers=layers,
        vocab=config.vocab_size,
        heads=heads,
        kv_heads=kv_heads,
        head_dim=head_dim,
        mlp_width=mlp_width,
        kinds=kinds,
        window=config.sliding_window if "sliding" in kinds else None,
        moe_mask=moe_mask,
        latent=latent,
        experts=experts,
        qkv_bias=switch(family.qkv_bias),
        out_bias=switch(family.out_bias),
        mlp_bias=switch(family.mlp_bias),
        qk_norm=qk_norm,
        position_rows=positions,
        embedding_width=config.word_embed_proj_dim or config.hidden_size,
        final_norm=config.do_layer_norm_before,
        tied=config.tie_word_embeddings,
        norms=config.norms_per_layer or family.norms,
        head_bias=switch(family.head_bias),
    )


def _latent(config: HFConfig, label: str) -> Latent | None:
    if config.kv_lora_rank is None:
        return None
    parts = ("qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim")
    missing = [name for name in parts if getattr(config, name) is None]
    if missing:
        raise ConfigError(
            f"{label} gives kv_lora_rank (latent attention) but lacks {' and '.join(missing)}."
        )
    return Latent(
        kv_rank=config.kv_lora_rank,
        q_rank=config.q_lora_rank,
        nope_dim=config.qk_nope_head_dim or 0,
        rope_dim=config.qk_rope_head_dim or 0,
        value_dim=config.v_head_dim or 0,
    )


def _experts(config: HFConfig, label: str) -> Experts | None:
    if not config.num_local_experts:
        return None
    count, per_token = config.num_local_experts, config.num_experts_per_tok
    width = config.moe_intermediate_size or config.intermediate_size
    if per_token is None or width is None:
        field = "num_experts_per_tok" if per_token is None else "moe_intermediate_size"
        raise ConfigError(f"{label} has {count} experts but lacks the field {field}.")
    if per_token > count:
        raise ConfigError(
            f"{label} gives num_experts_per_tok = {per_token}: there are only {count} experts."
        )
    if config.n_shared_experts:
        shared, shared_width, gate = config.n_shared_experts, config.n_shared_experts * width, False
    elif config.shared_expert_intermediate_size:
        shared, shared_width, gate = 1, config.shared_expert_intermediate_size, True
    else:
        shared, shared_width, gate = 0, 0, False
    return Experts(count, per_token, width, shared, shared_width, gate)


def _moe_mask(config: HFConfig, experts: Experts | None) -> tuple[bool, ...]:
    """Which layers are MoE: after the first dense ones, at the stated steps, unless listed."""
    if experts is None:
        return (False,) * config.num_hidden_layers
    dense = set(config.mlp_only_layers or ())
    freq = config.moe_layer_freq

    def is_moe(i: int) -> bool:
        chosen = bool(freq[i]) if isinstance(freq, list) and i < len(freq) else i % _step(freq) == 0
        return (
            chosen
            and i >= config.first_k_dense_replace
            and i not in dense
            and (i + 1) % config.decoder_sparse_step == 0
        )

    return tuple(is_moe(i) for i in range(config.num_hidden_layers))


def _step(freq: int | list[int]) -> int:
    return 1 if isinstance(freq, list) else freq


def _kinds(config: HFConfig, family: Family, latent: Latent | None, label: str) -> tuple[str, ...]:
    if latent is not None:
        return ("mla",) * config.num_hidden_layers
    if config.layer_types is None:
        return tuple("sliding" if slides else "full" for slides in family.sliding(config))
    if len(config.layer_types) != config.num_hidden_layers:
        raise ConfigError(
            f"{label} gives {len(config.layer_types)} layer_types for num_hidden_layers = "
            f"{config.num_hidden_layers}."
        )
    unknown = sorted({kind for kind in config.layer_types if kind not in LAYER_KINDS})
    if unknown:
        raise ConfigError(
            f"{label} gives the layer type {unknown[0]!r}: known are {', '.join(LAYER_KINDS)}."
        )
    kinds = tuple(LAYER_KINDS[kind] for kind in config.layer_types)
    if "sliding" in kinds and not config.sliding_window:
        raise ConfigError(f"{label} has sliding layers but lacks the field sliding_window.")
    return kinds
