"""What the engine says a published run should have measured, in the row's own unit and meaning.

Two kinds of run:

- static: `batch` prompts are prefilled together, then decoded together to the end;
- closed loop: `batch` users each send the next request when the last one ends, so one user's
  prefill stalls the others' decoding. In the time a request takes, each of the `batch` is
  prefilled once: request = batch x prefill + (output - 1) x step.

TTFT in a closed loop adds the wait behind other prefills, M/D/1 at the share of time rho that
prefills take: prefill x (1 + rho / (2 (1 - rho))). Sequences beyond what the cache holds wait for
one that ends (Little's law: batch = throughput x time in system).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from labkit.sizing.device import Device
from labkit.sizing.efficiency import (
    DECODE_MANY,
    DECODE_ONE,
    PREFILL,
    SHARDED,
    Efficiency,
    efficiency_of,
    format_class,
    hardware_class,
)
from labkit.sizing.inputs import EngineConfig
from labkit.sizing.kv import kv_bytes_per_sequence
from labkit.sizing.memory import default_sequences, max_sequences, memory_budget
from labkit.sizing.parallel import link_kind
from labkit.sizing.step import StepTime, step_time
from labkit.sizing.validate.result import Unsupported
from labkit.sizing.validate.runs import MeasuredRun
from labkit.sizing.weights import device_weight_bytes
from labkit.sizing.work import Work, decode_work, prefill_work

# llama.cpp cuts a prompt into pieces of this many tokens and passes them from card to card.
_UBATCH_TOKENS = 512
_MOST_BUSY = 0.95
GB = 1e9


@dataclass(frozen=True, slots=True)
class Prediction:
    """The band of one row's metric in the row's unit: 0 <= low <= mid <= high, all finite.

    kind: "fit" (a calibration's residuals) or "prior" (a published range).
    """

    low: float
    mid: float
    high: float
    kind: str = "prior"


@dataclass(frozen=True, slots=True)
class Load:
    """The physical work of a run, which no parameter changes: fits evaluate it many times.

    `running` of the run's `batch` sequences share a step; the others wait.
    """

    step: Work
    prompt: Work
    prompts: Work
    running: int


@dataclass(frozen=True, slots=True)
class Times:
    """Seconds of one decode step, of one prompt's prefill and of the whole batch's."""

    step: float
    prompt: float
    prompts: float
    running: int

    def request(self, run: MeasuredRun) -> float:
        """Seconds from a request's admission to its last token."""
        prefill = self.running * self.prompt if run.closed_loop else self.prompts
        return prefill + (_output(run) - 1) * self.step

    def waiting(self, run: MeasuredRun) -> float:
        """Seconds before admission, where more are sent than fit."""
        return self.request(run) * (run.batch / self.running - 1.0)


def load_of(run: MeasuredRun) -> Load:
    """The work of a run's steps. Raises `Unsupported` where it cannot run at all."""
    config, n = config_of(run), run.devices
    prompt = max(1, round(run.prompt_tokens))
    output = _output(run)
    running = _running(run, config, prompt + output / 2)

    def prefill(prompts: int) -> Work:
        return prefill_work(run.model, config, tokens=prompt, prompts=prompts, devices=n)

    one = prefill(1)
    return Load(
        step=decode_work(run.model, config, batch=running, context=prompt + output / 2, devices=n),
        prompt=one,
        prompts=prefill(run.batch) if run.batch > 1 and not run.closed_loop else one,
        running=running,
    )


def config_of(run: MeasuredRun) -> EngineConfig:
    """The engine configuration that the run states."""
    return EngineConfig(
        weights=run.weights.name,
        kv=run.kv.name,
        batch=run.batch,
        tensor_parallel_size=run.devices,
        engine_version=run.engine_version,
    )


def efficiency_for_run(run: MeasuredRun) -> Efficiency:
    """The shipped efficiency of the run's engine, hardware and formats."""
    return efficiency_of(*efficiency_key(run))


def efficiency_key(run: MeasuredRun) -> tuple[str, str, str, str, tuple[str, ...]]:
    """(variant, hardware class, format class, link, quirks): what the parameters are chosen by."""
    return (
        run.variant,
        hardware_class(run.device.accelerator),
        format_class(run.weights),
        link_kind(run.device.link),
        tuple(quirk for quirk in run.quirks if quirk != "pre-xqa" or _shares_kv_heads(run)),
    )


def _shares_kv_heads(run: MeasuredRun) -> bool:
    return any(0 < kind.kv_heads < kind.heads for kind in run.model.attention)


def predict(run: MeasuredRun) -> Prediction:
    """The band for one run with the shipped parameters.

    Raises `Unsupported` with a reason where the engine cannot say.
    """
    if run.metric == "vram_gb":
        return _memory(run)
    value = _value_of(run)
    load, efficiency = load_of(run), efficiency_for_run(run)
    step, prompt, prompts = step_times(run, load, efficiency)
    low, mid, high = (
        value(run, Times(step.at(end), prompt.at(end), prompts.at(end), load.running))
        for end in ("low", "mid", "high")
    )
    prefill = run.metric in _PREFILL_METRICS
    kind = (prompt if prefill else step).spread.kind
    return Prediction(min(low, high), mid, max(low, high), kind)


def central(run: MeasuredRun, load: Load, efficiency: Efficiency) -> float:
    """The central value alone, with any efficiency: what a fit compares with the measurement."""
    step, prompt, prompts = step_times(run, load, efficiency)
    return _value_of(run)(run, Times(step.seconds, prompt.seconds, prompts.seconds, load.running))


def step_times(
    run: MeasuredRun, load: Load, efficiency: Efficiency
) -> tuple[StepTime, StepTime, StepTime]:
    """The decode step, one prompt's prefill and the batch's prefill."""
    device = device_of_run(run)
    step, prompt, prompts = (
        step_time(work, device, run.weights, efficiency)
        for work in (load.step, load.prompt, load.prompts)
    )
    return step, prompt, prompts


def device_of_run(run: MeasuredRun) -> Device:
    """One rank of the run, with the FLOP/s of the CPU cores that worked."""
    if run.cpu_flops is None or run.device.cpu_flops:
        return run.device
    return replace(run.device, cpu_flops=run.cpu_flops)


def regime_of(run: MeasuredRun, load: Load) -> str:
    """Which spread belongs to the run: see `efficiency`."""
    if run.metric in _PREFILL_METRICS:
        return PREFILL
    if run.devices > 1:
        return SHARDED
    return DECODE_MANY if load.running > 1 else DECODE_ONE


def _output(run: MeasuredRun) -> float:
    return max(1.0, run.output_tokens)


def _ttft(run: MeasuredRun, t: Times) -> float:
    if not run.closed_loop or t.running == 1:
        return 1e3 * (t.prompts if run.batch > 1 else _piped(run, t))
    busy = min(_MOST_BUSY, t.running * t.prompt / t.request(run))
    return 1e3 * (t.prompt * (1 + busy / (2 * (1 - busy))) + t.waiting(run))


def _tpot(run: MeasuredRun, t: Times) -> float:
    if not run.closed_loop:
        return 1e3 * t.step
    if run.prefill_inside:
        return 1e3 * t.request(run) / _output(run)
    return 1e3 * (t.step + (t.running - 1) * t.prompt / _output(run))


def _per_user(run: MeasuredRun, t: Times) -> float:
    return 1e3 / _tpot(run, t)


def _total(run: MeasuredRun, t: Times) -> float:
    rate = t.running / t.step if run.decode_only else t.running * _output(run) / t.request(run)
    if run.per_device:
        return rate / run.devices
    return _offered(run, rate * run.replicas, _output(run))


def _requests(run: MeasuredRun, t: Times) -> float:
    return _offered(run, t.running / t.request(run) * run.replicas, 1.0)


def _offered(run: MeasuredRun, rate: float, each: float) -> float:
    """The rate, no more than what is offered: `each` per request."""
    return rate if run.offered_rate is None else min(rate, run.offered_rate * each)


def _latency(run: MeasuredRun, t: Times) -> float:
    return t.request(run) + t.waiting(run)


def _prefill_rate(run: MeasuredRun, t: Times) -> float:
    return max(1.0, run.prompt_tokens) / _piped(run, t)


def _piped(run: MeasuredRun, t: Times) -> float:
    """Prefill of one prompt; over several cards in a row its pieces overlap."""
    cards = run.pipeline_devices
    if cards <= 1:
        return t.prompt
    pieces = math.ceil(max(1.0, run.prompt_tokens) / _UBATCH_TOKENS)
    return t.prompt * (pieces + cards - 1) / (pieces * cards)


METRICS: Mapping[str, Callable[[MeasuredRun, Times], float]] = MappingProxyType(
    {
        "ttft_ms_p50": _ttft,
        "tpot_ms": _tpot,
        "latency_s": _latency,
        "decode_tok_s_per_user": _per_user,
        "decode_tok_s_total": _total,
        "req_s": _requests,
        "prefill_tok_s": _prefill_rate,
    }
)
"""Metric of the measurements' schema -> its value from a run's times. `vram_gb` is apart."""

RATES = frozenset({"decode_tok_s_per_user", "decode_tok_s_total", "req_s", "prefill_tok_s"})
"""Metrics that fall as time grows."""

_PREFILL_METRICS = frozenset({"ttft_ms_p50", "prefill_tok_s"})


def _value_of(run: MeasuredRun) -> Callable[[MeasuredRun, Times], float]:
    value = METRICS.get(run.metric)
    if value is None:
        raise Unsupported(f"The engine does not predict {run.metric!r}.")
    if run.device.bandwidth <= 0:
        raise Unsupported(f"No source gives the memory bandwidth of {run.device.noun}.")
    if run.metric in _PREFILL_METRICS and not device_of_run(run).peak(run.weights):
        raise Unsupported(f"No source gives the FLOP/s of {run.device.noun}: no prefill time.")
    return value


def _running(run: MeasuredRun, config: EngineConfig, context: float) -> int:
    """Sequences that run at once: all of a static batch; of a loop, as many as the engine admits.

    The cache holds its bytes at the mean context, as engines that preempt fill it.
    """
    if not run.closed_loop or run.batch <= 1:
        return run.batch
    admitted = default_sequences(run.model, run.device, run.engine, run.engine_version, run.devices)
    most = min(run.batch, admitted or run.batch)
    budget = memory_budget(run.model, run.device, run.engine, config, run.devices)
    room = max_sequences(run.model, config, budget.kv_pool_bytes, context, run.devices)
    if room < 1:
        raise Unsupported(
            f"{run.model.name} in {run.weights.name} leaves no cache on {run.devices} x "
            f"{run.accelerator}: the run as described does not fit."
        )
    return min(most, room)


def _memory(run: MeasuredRun) -> Prediction:
    """Peak memory in GB: weights and cache; eager engines copy the cache when it grows.

    The range allows for activations and the runtime's own memory.
    """
    tokens = max(1.0, run.prompt_tokens) + max(0.0, run.output_tokens)
    cache = run.batch * kv_bytes_per_sequence(
        run.model, run.kv, tokens, tensor_parallel_size=run.devices
    )
    copies = 2 if run.variant == "eager" else 1
    mid = device_weight_bytes(run.model, run.weights, run.devices) + copies * cache
    return Prediction(0.93 * mid / GB, mid / GB, (1.12 * mid + 1e9) / GB)
