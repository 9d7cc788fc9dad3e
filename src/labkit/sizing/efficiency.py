"""What an engine makes of a device: shares of its roofs, host time, links, and how far off it is.

A step takes
    weights / (bandwidth x MBU) + cache / (bandwidth x MBU_kv) + FLOPs / (peak x MFU)
    + all-reduces + host time.
All shares are at most 0.95, so no step is faster than the roofline. Where an engine launches
kernels one by one, host time runs beside the device: only what exceeds the device's time shows.

The values come from `fitted` (a calibration) where there is one, else from `priors`; each result
says which. `spread` is the range of measured / predicted, from the fit's own residuals.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType

from labkit.catalog.specs import Accelerator, NumberFormat
from labkit.sizing.fitted import FITTED, SPREADS
from labkit.sizing.priors import MOST_SHARE, PRIORS

DECODE_ONE, DECODE_MANY, PREFILL, SHARDED = "decode", "batched decode", "prefill", "sharded"


@dataclass(frozen=True, slots=True)
class Spread:
    """Range of time / predicted time: low <= 1 <= high. `rows`: residuals it was taken from."""

    low: float
    high: float
    kind: str
    rows: int = 0


@dataclass(frozen=True, slots=True)
class Link:
    """One all-reduce among n devices: latency, and the share of one-way bandwidth it moves at."""

    name: str
    alpha: float
    alpha_per_device: float
    share_of_two: float
    share_of_more: float
    shared_bridge: bool

    def latency(self, n: int) -> float:
        """Seconds, whatever the size."""
        return self.alpha + self.alpha_per_device * n

    def bandwidth(self, n: int, link_bytes_per_s: float) -> float:
        """Effective bytes/s among `n` devices; `link_bytes_per_s` is bidirectional.

        On PCIe more than two devices share the host bridge: the rate falls with n.
        """
        one_way = link_bytes_per_s / 2
        if n == 2:
            return one_way * self.share_of_two
        return one_way * self.share_of_more / (n if self.shared_bridge else 1)

    def seconds(self, message_bytes: float, n: int, link_bytes_per_s: float) -> float:
        """Seconds of one all-reduce: latency + 2(n-1)/n x bytes / bandwidth; 0 for one device."""
        if n <= 1:
            return 0.0
        moved = 2 * (n - 1) / n * message_bytes
        return self.latency(n) + moved / self.bandwidth(n, link_bytes_per_s)


@dataclass(frozen=True, slots=True)
class Efficiency:
    """An engine variant on a class of hardware, with one weight format. Times in seconds.

    mbu, mbu_kv: shares of bandwidth on weights and on the cache; mfu, mfu_decode: of the dense
    peak; layer_, step_seconds: host time; prompt_seconds: extra per prefill; sequence_seconds:
    extra per sequence and decode step. `kind`: "fit" where this variant was calibrated on this
    class of hardware, else "prior".
    """

    variant: str
    hardware: str
    kind: str
    mbu: float
    mbu_kv: float
    mfu: float
    mfu_decode: float
    batched_prefill_factor: float
    layer_seconds: float
    step_seconds: float
    prompt_seconds: float
    sequence_seconds: float
    hides_host: bool
    link: Link
    spreads: Mapping[str, Spread]

    @property
    def name(self) -> str:
        """ "compiled engine on hbm"."""
        return f"{self.variant} engine on {self.hardware}"

    def spread(self, *, prefill: bool, sequences: int, devices: int) -> Spread:
        """The range that belongs to a step of this kind."""
        if prefill:
            return self.spreads[PREFILL]
        if devices > 1:
            return self.spreads[SHARDED]
        return self.spreads[DECODE_MANY if sequences > 1 else DECODE_ONE]


class Parameters:
    """Parameter values by name: the given ones over the priors, the narrowest name first."""

    def __init__(self, values: Mapping[str, float]) -> None:
        self._values = {**PRIORS, **values}
        self._given = frozenset(values)

    def get(self, stem: str, wheres: Iterable[str] = (), default: float | None = None) -> float:
        """The value of the first of `stem.where`, then of `stem`.

        Raises KeyError where neither exists and there is no default.
        """
        for where in wheres:
            value = self._values.get(f"{stem}.{where}")
            if value is not None:
                return value
        return self._values[stem] if default is None else self._values.get(stem, default)

    def value(self, name: str) -> float:
        """The value of the parameter of exactly that name. Raises KeyError for an unknown one."""
        return self._values[name]

    def fitted(self, stem: str, where: str) -> bool:
        """Whether the value used for `stem` at `where` was fitted."""
        name = f"{stem}.{where}"
        return (name if name in self._values else stem) in self._given


def build_efficiency(
    parameters: Parameters,
    spreads: Mapping[str, Spread],
    variant: str,
    hardware: str,
    format_class: str,
    link: str,
    quirks: tuple[str, ...] = (),
) -> Efficiency:
    """The efficiency that `parameters` give; see the module for what it is used for.

    `quirks` name known departures: "bnb" (bitsandbytes kernels), "pre-xqa" (attention that reads
    a KV head once per query head, TensorRT-LLM before 0.7), "untried" (an engine without fitted
    rows of its own: a prior's range).
    """
    places_of_hardware = (hardware, *_HARDWARE_LIKE.get(hardware, ()))

    kernels = [f"{quirk}-{format_class}" for quirk in quirks]
    formats = [format_class, *_LIKE.get(format_class, ())]
    places = [
        place
        for fmt in formats
        for place in (*(f"{fmt}@{kind}" for kind in places_of_hardware), fmt)
    ]

    def value(what: str, default: float | None = None) -> float:
        return parameters.get(f"{variant}.{what}", places_of_hardware, default)

    def factor(what: str) -> float:
        return parameters.get(f"{variant}.{what}", (*kernels, *places), 1.0)

    kv_factor = parameters.get(f"{variant}.mbu_kv_factor", quirks, 1.0)
    power = parameters.get("power.mfu_factor", (hardware,), 1.0)
    mfu = min(value("mfu") * factor("mfu_factor") * power, MOST_SHARE)
    return Efficiency(
        variant=variant,
        hardware=hardware,
        kind="fit"
        if any(parameters.fitted(f"{variant}.mbu", kind) for kind in places_of_hardware)
        else "prior",
        mbu=min(value("mbu") * factor("mbu_factor"), MOST_SHARE),
        mbu_kv=min(value("mbu_kv"), MOST_SHARE) * kv_factor,
        mfu=mfu,
        mfu_decode=min(mfu * value("mfu_decode_factor", 1.0), MOST_SHARE),
        batched_prefill_factor=value("batched_prefill_factor", 1.0),
        layer_seconds=value("layer_us") * factor("host_factor") * 1e-6,
        step_seconds=value("step_us") * 1e-6,
        prompt_seconds=value("prompt_us") * 1e-6,
        sequence_seconds=value("sequence_us") * 1e-6,
        hides_host=variant in HIDES_HOST,
        link=build_link(parameters, link),
        spreads=spreads,
    )


# A card of 75 W or less: memory as others of its kind, arithmetic held back by power.
_HARDWARE_LIKE: Mapping[str, tuple[str, ...]] = MappingProxyType({"gddr-75w": ("gddr",)})
# FP8 streams as other 8-bit weights do; only its arithmetic has a peak of its own.
_LIKE: Mapping[str, tuple[str, ...]] = MappingProxyType({"fp8": ("8-bit",)})
HIDES_HOST = frozenset({"eager", "launched"})


def build_link(parameters: Parameters, link: str) -> Link:
    """The link of that kind (pcie, nvlink, neuronlink) as the parameters have it."""

    def value(what: str) -> float:
        return parameters.get(f"link.{what}", (link,))

    return Link(
        name=link,
        alpha=value("alpha_us") * 1e-6,
        alpha_per_device=value("alpha_per_device_us") * 1e-6,
        share_of_two=min(value("share_of_two"), MOST_SHARE),
        share_of_more=min(value("share_of_more"), MOST_SHARE),
        shared_bridge=link == "pcie",
    )


@lru_cache(maxsize=1)
def shipped() -> Parameters:
    """The parameters this package ships: its calibration over its priors."""
    return Parameters(FITTED)


@lru_cache(maxsize=512)
def efficiency_of(
    variant: str, hardware: str, format_class: str, link: str, quirks: tuple[str, ...] = ()
) -> Efficiency:
    """The shipped efficiency of an engine variant on a class of hardware."""
    spreads = PRIOR_SPREADS if "untried" in quirks else spreads_of(variant, hardware)
    return build_efficiency(shipped(), spreads, variant, hardware, format_class, link, quirks)


@dataclass(frozen=True, slots=True)
class Tuning:
    """A calibration in use: parameters over the priors, and spreads by (variant, hardware)."""

    parameters: Parameters
    spreads: Mapping[tuple[str, str], Mapping[str, Spread]]

    def efficiency(
        self,
        variant: str,
        hardware: str,
        format_class: str,
        link: str,
        quirks: tuple[str, ...] = (),
    ) -> Efficiency:
        """What `efficiency_of` gives, under this calibration."""
        found = self.spreads.get((variant, hardware), {})
        return build_efficiency(
            self.parameters,
            {**PRIOR_SPREADS, **found},
            variant,
            hardware,
            format_class,
            link,
            quirks,
        )


# Without residuals of its own a class gets this: about what separates the published extremes.
PRIOR_SPREAD = Spread(0.55, 1.9, "prior")
PRIOR_SPREADS: Mapping[str, Spread] = MappingProxyType(
    dict.fromkeys((DECODE_ONE, DECODE_MANY, PREFILL, SHARDED), PRIOR_SPREAD)
)


def spreads_of(variant: str, hardware: str) -> Mapping[str, Spread]:
    """The ranges of a variant on a class of hardware, by kind of step."""
    kinds = (hardware, *_HARDWARE_LIKE.get(hardware, ()))
    found = next((SPREADS[variant, kind] for kind in kinds if (variant, kind) in SPREADS), {})
    fitted = {key: Spread(low, high, "fit", rows) for key, (low, high, rows) in found.items()}
    if (variant, hardware) not in SPREADS:
        fitted.pop(PREFILL, None)  # its arithmetic was not measured
    return {**PRIOR_SPREADS, **fitted}


# 72 W by nvidia-smi on g6 (vantage's instance data, 2025-12).
_LOW_POWER = frozenset({"L4"})


def hardware_class(accelerator: Accelerator | None) -> str:
    """gddr, gddr-75w, hbm, turing (before Ampere), neuron or cpu: what parameters distinguish."""
    if accelerator is None:
        return "cpu"
    if accelerator.vendor == "AWS":
        return "neuron"
    if accelerator.compute_capability and float(accelerator.compute_capability) < 8.0:
        return "turing"
    if accelerator.memory_kind.startswith("HBM"):
        return "hbm"
    return "gddr-75w" if accelerator.name in _LOW_POWER else "gddr"


def format_class(fmt: NumberFormat) -> str:
    """16-bit (and wider), fp8, other 8-bit, or 4-bit (and narrower)."""
    if fmt.bits >= 16:
        return "16-bit"
    if fmt.name == "fp8":
        return "fp8"
    return "8-bit" if fmt.bits > 5 else "4-bit"
