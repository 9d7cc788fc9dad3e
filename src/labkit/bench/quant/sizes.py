"""Bytes of a loaded torch model, counted from its tensors: each piece of memory once."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


def weight_bytes(model: Any) -> int:
    """All parameters, and the scales that bitsandbytes keeps beside them."""
    return distinct_bytes(_weights(model))


def held_bytes(model: Any) -> int:
    """All parameters, scales and buffers."""
    return distinct_bytes([*_weights(model), *model.buffers()])


def scales(weight: Any) -> list[Any]:
    """What bitsandbytes keeps beside a weight: rows' scales (INT8), blocks' and levels (4-bit)."""
    state = getattr(weight, "quant_state", None)
    found = [getattr(weight, "SCB", None)]
    found += [getattr(state, name, None) for name in ("absmax", "code")]
    return [tensor for tensor in found if tensor is not None]


def distinct_bytes(tensors: Iterable[Any]) -> int:
    """Bytes of the elements; tensors that start at one address are one."""
    return sum({t.data_ptr(): t.numel() * t.element_size() for t in tensors}.values())


def _weights(model: Any) -> list[Any]:
    parameters = list(model.parameters())
    return [*parameters, *(scale for weight in parameters for scale in scales(weight))]
