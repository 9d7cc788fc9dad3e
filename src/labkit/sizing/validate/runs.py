"""One row of published measurements -> a `MeasuredRun`: our records, and what was assumed.

A row is read or `Unsupported` with a reason; nothing in a row raises anything else. What has a
defensible reading is read and the assumption recorded: a range is its middle, an empty
`tensor_parallel` on one GPU is 1, an empty prompt of a decode metric is short.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from labkit.catalog.specs import ModelSpec, NumberFormat
from labkit.contract.errors import nearest
from labkit.sizing.device import Device
from labkit.sizing.engines import ENGINES, Engine
from labkit.sizing.validate import names
from labkit.sizing.validate.cells import Reading, absent, measured, quantity, text_of, tokens, whole
from labkit.sizing.validate.load import Load, load_of
from labkit.sizing.validate.remarks import Remarks, remarks_of
from labkit.sizing.validate.result import Unsupported

# Metric as written -> the one that is predicted.
METRICS: Mapping[str, str] = MappingProxyType(
    {
        "tpot_ms": "tpot_ms",
        "tpot_ms_p50": "tpot_ms",
        "tpot_ms_mean": "tpot_ms",
        "itl_ms": "tpot_ms",
        "itl_ms_p50": "tpot_ms",
        "itl_ms_mean": "tpot_ms",
        "ttft_ms": "ttft_ms_p50",
        "ttft_ms_p50": "ttft_ms_p50",
        "ttft_ms_mean": "ttft_ms_p50",
        "decode_tok_s_total": "decode_tok_s_total",
        "decode_tok_s_per_user": "decode_tok_s_per_user",
        "prefill_tok_s": "prefill_tok_s",
        "req_s": "req_s",
        "latency_s": "latency_s",
        "vram_gb": "vram_gb",
    }
)
_PREFILL = frozenset({"ttft_ms_p50", "prefill_tok_s"})
_SHORT_PROMPT, _SHORT_ANSWER = 32.0, 128.0
_MOST_TOKENS, _MOST_DEVICES = 10_000_000, 4096


@dataclass(frozen=True, slots=True)
class MeasuredRun:
    """One published number and the run it was measured in.

    `device` is one rank (a GPU, a NeuronCore, a CPU); `devices` is the tensor-parallel size,
    `pipeline_devices` the number of devices that hold layers in turn (1: no layer split),
    `replicas` the engines that share the row's hardware. `cpu_flops`: dense FLOP/s by format of
    the CPU cores that worked, None on accelerators.

    `batch` sequences are there at once; `closed_loop`: each is followed by the next request, else
    all start together. `saturated`: more are waiting than can run. Tokens are per request, means.

    `prefill_inside`: a TPOT or rate per user over the whole request; `decode_only`: a total rate
    without prefill; `per_device`: a total divided by the number of devices.
    """

    id: str
    source: str
    metric: str
    measured: float | None
    model: ModelSpec
    device: Device
    accelerator: str
    count: int
    devices: int
    pipeline_devices: int
    replicas: int
    engine: Engine
    engine_name: str
    engine_version: str | None
    variant: str
    quirks: tuple[str, ...]
    kernels: str
    weights: NumberFormat
    kv: NumberFormat
    batch: int
    closed_loop: bool
    saturated: bool
    prompt_tokens: float
    output_tokens: float
    prefill_inside: bool
    decode_only: bool
    per_device: bool
    suspect: bool
    cpu_flops: Mapping[str, float] | None = None
    offered_rate: float | None = None
    assumptions: tuple[str, ...] = ()
    notes: str = ""


def read_run(row: Mapping[str, str]) -> MeasuredRun:
    """The run that a row of the measurements' schema describes; `Unsupported` says why not."""
    assumed: list[str] = []

    metric = _metric(text_of(row, "metric"))
    value = measured(text_of(row, "value"))
    notes = text_of(row, "notes")
    remarks = remarks_of(notes)
    if remarks.beams > 1:
        raise Unsupported(f"beam search of width {remarks.beams} is not modelled.")
    model = names.model_of(text_of(row, "model"))
    gpu = text_of(row, "gpu")
    engine = names.engine_of(
        text_of(row, "engine"), text_of(row, "engine_version"), cpu=names.is_cpu(gpu)
    )
    weights = names.weights_of(text_of(row, "weights_dtype"), gguf=engine.engine == "llama.cpp")
    cache = names.cache_of(text_of(row, "kv_dtype"), weights.format, engine.engine)
    stated = quantity("gpu_count", text_of(row, "gpu_count"))
    count = _bounded("gpu_count", stated, _MOST_DEVICES) if stated else 1
    if stated is None:
        assumed.append("gpu_count is not stated: 1 is assumed")
    hardware = names.hardware_of(gpu, count, text_of(row, "instance_type"), remarks.cores)
    if hardware.accelerator and not set(ENGINES[engine.engine].kinds) & _kinds(hardware):
        raise Unsupported(f"engine {engine.written!r} does not run on {hardware.name}.")
    split = _split(row, hardware, engine, remarks, assumed)
    prompt = _prompt(row, metric, assumed)
    output = _output(row, metric, assumed)
    load = load_of(text_of(row, "batch_or_concurrency"), metric, engine, remarks)
    for text in (weights.assumption, cache.assumption, *hardware.assumptions, *load.assumptions):
        if text:
            assumed.append(text)
    return MeasuredRun(
        id=text_of(row, "id") or "?",
        source=text_of(row, "source_id"),
        metric=metric,
        measured=value,
        model=model,
        device=hardware.device,
        accelerator=hardware.name,
        count=hardware.count,
        devices=split.devices,
        pipeline_devices=split.pipeline,
        replicas=split.replicas,
        engine=ENGINES[engine.engine],
        engine_name=engine.written,
        engine_version=engine.version,
        variant=engine.variant,
        quirks=(*engine.quirks, *(("bnb",) if _bitsandbytes(engine, weights) else ())),
        kernels=engine.kernels or weights.kernels,
        weights=weights.format,
        kv=cache.format,
        batch=_per_replica(load, split.replicas, assumed),
        closed_loop=load.closed_loop,
        saturated=load.saturated,
        prompt_tokens=prompt,
        output_tokens=output,
        prefill_inside=remarks.prefill_inside is True,
        decode_only=remarks.prefill_inside is False,
        per_device=remarks.per_device,
        suspect=remarks.suspect,
        cpu_flops=hardware.cpu_flops,
        offered_rate=load.offered_rate,
        assumptions=tuple(dict.fromkeys(assumed)),
        notes=notes,
    )


def _bitsandbytes(engine: names.NamedEngine, weights: names.NamedFormat) -> bool:
    """Whether bitsandbytes multiplies: it is named, or eager transformers name no other kernels."""
    unnamed = engine.variant == "eager" and not (engine.kernels or weights.kernels)
    return weights.kernels == "bnb" or (unnamed and weights.format.bits < 16)


@dataclass(frozen=True, slots=True)
class _Split:
    devices: int
    pipeline: int
    replicas: int


def _metric(written: str) -> str:
    if absent(written):
        raise Unsupported("metric is not stated.")
    metric = METRICS.get(written.casefold())
    if metric is None:
        near = nearest(written, METRICS) or ["tpot_ms", "ttft_ms_p50", "decode_tok_s_total"]
        raise Unsupported(f"metric {written[:40]!r} is not predicted; try {', '.join(near)}.")
    return metric


def _kinds(hardware: names.NamedHardware) -> set[str]:
    vendor = hardware.accelerator.vendor if hardware.accelerator else ""
    return {"neuron"} if vendor == "AWS" else {"gpu"}


def _split(
    row: Mapping[str, str],
    hardware: names.NamedHardware,
    engine: names.NamedEngine,
    remarks: Remarks,
    assumed: list[str],
) -> _Split:
    """How the row's hardware is shared out: tensor parallel, layer split, replicas."""
    if hardware.cpu is not None:
        return _Split(1, 1, 1)
    ranks = hardware.device.cores_per_chip * hardware.count
    stated = quantity("tensor_parallel", text_of(row, "tensor_parallel"))
    if stated is None:
        if ranks > 1:
            raise Unsupported(
                f"tensor_parallel is not stated for {ranks} devices: 1 to {ranks} are possible."
            )
        assumed.append("tensor_parallel is not stated: 1 is assumed on one device")
        return _Split(1, 1, 1)
    n = _bounded("tensor_parallel", stated, _MOST_DEVICES)
    if stated.assumption:
        assumed.append(stated.assumption)
    if n > ranks:
        raise Unsupported(f"tensor_parallel is {n}: the row has only {ranks} devices.")
    if n == ranks:
        return _Split(n, 1, 1)
    if n == 1 and (engine.layer_split or remarks.layer_split):
        assumed.append(f"{ranks} devices hold layers in turn")
        return _Split(1, ranks, 1)
    if ranks % n:
        raise Unsupported(f"{ranks} devices are no multiple of tensor_parallel {n}.")
    assumed.append(f"{ranks} devices at tensor_parallel {n} are {ranks // n} replicas")
    return _Split(n, 1, ranks // n)


def _per_replica(load: Load, replicas: int, assumed: list[str]) -> int:
    if replicas == 1 or load.batch % replicas == 0:
        return load.batch // replicas
    assumed.append(f"{load.batch} sequences over {replicas} replicas are rounded up")
    return -(-load.batch // replicas)


def _prompt(row: Mapping[str, str], metric: str, assumed: list[str]) -> float:
    reading = tokens("prompt_tokens", text_of(row, "prompt_tokens"), answers=False)
    if reading is None:
        if metric in _PREFILL or metric in {"latency_s", "req_s"}:
            raise Unsupported(f"prompt_tokens is not stated: {metric} depends on it.")
        assumed.append(f"prompt_tokens is not stated: {_SHORT_PROMPT:g} are assumed")
        return _SHORT_PROMPT
    if metric in _PREFILL and reading.value < 1:
        raise Unsupported(f"prompt_tokens is {reading.value:g}: {metric} needs a prompt.")
    return _few(reading, "prompt_tokens", assumed)


def _output(row: Mapping[str, str], metric: str, assumed: list[str]) -> float:
    reading = tokens("output_tokens", text_of(row, "output_tokens"), answers=True)
    if reading is None:
        if metric in {"latency_s", "req_s"}:
            raise Unsupported(f"output_tokens is not stated: {metric} depends on it.")
        if metric not in _PREFILL:
            assumed.append(f"output_tokens is not stated: {_SHORT_ANSWER:g} are assumed")
        return _SHORT_ANSWER
    return _few(reading, "output_tokens", assumed)


def _few(reading: Reading, what: str, assumed: list[str]) -> float:
    if reading.value > _MOST_TOKENS:
        raise Unsupported(f"{what} is {reading.value:g}: at most {_MOST_TOKENS:,} are read.")
    if reading.assumption:
        assumed.append(reading.assumption)
    return reading.value


def _bounded(what: str, reading: Reading, most: int) -> int:
    value = whole(what, reading)
    if value > most:
        raise Unsupported(f"{what} is {value}: at most {most:,} are read.")
    return value
