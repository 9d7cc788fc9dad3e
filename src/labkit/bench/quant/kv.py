"""A quantised KV cache, emulated inside attention: its error layer by layer, and the loss with it.

K (after the rotary embedding) and V are rounded as a quantised cache would hold them, and attention
goes on with the rounded ones. Each layer is also computed with its unrounded K and V, from the same
query: the difference is the error that this layer's rounding adds to its output.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from labkit.bench.quant.score import perplexity, window_losses

if TYPE_CHECKING:
    import torch

_NAME = "labkit_quantised_kv"
INT8_MAX = 127


@dataclass(frozen=True, slots=True)
class KvFormat:
    """A cache format: `scale_bytes` per vector (one token, one KV head) beside its elements."""

    key: str
    label: str
    element_bytes: int
    scale_bytes: int
    round: Callable[[torch.Tensor], torch.Tensor]

    def bytes_per_token(self, layers: int, kv_heads: int, head_dim: int) -> int:
        """K and V of one token in all layers: 2 · layers · KV heads · bytes of a vector."""
        return 2 * layers * kv_heads * (head_dim * self.element_bytes + self.scale_bytes)


def round_int8(vectors: torch.Tensor) -> torch.Tensor:
    """Symmetric INT8 with one FP16 scale per vector (the last axis): largest |x| on 127."""
    import torch

    scale = vectors.abs().amax(dim=-1, keepdim=True) / INT8_MAX
    scale = scale.to(torch.float16).to(vectors.dtype)
    scale = torch.where(scale > 0, scale, 1.0)
    return (vectors / scale).round().clamp(-INT8_MAX, INT8_MAX) * scale


def round_e4m3(vectors: torch.Tensor) -> torch.Tensor:
    """E4M3 without a scale, as serving engines store it by default; saturates at ±448."""
    import torch

    home = vectors.device
    # MPS has no FP8 type: the cast happens on the CPU there.
    place = vectors.cpu() if home.type == "mps" else vectors
    eight = place.clamp(-448.0, 448.0).to(torch.float8_e4m3fn)
    return eight.to(vectors.dtype).to(home)


KV_FORMATS = (
    KvFormat("int8", "INT8, a scale per token and head", 1, 2, round_int8),
    KvFormat("fp8", "FP8 E4M3, no scale", 1, 0, round_e4m3),
)


def measure_kv(model: Any, windows: torch.Tensor, form: KvFormat) -> dict[str, Any]:
    """Facts of `form`: bytes per token, losses with such a cache, and each layer's error.

    The error is ‖o′ − o‖ ÷ ‖o‖ of the layer's attention output, norms over all windows.
    """
    config = model.config
    heads, layers = config.num_key_value_heads, config.num_hidden_layers
    head_dim = getattr(config, "head_dim", None) or (
        config.hidden_size // config.num_attention_heads
    )
    watch = _Watch(form, layers)
    before = config._attn_implementation
    watch.install(model)
    try:
        losses = window_losses(model, windows)
    finally:
        model.set_attn_implementation(before)
    return {
        "label": form.label,
        "bytes_per_token": form.bytes_per_token(layers, heads, head_dim),
        "attention_error": watch.errors(),
        "nll": losses,
        "perplexity": perplexity(losses),
    }


class _Watch:
    """The attention function that rounds K and V, and the sums of what it saw."""

    def __init__(self, form: KvFormat, layers: int) -> None:
        self._form = form
        self._wrong = [0.0] * layers
        self._whole = [0.0] * layers

    def install(self, model: Any) -> None:
        from transformers import AttentionInterface, AttentionMaskInterface
        from transformers.masking_utils import sdpa_mask

        # A name of its own; the latest registration holds.
        AttentionInterface.register(_NAME, self._attend)
        AttentionMaskInterface.register(_NAME, sdpa_mask)
        model.set_attn_implementation(_NAME)

    def errors(self) -> list[float]:
        """Relative error of each layer."""
        pairs = zip(self._wrong, self._whole, strict=True)
        return [float(f"{(wrong / whole) ** 0.5:.4g}") for wrong, whole in pairs]

    def _attend(
        self,
        module: Any,
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        attention_mask: torch.Tensor | None,
        **options: Any,
    ) -> tuple[torch.Tensor, None]:
        from transformers.integrations.sdpa_attention import sdpa_attention_forward

        attend: Any = sdpa_attention_forward
        right, _ = attend(module, query, key, value, attention_mask, **options)
        rounded = (self._form.round(tensor) for tensor in (key, value))
        found, _ = attend(module, query, *rounded, attention_mask, **options)
        layer = int(module.layer_idx)
        self._wrong[layer] += float((found - right).square().sum())
        self._whole[layer] += float(right.square().sum())
        return found, None
