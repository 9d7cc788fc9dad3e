"""The published comparisons of batching, as experiments in the simulator.

Both sides of a ratio run on the same calibrated step times, so a ratio shows what scheduling and
memory management do; only where the published baseline is another kind of engine (eager
transformers) it has that engine's step times. Where a paper gives no number for an input, the
assumption stands here.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from labkit.catalog import Catalog
from labkit.sizing.device import device_from
from labkit.sizing.efficiency import efficiency_of, hardware_class
from labkit.sizing.inputs import EngineConfig
from labkit.sizing.lengths import Fixed, Geometric, LogNormal, Uniform
from labkit.sizing.simulation import (
    Burst,
    ContinuousBatching,
    KVCache,
    Poisson,
    SimulationResult,
    StaticBatching,
    Traffic,
    simulate,
)
from labkit.sizing.simulation.run import Scheduler
from labkit.sizing.step_model import StepModel, step_model

COMPILED, EAGER = "compiled", "eager"
_CONTEXT = 2048  # OPT and GPT-3
_OPT_13B_TOKENS = 15_728  # 12 GiB of KV memory / (2 x 40 layers x 5,120 x 2 bytes)
_RESERVED_SLOTS = _OPT_13B_TOKENS // _CONTEXT  # 7: what reserving the longest sequence leaves


@dataclass(frozen=True)
class Case:
    """One published number: how ours is found, and what is known to differ.

    factor: how far ours may be from the published range; the test holds every case to it.
    """

    id: str
    ours: Callable[[], float]
    factor: float
    assumed: str
    gap: str = ""


@lru_cache
def steps(model: str, engine: str, card: str = "A100-40GB", gpus: int = 1) -> StepModel:
    catalog = Catalog.load()
    device = device_from(catalog.accelerator(card), gpus)
    config = EngineConfig(weights="fp16", kv="fp16", tensor_parallel_size=gpus)
    efficiency = efficiency_of(engine, hardware_class(device.accelerator), "16-bit", device.link)
    return step_model(catalog.model(model), device, config, gpus, efficiency)


def highest_rate(
    traffic: Callable[[float], Traffic],
    scheduler: Scheduler,
    times: StepModel,
    kv: KVCache | None,
    good: Callable[[SimulationResult], bool],
) -> float:
    """Requests per second up to which a run is still good: bisection of 0.02 to 50, to 1 %."""
    low, high = 0.02, 50.0
    while high / low > 1.01:
        rate = math.sqrt(low * high)
        if good(simulate(traffic(rate), scheduler, times, kv=kv)):
            low = rate
        else:
            high = rate
    return low


def normalised(run: SimulationResult) -> np.ndarray:
    """Seconds of the whole request per output token: the papers' "normalized latency"."""
    return run.e2e / run.output


# --- Orca: 175B, at a median of 190 ms per output token ------------------------------------------


def _orca_traffic(rate: float) -> Traffic:
    return Traffic(Uniform(32, 512), Uniform(1, 128), Poisson(rate), 1500)


@lru_cache
def orca_rate(scheduler: Scheduler) -> float:
    times = steps("opt-175b", COMPILED, gpus=8)
    return highest_rate(
        _orca_traffic, scheduler, times, None, lambda run: float(np.median(normalised(run))) <= 0.19
    )


def orca_over_ft(prefill: str = "shortest") -> float:
    # Orca lets new prompts join a running iteration whole.
    orca = ContinuousBatching(32, max_num_batched_tokens=32 * 512)
    return orca_rate(orca) / orca_rate(StaticBatching(16, prefill=prefill))


# --- vLLM: OPT-13B on one A100 40 GB -------------------------------------------------------------


def sharegpt(rate: float) -> Traffic:
    prompt = LogNormal.with_mean(161, sigma=1.1, cap=1024)
    output = LogNormal.with_mean(338, sigma=1.0, cap=_CONTEXT - 1)
    return Traffic(prompt, output, Poisson(rate), 1500, max_model_len=_CONTEXT)


def alpaca(rate: float) -> Traffic:
    prompt = LogNormal.with_mean(19.3, sigma=0.6, cap=512)
    output = LogNormal.with_mean(58.5, sigma=0.9, cap=1024)
    return Traffic(prompt, output, Poisson(rate), 6000, max_model_len=_CONTEXT)


WHOLE_PROMPTS = ContinuousBatching(256, chunked_prefill=False)
CACHES = {
    "max": KVCache.of_tokens(
        _OPT_13B_TOKENS, block_tokens=1, reservation="max", max_model_len=_CONTEXT
    ),
    "pow2": KVCache.of_tokens(
        _OPT_13B_TOKENS, block_tokens=1, reservation="power_of_two", max_model_len=_CONTEXT
    ),
    "oracle": KVCache.of_tokens(_OPT_13B_TOKENS, block_tokens=1, reservation="exact"),
    "vllm": KVCache.of_tokens(_OPT_13B_TOKENS, watermark=0.01),
}


@lru_cache
def sharegpt_rate(cache: str, scheduler: Scheduler = WHOLE_PROMPTS) -> float:
    return highest_rate(
        sharegpt,
        scheduler,
        steps("opt-13b", COMPILED),
        CACHES[cache],
        lambda run: float(np.mean(normalised(run))) <= 0.2,
    )


def vllm_over(cache: str) -> Callable[[], float]:
    return lambda: sharegpt_rate("vllm") / sharegpt_rate(cache)


def vllm_over_ft() -> float:
    static = StaticBatching(_RESERVED_SLOTS, prefill="shortest")
    return sharegpt_rate("vllm") / sharegpt_rate("vllm", static)


def running(traffic: Traffic, cache: str) -> Callable[[], float]:
    def mean() -> float:
        times = steps("opt-13b", COMPILED)
        return simulate(traffic, WHOLE_PROMPTS, times, kv=CACHES[cache]).mean_running

    return mean


# --- Anyscale: 1,000 requests at once ------------------------------------------------------------


@lru_cache
def anyscale(system: str) -> float:
    """Output tokens per second."""
    traffic = Traffic(Fixed(512), Geometric(128, 1536), Burst(), 1000, max_model_len=_CONTEXT)
    static = StaticBatching(_RESERVED_SLOTS)
    systems: dict[str, tuple[str, Scheduler, str]] = {
        "naive": (EAGER, static, "vllm"),
        "ft": (COMPILED, static, "vllm"),
        "tgi": (COMPILED, WHOLE_PROMPTS, "max"),
        "vllm": (COMPILED, WHOLE_PROMPTS, "vllm"),
    }
    engine, scheduler, cache = systems[system]
    run = simulate(traffic, scheduler, steps("opt-13b", engine), kv=CACHES[cache])
    return run.output_tokens_per_second


def over_naive(system: str) -> Callable[[], float]:
    return lambda: anyscale(system) / anyscale("naive")


# --- Sarathi-Serve: Mistral-7B on one A100 80 GB, P99 gap <= 100 ms, median wait <= 2 s -----------


def _sarathi_traffic(rate: float) -> Traffic:
    prompt = LogNormal(math.log(1730), 0.93, 7000)  # median 1,730, p90 5,696
    output = LogNormal(math.log(415), 0.545, 1200)  # median 415, p90 834
    return Traffic(prompt, output, Poisson(rate), 600)


def sarathi_over_vllm() -> float:
    def rate(scheduler: Scheduler) -> float:
        return highest_rate(
            _sarathi_traffic,
            scheduler,
            steps("mistral-7b-v0.1", COMPILED, "A100-80GB"),
            KVCache.of_tokens(400_000),
            lambda run: run.percentile("itl", 99) <= 0.1 and float(np.median(run.wait)) <= 2.0,
        )

    return rate(ContinuousBatching(128, 512)) / rate(ContinuousBatching(128, chunked_prefill=False))


# -------------------------------------------------------------------------------------------------

_ORCA = (
    "OPT-175B's shape; step times of 8 A100 in tensor parallel for both sides (the paper adds a "
    "pipeline of 2); Orca up to 32 sequences, FasterTransformer batches of 16 whose unequal "
    "prompts are read a token a step beyond the shortest, as its release 4.0 does"
)
_VLLM = (
    "12 GiB of KV memory; log-normal lengths with the data set's means (161 + 338 tokens; their "
    "spread is assumed); rate at a mean of 200 ms per output token"
)
_RUNNING = "12 GiB of KV memory; log-normal lengths with the data set's means, spread assumed"
_ANYSCALE = (
    "static batches of 7, as above; naive = eager transformers' step "
    "times; TGI reserves 2,048 tokens a sequence"
)
_NAIVE = (
    "The published baseline gains less from a batch than our eager engine does. Over "
    "FasterTransformer the post's figures are 2x (continuous) and 5.8x (vLLM), ours 2.4x and 4.9x."
)

CASES = (
    Case(
        "orca-vs-ft",
        orca_over_ft,
        2.0,
        _ORCA,
        "Padded prompts in one step on the static side would leave about 3x: most of the "
        "published ratio is how FasterTransformer reads prompts of unequal length.",
    ),
    Case(
        "vllm-vs-oracle",
        vllm_over("oracle"),
        2.0,
        _VLLM,
        "Our Oracle packs the cache tighter: 16 sequences run in it at 2 req/s, in the paper 13.6.",
    ),
    Case("vllm-vs-max", vllm_over("max"), 2.0, _VLLM),
    Case(
        "vllm-vs-ft",
        vllm_over_ft,
        2.0,
        _VLLM + "; FasterTransformer in batches of 7: what 12 GiB holds of 2,048 tokens",
        'The paper says "up to".',
    ),
    Case("running-sharegpt-max", running(sharegpt(2.0), "max"), 1.1, _RUNNING),
    Case("running-sharegpt-pow2", running(sharegpt(2.0), "pow2"), 2.0, _RUNNING),
    Case("running-sharegpt-oracle", running(sharegpt(2.0), "oracle"), 2.0, _RUNNING),
    Case("running-sharegpt-vllm", running(sharegpt(2.0), "vllm"), 2.0, _RUNNING),
    Case("running-alpaca-max", running(alpaca(30.0), "max"), 1.1, _RUNNING),
    Case("running-alpaca-pow2", running(alpaca(30.0), "pow2"), 2.0, _RUNNING),
    Case("running-alpaca-oracle", running(alpaca(30.0), "oracle"), 2.0, _RUNNING),
    Case("running-alpaca-vllm", running(alpaca(30.0), "vllm"), 2.0, _RUNNING),
    Case("anyscale-ft", over_naive("ft"), 4.0, _ANYSCALE, _NAIVE),
    Case("anyscale-tgi", over_naive("tgi"), 4.0, _ANYSCALE, _NAIVE),
    Case("anyscale-vllm", over_naive("vllm"), 4.0, _ANYSCALE, _NAIVE),
    Case(
        "sarathi-vs-vllm",
        sarathi_over_vllm,
        2.0,
        "chunks of 512 tokens; P99 gap at most 100 ms, median wait at most 2 s; log-normal lengths "
        "(prompt median 1,730, output median 415)",
    ),
)

NOT_SIMULATED = {
    "orca-ft-peak": "the catalogue has no 101B model; see orca-vs-ft for the same engine",
    "anyscale-naive": "a rate, not a ratio; whether prompt tokens are counted is not stated",
    "anyscale-online": "a rate that the post itself calls anecdotal",
}
