"""What one engine step has to do on each device: bytes, FLOPs and messages, before any efficiency.

A step carries `prefill` tokens (new prompt tokens, of one prompt or of chunks of several) and
`decode` sequences that get one token each; either may be none. These are physical quantities:
they follow from the model's shape and the tensor-parallel size alone.
"""

from __future__ import annotations

from dataclasses import dataclass

from labkit.catalog.specs import ModelSpec
from labkit.sizing.flops import decode_flops, prefill_flops
from labkit.sizing.inputs import EngineConfig
from labkit.sizing.kv import kv_bytes_per_sequence
from labkit.sizing.parallel import ACTIVATION_BYTES, ALL_REDUCES_PER_LAYER
from labkit.sizing.weights import device_streamed_bytes


@dataclass(frozen=True, slots=True)
class Work:
    """One step on one device of a group of `devices`.

    weight_bytes, kv_bytes: read from device memory; flops: multiplied; message_bytes: what one
    all-reduce carries; all_reduces: how many; sequences: those that get a token;
    prompts: prompts whose prefill the step carries, 0 in a decode step.
    """

    weight_bytes: float
    kv_bytes: float
    flops: float
    message_bytes: float
    all_reduces: int
    layers: int
    sequences: int
    prompts: int
    devices: int


def decode_work(
    model: ModelSpec, config: EngineConfig, *, batch: int, context: float, devices: int
) -> Work:
    """A decode step: `batch` sequences of `context` cached tokens, one new token each."""
    cache = kv_bytes_per_sequence(model, config.kv_format, context, tensor_parallel_size=devices)
    return Work(
        weight_bytes=device_streamed_bytes(model, config.weight_format, batch, devices),
        kv_bytes=batch * cache,
        flops=decode_flops(model, batch, context) / devices,
        message_bytes=batch * model.hidden_size * ACTIVATION_BYTES,
        all_reduces=_all_reduces(model, devices),
        layers=model.layers,
        sequences=batch,
        prompts=0,
        devices=devices,
    )


def prefill_work(
    model: ModelSpec,
    config: EngineConfig,
    *,
    tokens: int,
    cached: int = 0,
    prompts: int = 1,
    devices: int,
) -> Work:
    """The prefill of `prompts` equal prompts at once: `tokens` new ones each after `cached`.

    The cached tokens of a prefix are read; a prompt's own keys and values are still at hand.
    """
    cache = (
        kv_bytes_per_sequence(model, config.kv_format, cached, tensor_parallel_size=devices)
        if cached
        else 0.0
    )
    return Work(
        weight_bytes=device_streamed_bytes(model, config.weight_format, tokens * prompts, devices),
        kv_bytes=prompts * cache,
        flops=prompts * prefill_flops(model, tokens, cached_tokens=cached) / devices,
        message_bytes=prompts * tokens * model.hidden_size * ACTIVATION_BYTES,
        all_reduces=_all_reduces(model, devices),
        layers=model.layers,
        sequences=prompts,
        prompts=prompts,
        devices=devices,
    )


def _all_reduces(model: ModelSpec, devices: int) -> int:
    return ALL_REDUCES_PER_LAYER * model.layers if devices > 1 else 0
