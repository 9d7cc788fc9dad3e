"""Why a model cannot run as asked: one code and one sentence with the number behind it.

Each check looks at a `Case` and returns a `Refusal` or None; `refuse` runs them all, so that a
person sees every obstacle at once. Codes in `BLOCKING` mean that nothing would run, so `fits` is
false; SLO and price refusals leave the estimate standing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from labkit.catalog.specs import Instance, ModelSpec, NumberFormat
from labkit.sizing.device import Device
from labkit.sizing.engines import Engine, Loader
from labkit.sizing.inputs import EngineConfig, SizingError, Workload
from labkit.sizing.kv import kv_bytes_per_sequence
from labkit.sizing.memory import MemoryBudget, max_sequences
from labkit.sizing.parallel import divides_heads, valid_tensor_parallel_sizes
from labkit.sizing.roofline import compute_dtype
from labkit.sizing.units import gib, plural
from labkit.sizing.weights import resident_weight_bytes


class RefusalCode(StrEnum):
    """The codes a refusal may carry."""

    WEIGHTS = "WEIGHTS"
    KV_CACHE = "KV_CACHE"
    HEADS_NOT_DIVISIBLE = "HEADS_NOT_DIVISIBLE"
    DTYPE_UNSUPPORTED = "DTYPE_UNSUPPORTED"
    HOST_RAM = "HOST_RAM"
    SLO_TTFT = "SLO_TTFT"
    SLO_TPOT = "SLO_TPOT"
    NOT_OFFERED = "NOT_OFFERED"
    ENGINE_UNSUPPORTED = "ENGINE_UNSUPPORTED"
    UNKNOWN_PRICE = "UNKNOWN_PRICE"


BLOCKING = frozenset(
    {
        RefusalCode.WEIGHTS,
        RefusalCode.KV_CACHE,
        RefusalCode.HEADS_NOT_DIVISIBLE,
        RefusalCode.DTYPE_UNSUPPORTED,
        RefusalCode.HOST_RAM,
        RefusalCode.NOT_OFFERED,
        RefusalCode.ENGINE_UNSUPPORTED,
    }
)
# With these alone the device could still run a smaller batch, or the same one loaded differently.
STILL_TIMED = frozenset({RefusalCode.KV_CACHE, RefusalCode.HOST_RAM})


@dataclass(frozen=True, slots=True)
class Refusal:
    """One reason, with the number behind it in `detail` (one sentence)."""

    code: RefusalCode
    detail: str


@dataclass(frozen=True, slots=True)
class Case:
    """Everything a check may look at."""

    model: ModelSpec
    instance: Instance
    config: EngineConfig
    workload: Workload
    engine: Engine
    loader: Loader
    device: Device
    tensor_parallel_size: int
    budget: MemoryBudget


def refuse(case: Case) -> tuple[Refusal, ...]:
    """Every obstacle between this case and running, in the order of `CHECKS`."""
    found = (check(case) for check in CHECKS)
    return tuple(refusal for refusal in found if refusal is not None)


def _model_kind(case: Case) -> Refusal | None:
    if case.model.kind == "decoder":
        return None
    return Refusal(
        RefusalCode.ENGINE_UNSUPPORTED,
        f"{case.model.name} is no decoder ({case.model.kind}): it generates no tokens, and only "
        "token generation is estimated.",
    )


def _engine(case: Case) -> Refusal | None:
    engine, instance, accelerator = case.engine, case.instance, case.instance.accelerator
    if instance.kind not in engine.kinds:
        return Refusal(
            RefusalCode.ENGINE_UNSUPPORTED,
            f"{engine.name} runs on {' and '.join(engine.kinds)} instances; {instance.name} is "
            f"a {instance.kind} instance.",
        )
    if accelerator is None:
        return None
    if "inf1" in accelerator.aws_families:
        return Refusal(
            RefusalCode.ENGINE_UNSUPPORTED,
            f"No Neuron LLM library runs on {accelerator.name}; the second generation (inf2) or "
            "Trainium is the first that generates tokens.",
        )
    capability = accelerator.compute_capability
    if capability and float(capability) < engine.min_compute_capability:
        return Refusal(
            RefusalCode.ENGINE_UNSUPPORTED,
            f"{engine.name} needs compute capability {engine.min_compute_capability}; "
            f"{accelerator.name} has {capability}.",
        )
    return None


def _context(case: Case) -> Refusal | None:
    longest, wanted = case.model.max_context, case.workload.full_length
    if not longest or wanted <= longest or case.model.kind != "decoder":
        return None
    return Refusal(
        RefusalCode.ENGINE_UNSUPPORTED,
        f"Prompt + output are {wanted:,} tokens; {case.model.name} is made for at most "
        f"{longest:,}.",
    )


def _weight_format(case: Case) -> Refusal | None:
    fmt, accelerator = case.config.weight_format, case.instance.accelerator
    if accelerator is not None:
        usable = accelerator.weight_formats
        if usable and _base(fmt) not in usable:
            return Refusal(
                RefusalCode.DTYPE_UNSUPPORTED,
                f"{accelerator.name} does not run {fmt.name} weights; it takes "
                f"{', '.join(usable)}.",
            )
        if case.device.rates_known:
            try:
                compute_dtype(accelerator, fmt)
            except SizingError as error:
                return Refusal(RefusalCode.DTYPE_UNSUPPORTED, str(error))
    if _base(fmt) not in case.engine.weight_formats:
        return Refusal(
            RefusalCode.ENGINE_UNSUPPORTED,
            f"{case.engine.name} does not load {fmt.name} weights; it takes "
            f"{', '.join(case.engine.weight_formats)}.",
        )
    return None


def _kv_format(case: Case) -> Refusal | None:
    fmt, accelerator = case.config.kv_format, case.instance.accelerator
    if accelerator is not None and case.device.rates_known:
        no_bf16 = fmt.name == "bf16" and accelerator.peak_flops("bf16") <= 0
        capability = accelerator.compute_capability
        no_fp8 = fmt.name == "fp8" and bool(capability) and float(capability) < 8.0
        if no_bf16 or no_fp8:
            return Refusal(
                RefusalCode.DTYPE_UNSUPPORTED,
                f"{accelerator.name} cannot keep a {fmt.name} KV cache; fp16 works.",
            )
    if _base(fmt) not in case.engine.kv_formats:
        return Refusal(
            RefusalCode.ENGINE_UNSUPPORTED,
            f"{case.engine.name} does not keep a {fmt.name} KV cache; it takes "
            f"{', '.join(case.engine.kv_formats)}.",
        )
    return None


def _devices(case: Case) -> Refusal | None:
    n, device = case.tensor_parallel_size, case.device
    if n <= device.count:
        return None
    return Refusal(
        RefusalCode.NOT_OFFERED,
        f"Tensor parallelism over {n} needs {n} devices; {case.instance.name} has "
        f"{plural(device.count, device.noun)}.",
    )


def _heads(case: Case) -> Refusal | None:
    n = case.tensor_parallel_size
    if divides_heads(case.model, n):
        return None
    heads = "/".join(str(h) for h in dict.fromkeys(kind.heads for kind in case.model.attention))
    sizes = valid_tensor_parallel_sizes(case.model, max(case.device.count, n))
    return Refusal(
        RefusalCode.HEADS_NOT_DIVISIBLE,
        f"{case.model.name}'s {heads} attention heads do not divide by {n}; up to "
        f"{max(case.device.count, n)}, these do: {', '.join(map(str, sizes))}.",
    )


def _host_memory(case: Case) -> Refusal | None:
    if case.instance.kind == "cpu":
        return None  # there the weights live in host memory anyway: WEIGHTS speaks for it
    loader, host = case.loader, case.instance.host_memory_bytes
    model_bytes = resident_weight_bytes(case.model, case.config.weight_format)
    needed = loader.reserve_bytes + loader.model_share * model_bytes
    if needed <= host:
        return None
    return Refusal(
        RefusalCode.HOST_RAM,
        f"Loading needs {gib(needed)} of host memory ({loader.words}, and "
        f"{gib(loader.reserve_bytes)} for the system); {case.instance.name} has {gib(host)}. "
        "Another --loader needs less.",
    )


def _weights(case: Case) -> Refusal | None:
    budget = case.budget
    needed = budget.weights_bytes + budget.overhead.mid
    if needed < budget.limit_bytes:
        return None
    return Refusal(
        RefusalCode.WEIGHTS,
        f"{case.config.weights} weights take {gib(budget.weights_bytes)} of each "
        f"{case.device.noun} and the engine about {gib(budget.overhead.mid)}; of "
        f"{gib(budget.usable_bytes)} it may use {gib(budget.limit_bytes)}: "
        f"{gib(needed - budget.limit_bytes)} too little.",
    )


def _kv_cache(case: Case) -> Refusal | None:
    budget, config, workload = case.budget, case.config, case.workload
    pool = budget.kv_pool_bytes
    if pool <= 0:
        return None  # WEIGHTS says it
    length = workload.full_length
    room = max_sequences(
        case.model, config, pool, length, case.tensor_parallel_size, paged=case.engine.paged
    )
    if room >= config.batch:
        return None
    each = kv_bytes_per_sequence(
        case.model,
        config.kv_format,
        length,
        tensor_parallel_size=case.tensor_parallel_size,
        block_tokens=config.block_tokens if case.engine.paged else 1,
    )
    return Refusal(
        RefusalCode.KV_CACHE,
        f"{room} of {config.batch} sequences fit at full length ({length:,} tokens, "
        f"{gib(each)} each, pool {gib(pool)}): {gib(config.batch * each - pool)} too little.",
    )


def _base(fmt: NumberFormat) -> str:
    """int4-g64 is int4 to an accelerator or an engine."""
    return fmt.name.partition("-")[0]


CHECKS: tuple[Callable[[Case], Refusal | None], ...] = (
    _model_kind,
    _engine,
    _context,
    _weight_format,
    _kv_format,
    _devices,
    _heads,
    _host_memory,
    _weights,
    _kv_cache,
)
