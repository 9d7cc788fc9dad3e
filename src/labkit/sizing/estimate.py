"""`estimate`: one model, one instance, one engine set-up, one workload, all the answers.

What the numbers mean:

- `fits`: all `batch` sequences are resident at prompt + output tokens (full length).
- times are of the sequences that do fit (`running_sequences`); the rest wait in a queue, which is
  not in them.
- `tpot_ms`: one decode step at the mean context, prompt + output / 2.
- `ttft_ms`: the prefill of one prompt that is admitted at once.
- `output_tokens_per_s`: sustained; each request's prefill is paid for, so it is below batch / TPOT.
- cost: the whole instance's hourly price over the output of this one replica.
"""

from __future__ import annotations

from dataclasses import dataclass

from labkit.catalog.specs import Instance, ModelSpec, NumberFormat, Price
from labkit.sizing.bands import Band
from labkit.sizing.cost import usd_per_million_band
from labkit.sizing.device import Device, device_of
from labkit.sizing.efficiency import Efficiency, Tuning, efficiency_of, format_class, hardware_class
from labkit.sizing.engines import DEFAULT_ENGINE, Engine, Loader, engine_named, loader_named
from labkit.sizing.identity import remembered
from labkit.sizing.inputs import EngineConfig, Workload
from labkit.sizing.memory import MemoryBudget, max_sequences, memory_budget
from labkit.sizing.parallel import link_kind, valid_tensor_parallel_sizes
from labkit.sizing.refusal import (
    BLOCKING,
    STILL_TIMED,
    Refusal,
    RefusalCode,
    refuse,
)
from labkit.sizing.step import StepTime, step_time
from labkit.sizing.variants import variant_of
from labkit.sizing.work import decode_work, prefill_work

# Nothing runs at all, not even a smaller batch or with another loader.
_STOPS = BLOCKING - STILL_TIMED


@dataclass(frozen=True, slots=True)
class Estimate:
    """The answer (see the module for what each number means). None: not estimated.

    Times in ms, rates per second, money in USD; `memory` is per device.
    """

    model: ModelSpec
    instance: Instance
    config: EngineConfig
    workload: Workload
    engine: Engine
    loader: Loader
    device: Device
    tensor_parallel_size: int
    fits: bool
    max_sequences: int
    max_sequences_mid_generation: int
    running_sequences: int
    refusals: tuple[Refusal, ...]
    memory: MemoryBudget
    efficiency: Efficiency | None
    decode: StepTime | None
    prefill: StepTime | None
    ttft_ms: Band | None
    tpot_ms: Band | None
    output_tokens_per_s: Band | None
    requests_per_s: Band | None
    bound: str | None
    price: Price | None
    usd_per_million_output_tokens: Band | None

    @property
    def usd_per_hour(self) -> float | None:
        """The instance's hourly price in USD, None where no source gives one."""
        return self.price.usd_per_hour if self.price else None


def estimate(
    model: ModelSpec,
    instance: Instance,
    config: EngineConfig,
    workload: Workload,
    *,
    price_kind: str = "on-demand",
    region: str = "us-east-1",
    tuning: Tuning | None = None,
) -> Estimate:
    """Memory, latency, throughput and cost of `model` on `instance`, with refusals and bands.

    `tuning` is a calibration of one's own (`calibrate`); None is the one that ships.

    Raises `UnknownNameError` for an engine or loader that does not exist. What exists and cannot
    run together is a refusal in the answer, not an error.
    """
    engine, loader, device, n, budget = _prepared(model, instance, config)

    def room(tokens: float) -> int:
        return max_sequences(model, config, budget.kv_pool_bytes, tokens, n, paged=engine.paged)

    full, middle = room(workload.full_length), room(workload.mean_context)
    refusals = refuse(model, instance, config, workload, engine, loader, n, budget, full)
    stopped = any(refusal.code in _STOPS for refusal in refusals)
    running = 0 if stopped else min(config.batch, full)
    efficiency = decode = prefill = None
    if running and device.bandwidth > 0:
        fmt = config.weight_format
        efficiency = efficiency_for(engine, config, device, tuning)
        work = decode_work(model, config, batch=running, context=workload.mean_context, devices=n)
        decode = step_time(work, device, fmt, efficiency)
        cached = cached_prompt_tokens(workload)
        work = prefill_work(
            model, config, tokens=workload.prompt_tokens - cached, cached=cached, devices=n
        )
        prefill = step_time(work, device, fmt, efficiency)
    # Without FLOP/s a prefill cannot be timed; a decode step is bound by bytes and can.
    ttft = prefill.total if prefill and prefill.compute else None
    tpot = decode.total if decode else None
    tokens_per_s = _throughput(tpot, ttft, running, workload.output_tokens)

    price = instance.price(price_kind, region)
    refusals += price_refusals(instance, price, price_kind, region)
    refusals += _slo_refusals(workload, ttft, tpot)
    return Estimate(
        model=model,
        instance=instance,
        config=config,
        workload=workload,
        engine=engine,
        loader=loader,
        device=device,
        tensor_parallel_size=n,
        fits=not any(refusal.code in BLOCKING for refusal in refusals),
        max_sequences=full,
        max_sequences_mid_generation=middle,
        running_sequences=running,
        refusals=refusals,
        memory=budget,
        efficiency=efficiency,
        decode=decode,
        prefill=prefill,
        ttft_ms=ttft.times(1e3) if ttft else None,
        tpot_ms=tpot.times(1e3) if tpot else None,
        output_tokens_per_s=tokens_per_s,
        requests_per_s=tokens_per_s.times(1 / workload.output_tokens) if tokens_per_s else None,
        bound=decode.bound if decode else None,
        price=price,
        usd_per_million_output_tokens=(
            usd_per_million_band(price.usd_per_hour, tokens_per_s)
            if price and tokens_per_s
            else None
        ),
    )


@remembered(objects=3, most=2048)
def _prepared(
    model: ModelSpec, instance: Instance, config: EngineConfig
) -> tuple[Engine, Loader, Device, int, MemoryBudget]:
    """What does not depend on the workload."""
    engine = engine_named(config.engine or DEFAULT_ENGINE[instance.kind])
    loader = loader_named(config.loader or engine.loader)
    device = device_of(instance)
    n = config.tensor_parallel_size or default_tensor_parallel_size(model, device)
    return engine, loader, device, n, memory_budget(model, device, engine, config, n)


@remembered(objects=2)
def default_tensor_parallel_size(model: ModelSpec, device: Device) -> int:
    """One GPU; on Neuron the most cores of one chip that the heads allow."""
    sizes = valid_tensor_parallel_sizes(model, device.cores_per_chip)
    return sizes[-1] if sizes else 1


def efficiency_for(
    engine: Engine, config: EngineConfig, device: Device, tuning: Tuning | None = None
) -> Efficiency:
    """The efficiency of an engine with its weight format on a device: shipped, or `tuning`'s."""
    if tuning is None:
        return _efficiency(engine, device, config.weight_format, config.engine_version)
    return tuning.efficiency(
        *_efficiency_key(engine, device, config.weight_format, config.engine_version)
    )


@remembered(objects=3)
def _efficiency(
    engine: Engine, device: Device, fmt: NumberFormat, version: str | None
) -> Efficiency:
    return efficiency_of(*_efficiency_key(engine, device, fmt, version))


def _efficiency_key(
    engine: Engine, device: Device, fmt: NumberFormat, version: str | None
) -> tuple[str, str, str, str]:
    return (
        variant_of(engine, version),
        hardware_class(device.accelerator),
        format_class(fmt),
        link_kind(device.link),
    )


def cached_prompt_tokens(workload: Workload) -> int:
    """Prompt tokens that the prefix cache holds; the last token is always computed."""
    hit = int(workload.prompt_tokens * workload.prefix_hit_rate)
    return min(hit, workload.prompt_tokens - 1)


def _throughput(
    step: Band | None, prefill: Band | None, running: int, output_tokens: int
) -> Band | None:
    """Sustained output tokens/s of `running` sequences that are replaced as they finish.

    In the time one sequence takes for its output - 1 decode steps, each of the `running` ones is
    prefilled once, and the prefill yields the first token:
    running x output / (running x prefill + (output - 1) x step). Without a prefill time (CPU) it
    is decode alone.
    """
    if step is None:
        return None
    if prefill is None:
        return step.under(running)

    def seconds(prefill_s: float, step_s: float) -> float:
        return running * prefill_s + (output_tokens - 1) * step_s

    cycle = Band(
        seconds(prefill.low, step.low),
        seconds(prefill.mid, step.mid),
        seconds(prefill.high, step.high),
        Band.worst_kind(prefill, step),
    )
    return cycle.under(running * output_tokens)


def price_refusals(
    instance: Instance, price: Price | None, kind: str, region: str
) -> tuple[Refusal, ...]:
    """Why an instance has no price of that kind there; nothing where `price` is one."""
    if kind == "sagemaker" and not instance.sagemaker_hosting:
        detail = f"SageMaker hosting does not offer ml.{instance.name}."
        return (Refusal(RefusalCode.NOT_OFFERED, detail),)
    if price is None:
        detail = f"No {kind} price of {instance.name} in {region} is in the catalogue."
        return (Refusal(RefusalCode.UNKNOWN_PRICE, detail),)
    return ()


def _slo_refusals(workload: Workload, ttft: Band | None, tpot: Band | None) -> tuple[Refusal, ...]:
    slo, found = workload.slo, list[Refusal]()
    if slo is None:
        return ()
    for code, name, limit, band in (
        (RefusalCode.SLO_TTFT, "TTFT", slo.ttft_ms, ttft),
        (RefusalCode.SLO_TPOT, "TPOT", slo.tpot_ms, tpot),
    ):
        if limit is not None and band is not None and band.mid * 1e3 > limit:
            found.append(
                Refusal(
                    code,
                    f"{name} is about {band.mid * 1e3:,.1f} ms "
                    f"({band.low * 1e3:,.1f} to {band.high * 1e3:,.1f}); asked: {limit:,.1f} ms.",
                )
            )
    return tuple(found)
