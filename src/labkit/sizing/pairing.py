"""What cannot run together whatever the load: model, machine, engine, formats, devices, loader.

Each check looks at a `Pairing` and returns a `Refusal` or None. The answers are remembered: they
are asked for at every estimate and change with none of its numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from labkit.catalog.specs import Instance, ModelSpec, NumberFormat
from labkit.sizing.device import Device, device_of
from labkit.sizing.engines import Engine, Loader
from labkit.sizing.identity import remembered
from labkit.sizing.inputs import SizingError
from labkit.sizing.parallel import divides_heads, valid_tensor_parallel_sizes
from labkit.sizing.refusal_codes import Refusal, RefusalCode
from labkit.sizing.roofline import compute_dtype
from labkit.sizing.units import gib, plural
from labkit.sizing.weights import resident_weight_bytes


@dataclass(frozen=True, slots=True)
class Pairing:
    """What a check of this module may look at: everything but batch, lengths and promises."""

    model: ModelSpec
    instance: Instance
    engine: Engine
    loader: Loader
    weight_format: NumberFormat
    kv_format: NumberFormat
    tensor_parallel_size: int

    @property
    def device(self) -> Device:
        """The device of the instance."""
        return device_of(self.instance)


@remembered(objects=6, most=16_384)
def unfit(
    model: ModelSpec,
    instance: Instance,
    engine: Engine,
    loader: Loader,
    weight_format: NumberFormat,
    kv_format: NumberFormat,
    tensor_parallel_size: int,
) -> tuple[tuple[Refusal, ...], tuple[Refusal, ...]]:
    """The refusals of `KIND_CHECKS` and of `PAIR_CHECKS`, each in order."""
    pairing = Pairing(
        model, instance, engine, loader, weight_format, kv_format, tensor_parallel_size
    )
    first, second = (
        tuple(refusal for check in checks if (refusal := check(pairing)) is not None)
        for checks in (KIND_CHECKS, PAIR_CHECKS)
    )
    return first, second


def _model_kind(pairing: Pairing) -> Refusal | None:
    if pairing.model.kind == "decoder":
        return None
    return Refusal(
        RefusalCode.ENGINE_UNSUPPORTED,
        f"{pairing.model.name} is no decoder ({pairing.model.kind}): it generates no tokens, and "
        "only token generation is estimated.",
    )


def _engine(pairing: Pairing) -> Refusal | None:
    engine, instance, accelerator = pairing.engine, pairing.instance, pairing.instance.accelerator
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


def _weight_format(pairing: Pairing) -> Refusal | None:
    fmt, accelerator = pairing.weight_format, pairing.instance.accelerator
    if accelerator is not None:
        usable = accelerator.weight_formats
        if usable and _base(fmt) not in usable:
            return Refusal(
                RefusalCode.DTYPE_UNSUPPORTED,
                f"{accelerator.name} does not run {fmt.name} weights; it takes "
                f"{', '.join(usable)}.",
            )
        if pairing.device.rates_known:
            try:
                compute_dtype(accelerator, fmt)
            except SizingError as error:
                return Refusal(RefusalCode.DTYPE_UNSUPPORTED, str(error))
    if _base(fmt) not in pairing.engine.weight_formats:
        return Refusal(
            RefusalCode.ENGINE_UNSUPPORTED,
            f"{pairing.engine.name} does not load {fmt.name} weights; it takes "
            f"{', '.join(pairing.engine.weight_formats)}.",
        )
    return None


def _kv_format(pairing: Pairing) -> Refusal | None:
    fmt, accelerator = pairing.kv_format, pairing.instance.accelerator
    if accelerator is not None and pairing.device.rates_known:
        no_bf16 = fmt.name == "bf16" and accelerator.peak_flops("bf16") <= 0
        capability = accelerator.compute_capability
        no_fp8 = fmt.name == "fp8" and bool(capability) and float(capability) < 8.0
        if no_bf16 or no_fp8:
            return Refusal(
                RefusalCode.DTYPE_UNSUPPORTED,
                f"{accelerator.name} cannot keep a {fmt.name} KV cache; fp16 works.",
            )
    if _base(fmt) not in pairing.engine.kv_formats:
        return Refusal(
            RefusalCode.ENGINE_UNSUPPORTED,
            f"{pairing.engine.name} does not keep a {fmt.name} KV cache; it takes "
            f"{', '.join(pairing.engine.kv_formats)}.",
        )
    return None


def _devices(pairing: Pairing) -> Refusal | None:
    n, device = pairing.tensor_parallel_size, pairing.device
    if n <= device.count:
        return None
    return Refusal(
        RefusalCode.NOT_OFFERED,
        f"Tensor parallelism over {n} needs {n} devices; {pairing.instance.name} has "
        f"{plural(device.count, device.noun)}.",
    )


def _heads(pairing: Pairing) -> Refusal | None:
    n = pairing.tensor_parallel_size
    if divides_heads(pairing.model, n):
        return None
    heads = "/".join(str(h) for h in dict.fromkeys(kind.heads for kind in pairing.model.attention))
    sizes = valid_tensor_parallel_sizes(pairing.model, max(pairing.device.count, n))
    return Refusal(
        RefusalCode.HEADS_NOT_DIVISIBLE,
        f"{pairing.model.name}'s {heads} attention heads do not divide by {n}; up to "
        f"{max(pairing.device.count, n)}, these do: {', '.join(map(str, sizes))}.",
    )


def _host_memory(pairing: Pairing) -> Refusal | None:
    if pairing.instance.kind == "cpu":
        return None  # there the weights live in host memory anyway: WEIGHTS speaks for it
    loader, host = pairing.loader, pairing.instance.host_memory_bytes
    model_bytes = resident_weight_bytes(pairing.model, pairing.weight_format)
    needed = loader.reserve_bytes + loader.model_share * model_bytes
    if needed <= host:
        return None
    return Refusal(
        RefusalCode.HOST_RAM,
        f"Loading needs {gib(needed)} of host memory ({loader.words}, and "
        f"{gib(loader.reserve_bytes)} for the system); {pairing.instance.name} has {gib(host)}. "
        "Another --loader needs less.",
    )


def _base(fmt: NumberFormat) -> str:
    """int4-g64 is int4 to an accelerator or an engine."""
    return fmt.name.partition("-")[0]


KIND_CHECKS: tuple[Callable[[Pairing], Refusal | None], ...] = (_model_kind, _engine)
PAIR_CHECKS: tuple[Callable[[Pairing], Refusal | None], ...] = (
    _weight_format,
    _kv_format,
    _devices,
    _heads,
    _host_memory,
)
