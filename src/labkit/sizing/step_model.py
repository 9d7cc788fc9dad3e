"""One replica's step time as a handful of coefficients: built once, asked millions of times.

The same sums as `step.step_time`, with everything that does not depend on the load worked out
beforehand. What asks: the serving model, the simulator and sweeps. Seconds, central values.
"""

from __future__ import annotations

from dataclasses import dataclass

from labkit.catalog.specs import ModelSpec
from labkit.sizing.device import Device
from labkit.sizing.efficiency import Efficiency
from labkit.sizing.flops import attention_coefficients, head_parameters, matmul_parameters
from labkit.sizing.inputs import EngineConfig, SizingError
from labkit.sizing.kv import cache_coefficients
from labkit.sizing.overlap import hidden_seconds
from labkit.sizing.parallel import ACTIVATION_BYTES, ALL_REDUCES_PER_LAYER
from labkit.sizing.weights import expert_bytes_per_device, fixed_streamed_bytes


@dataclass(frozen=True, slots=True)
class Windowed:
    """Seconds per cached token that grow up to `window` tokens (None: without end)."""

    per_token: float
    window: float | None

    def seconds(self, context: float) -> float:
        """For one sequence of `context` cached tokens."""
        return self.per_token * (context if self.window is None else min(context, self.window))


@dataclass(frozen=True, slots=True)
class StepModel:
    """Coefficients in seconds; see the module. `devices` is the tensor-parallel size.

    weights: reading all weights but the experts; experts: reading all of them, of which a step
    of t tokens touches min(1, t x experts_share); cache, attention: per sequence and cached
    token; cache_constant, attention_constant: per sequence; token, head: FLOPs per token and per
    sequence; pair: per query-key pair of a prefill; latency: all all-reduces of a step; wire: per
    token; host: per step; prompt, sequence: per prefill and per decoding sequence.
    decode_factor: decode compute time over that of a prefill.
    """

    weights: float
    experts: float
    experts_share: float
    cache: tuple[Windowed, ...]
    cache_constant: float
    attention: tuple[Windowed, ...]
    attention_constant: float
    token: float
    head: float
    pair: float
    latency: float
    wire: float
    host: float
    prompt: float
    sequence: float
    decode_factor: float
    hides_host: bool
    computes: bool
    devices: int

    def decode_seconds(self, batch: float, context: float) -> float:
        """One decode step: `batch` sequences of `context` cached tokens each."""
        return self.mixed_seconds(0.0, 0.0, batch, batch * context)

    def prefill_seconds(self, tokens: float, cached: float = 0.0) -> float:
        """One prompt alone: `tokens` new tokens after `cached` ones."""
        return self.mixed_seconds(
            tokens, tokens * cached + tokens * tokens / 2, 0.0, 0.0, prompts=1
        )

    def mixed_seconds(
        self,
        prefill_tokens: float,
        prefill_pairs: float,
        decode_sequences: float,
        decode_tokens: float,
        prompts: int | None = None,
    ) -> float:
        """One engine step that carries prompt chunks and decoding sequences together.

        prefill_tokens: new prompt tokens; prefill_pairs: query-key pairs, the sum over chunks of
        tokens x cached + tokens^2 / 2; decode_tokens: cached tokens of all `decode_sequences`.
        `prompts`: chunks in the step (None: one if there are prompt tokens). An empty step: 0.
        """
        if prompts is None:
            prompts = 1 if prefill_tokens > 0 else 0
        tokens = prefill_tokens + decode_sequences
        if tokens <= 0:
            return 0.0
        reading_weights = self.weights
        if self.experts:
            reading_weights += self.experts * min(1.0, tokens * self.experts_share)
        time = reading_weights + self.latency + self.wire * tokens
        if decode_sequences > 0:
            context = decode_tokens / decode_sequences
            reading, multiplying = self.cache_constant, self.attention_constant
            for part in self.cache:
                reading += part.seconds(context)
            for part in self.attention:
                multiplying += part.seconds(context)
            time += decode_sequences * (
                reading + (self.token + self.head + multiplying) * self.decode_factor
            )
        if prefill_tokens > 0:
            multiplying = (
                self.token * prefill_tokens + self.head * prompts + self.pair * prefill_pairs
            )
            time += multiplying - hidden_seconds(reading_weights, multiplying)
        shows = max(0.0, self.host - time) if self.hides_host else self.host
        return time + shows + self.prompt * prompts + self.sequence * decode_sequences


def step_model(
    model: ModelSpec,
    device: Device,
    config: EngineConfig,
    devices: int,
    efficiency: Efficiency,
) -> StepModel:
    """The coefficients of `model` on a group of `devices`.

    In a prefill a sliding window is counted as full attention (an upper bound beyond the window).
    Raises `SizingError` where the device's bandwidth is not known.
    """
    if device.bandwidth <= 0:
        raise SizingError(f"No source gives the bandwidth of a {device.noun}: it cannot be timed.")
    fmt = config.weight_format
    reading = 1.0 / (device.bandwidth * efficiency.mbu)
    caching = 1.0 / (device.bandwidth * efficiency.mbu_kv)
    peak = device.peak(fmt)
    flop = 1.0 / (peak * efficiency.mfu * devices) if peak > 0 else 0.0
    reduces = ALL_REDUCES_PER_LAYER * model.layers if devices > 1 else 0
    link = efficiency.link
    wire = 0.0
    if devices > 1:
        moved = 2 * (devices - 1) / devices * model.hidden_size * ACTIVATION_BYTES
        wire = reduces * moved / link.bandwidth(devices, device.link_bytes_per_s)
    cache, cache_constant = cache_coefficients(model, config.kv_format, devices)
    attention, attention_constant, pair = attention_coefficients(model)
    moe = model.moe
    return StepModel(
        weights=fixed_streamed_bytes(model, fmt, devices) * reading,
        experts=expert_bytes_per_device(model, fmt, devices) * reading,
        experts_share=moe.experts_per_token / moe.experts if moe else 0.0,
        cache=tuple(Windowed(size * caching, window) for size, window in cache),
        cache_constant=cache_constant * caching,
        attention=tuple(Windowed(size * flop, window) for size, window in attention),
        attention_constant=attention_constant * flop,
        token=2.0 * matmul_parameters(model) * flop,
        head=2.0 * head_parameters(model) * flop,
        pair=pair * flop,
        latency=reduces * link.latency(devices),
        wire=wire,
        host=efficiency.step_seconds + model.layers * efficiency.layer_seconds,
        prompt=efficiency.prompt_seconds,
        sequence=efficiency.sequence_seconds,
        decode_factor=efficiency.mfu / efficiency.mfu_decode,
        hides_host=efficiency.hides_host,
        computes=peak > 0,
        devices=devices,
    )
