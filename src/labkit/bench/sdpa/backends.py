"""The back ends of torch's scaled_dot_product_attention: which exist here, and how to run one.

torch may answer a wish for one back end with another. So a back end counts as present only when
the profiler sees its own operator run.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from labkit.bench.sdpa.trace import traced

if TYPE_CHECKING:
    import torch

_OPERATOR = "aten::_scaled_dot_product_"
_PROBE_LENGTH = 64


@dataclass(frozen=True, slots=True)
class BackEnd:
    """One back end: our name, torch's name for it, and how its operator's name begins."""

    name: str
    enum: str
    operator: str


BACK_ENDS = (
    BackEnd("math", "MATH", f"{_OPERATOR}attention_math"),
    BackEnd("flash", "FLASH_ATTENTION", f"{_OPERATOR}flash_attention"),
    BackEnd("efficient", "EFFICIENT_ATTENTION", f"{_OPERATOR}efficient_attention"),
    BackEnd("cudnn", "CUDNN_ATTENTION", f"{_OPERATOR}cudnn_attention"),
)


@dataclass(frozen=True, slots=True)
class Shape:
    """What is attended: heads, head size, element type. One sequence, causal."""

    heads: int = 9
    head_dim: int = 64
    dtype: str = "float32"

    @property
    def element_bytes(self) -> int:
        """Bytes of one number."""
        return {"float32": 4, "float16": 2}[self.dtype]

    def score_bytes(self, length: int) -> int:
        """The score matrices of all heads, kept whole: heads · n² · bytes."""
        return self.heads * length * length * self.element_bytes

    def qkv_bytes(self, length: int) -> int:
        """q, k, v and the output: 4 · heads · n · head size · bytes."""
        return 4 * self.heads * length * self.head_dim * self.element_bytes

    def draw(self, length: int, device: str, seed: int = 0) -> tuple[torch.Tensor, ...]:
        """q, k and v of shape [1, heads, length, head_dim], normally distributed."""
        import torch

        drawn = torch.Generator().manual_seed(seed)
        size = (3, 1, self.heads, length, self.head_dim)
        numbers = torch.randn(size, generator=drawn).to(device, getattr(torch, self.dtype))
        return tuple(numbers.unbind(0))


@dataclass(frozen=True, slots=True)
class Presence:
    """Whether a back end exists here: the operator that ran, or why there is none."""

    operator: str | None
    why: str = ""


def runner(backend: BackEnd, qkv: tuple[torch.Tensor, ...]) -> Callable[[], Any]:
    """Causal attention of `qkv` by that back end; a call raises RuntimeError where it is absent."""
    from torch.nn import attention, functional

    chosen = getattr(attention.SDPBackend, backend.enum)
    query, key, value = qkv

    def run() -> torch.Tensor:
        with attention.sdpa_kernel([chosen]):
            return functional.scaled_dot_product_attention(query, key, value, is_causal=True)

    return run


def find(backend: BackEnd, shape: Shape, device: str) -> Presence:
    """Try `backend` on a short sequence and look which operator ran."""
    import torch
    from torch.nn import attention

    absent = f"torch {torch.__version__} has no {backend.name} back end for {shape.dtype} on "
    absent += f"{device.upper()}"
    if not hasattr(attention.SDPBackend, backend.enum):
        return Presence(None, f"{absent}.")
    run = runner(backend, shape.draw(_PROBE_LENGTH, device))
    try:
        names = {str(event.get("name", "")) for event in traced(run)}
    except RuntimeError:  # torch's way to say that no kernel fits
        return Presence(None, f"{absent}.")
    ran = sorted(name for name in names if name.startswith(_OPERATOR))
    for name in ran:
        if name.startswith(backend.operator):
            return Presence(name)
    return Presence(None, f"{absent}: asked for it, torch ran {' and '.join(ran) or 'another'}.")
