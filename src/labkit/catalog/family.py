"""How one model family departs from the general decoder rules, and where its windows slide.

The general rules are Llama's: pre-norm with two RMS norms per layer, grouped-query attention
without biases, a gated MLP of three matrices, rotary positions, an output head of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from labkit.catalog.hf_config import HFConfig

SlidingRule = Callable[[HFConfig], tuple[bool, ...]]


def general_windows(config: HFConfig) -> tuple[bool, ...]:
    """Every layer slides where a window is set, or all but each n-th where a pattern is."""
    if not config.sliding_window or config.use_sliding_window is False:
        return (False,) * config.num_hidden_layers
    pattern = config.sliding_window_pattern
    return tuple(pattern is None or (i + 1) % pattern != 0 for i in range(config.num_hidden_layers))


def every_second(config: HFConfig) -> tuple[bool, ...]:
    """Even layers slide (Gemma 2, gpt-oss)."""
    on = bool(config.sliding_window)
    return tuple(on and i % 2 == 0 for i in range(config.num_hidden_layers))


def from_max_window_layers(config: HFConfig) -> tuple[bool, ...]:
    """Layers from `max_window_layers` on slide, where windows are switched on (Qwen)."""
    on = config.use_sliding_window is True and bool(config.sliding_window)
    first = config.max_window_layers or 0
    return tuple(on and i >= first for i in range(config.num_hidden_layers))


def even_before_max_window_layers(config: HFConfig) -> tuple[bool, ...]:
    """Even layers before `max_window_layers` slide, where windows are on (Qwen MoE)."""
    on = config.use_sliding_window is True and bool(config.sliding_window)
    last = config.max_window_layers or 0
    return tuple(on and i % 2 == 0 and i < last for i in range(config.num_hidden_layers))


@dataclass(frozen=True, slots=True)
class Family:
    """One family's departures. `True`/`False` is fixed; a text names the config's own switch.

    `qkv_bias`, `out_bias`, `mlp_bias`: biases on q/k/v, on the attention output, in the MLP.
    `norms`: norms of width `hidden_size` per layer; `norm_bias`: LayerNorm with a bias.
    `qk_norm`: "" none, "head" over one head's width, "full" over all heads together.
    `positions`: extra rows of a learned position table, None where positions are not learned.
    `sinks`: one learned attention sink per head. `expert_bias`: router and experts have biases.
    `embedding_norm`: a norm right after the embedding. `head_bias`: a bias on the output head.
    `mlp_ratio`: the MLP's width as a multiple of `hidden_size` where the config gives none.
    `multi_head`: the config cannot express fewer key-value heads than heads.
    """

    defaults: Mapping[str, Any] = field(default_factory=dict)
    gated: bool = True
    qkv_bias: bool | str = False
    out_bias: bool | str = False
    mlp_bias: bool | str = False
    norms: int = 2
    norm_bias: bool = False
    qk_norm: str = ""
    qk_norm_switch: str = ""
    positions: int | None = None
    sinks: bool = False
    expert_bias: bool = False
    embedding_norm: bool = False
    head_bias: bool | str = False
    mlp_ratio: int | None = None
    multi_head: bool = False
    sliding: SlidingRule = general_windows
