"""Bands: every output is low / mid / high, and the priors that make them before a calibration.

`kind` says where a band comes from; here it is always "prior": ranges of published figures, not
yet fitted. The priors are shares of the roofline (MBU for bytes, MFU for FLOPs, both at most 1, so
no estimate can beat the hardware) and a fixed host time per layer and step, which is what
separates small models on fast cards from bytes / bandwidth.

Sources of the ranges: decode MBU 0.73-0.87 on GDDR and 0.44-0.71 on HBM cards (batch 1, 16-bit,
one GPU, serving engines), 0.22/0.48/0.82 for 4-bit, 0.61-0.67 for FP8 kernels on an L40S,
0.25/0.32/0.43 for eager transformers, 0.08-0.45 on Inferentia2 and 0.07-0.56 on CPUs; prefill MFU
0.14/0.40/0.57 overall, 0.6-0.74 on A100, 0.55-0.70 on L40S, 0.43 eager, 0.18-0.31 llama.cpp,
0.10 Inferentia2, 0.09 T4 with AWQ: percentiles of 814 published measurements and of the operator
tables that aiconfigurator ships. 100 us of host time per layer is the five-term fit to the same.
"""

from __future__ import annotations

from dataclasses import dataclass

from labkit.catalog.specs import Accelerator, NumberFormat

PRIOR_SOURCE = "prior: range of published measurements, not yet calibrated"


@dataclass(frozen=True, slots=True)
class Band:
    """A value with its range: low <= mid <= high, in one stated unit.

    kind: "prior" (published range), later "fit" (a calibration's residuals).
    """

    low: float
    mid: float
    high: float
    kind: str = "prior"

    def times(self, factor: float) -> Band:
        """The band in another unit: all three values times a positive factor."""
        return Band(self.low * factor, self.mid * factor, self.high * factor, self.kind)

    def under(self, numerator: float) -> Band:
        """numerator / value: the order turns over, so the highest value gives the low end."""
        return Band(numerator / self.high, numerator / self.mid, numerator / self.low, self.kind)

    def as_dict(self) -> dict[str, float]:
        """{low, mid, high}."""
        return {"low": self.low, "mid": self.mid, "high": self.high}


@dataclass(frozen=True, slots=True)
class StepPrior:
    """How close an engine comes to the roofline on a class of hardware.

    mbu: share of bandwidth on 16-bit weights; mfu: share of dense peak in prefill-sized matrix
    products; layer_seconds: host and launch time per layer and step.
    """

    name: str
    mbu: Band
    mfu: Band
    layer_seconds: Band


def _prior(
    name: str,
    mbu: tuple[float, float, float],
    mfu: tuple[float, float, float],
    layer_microseconds: tuple[float, float, float],
) -> StepPrior:
    return StepPrior(name, Band(*mbu), Band(*mfu), Band(*layer_microseconds).times(1e-6))


# (engine family, accelerator class) -> prior
STEP_PRIORS: dict[tuple[str, str], StepPrior] = {
    ("serving", "gddr"): _prior(
        "serving engine, GDDR card", (0.72, 0.88, 0.95), (0.30, 0.52, 0.70), (20, 80, 160)
    ),
    ("serving", "hbm"): _prior(
        "serving engine, HBM card", (0.50, 0.72, 0.90), (0.30, 0.55, 0.75), (15, 60, 150)
    ),
    ("serving", "turing"): _prior(
        "serving engine, T4 or older", (0.50, 0.72, 0.90), (0.08, 0.25, 0.50), (40, 120, 300)
    ),
    ("eager", "gddr"): _prior(
        "eager transformers, GDDR card", (0.45, 0.70, 0.87), (0.20, 0.42, 0.55), (250, 600, 1100)
    ),
    ("eager", "hbm"): _prior(
        "eager transformers, HBM card", (0.40, 0.60, 0.80), (0.20, 0.42, 0.55), (250, 600, 1100)
    ),
    ("eager", "turing"): _prior(
        "eager transformers, T4 or older", (0.35, 0.60, 0.80), (0.08, 0.25, 0.45), (300, 700, 1300)
    ),
    ("llama.cpp", "gddr"): _prior(
        "llama.cpp, GDDR card", (0.50, 0.72, 0.90), (0.14, 0.24, 0.40), (10, 40, 120)
    ),
    ("llama.cpp", "hbm"): _prior(
        "llama.cpp, HBM card", (0.35, 0.55, 0.80), (0.14, 0.24, 0.40), (10, 40, 120)
    ),
    ("llama.cpp", "turing"): _prior(
        "llama.cpp, T4 or older", (0.45, 0.68, 0.88), (0.08, 0.20, 0.40), (15, 50, 140)
    ),
    ("llama.cpp", "cpu"): _prior(
        "llama.cpp on a CPU", (0.10, 0.38, 0.70), (0.10, 0.30, 0.60), (2, 15, 60)
    ),
    ("neuron", "neuron"): _prior("Neuron", (0.10, 0.28, 0.50), (0.05, 0.12, 0.35), (20, 60, 200)),
}

# Share of the 16-bit MBU that weights of fewer bits reach: unpacking costs time, and eager
# kernels (bitsandbytes) unpack slowest. The family "" stands for every family not listed.
FORMAT_MBU: dict[tuple[str, str], Band] = {
    ("", "16-bit"): Band(1.0, 1.0, 1.0),
    ("", "8-bit"): Band(0.72, 0.86, 1.0),
    ("", "4-bit"): Band(0.30, 0.72, 0.95),
    ("eager", "8-bit"): Band(0.12, 0.40, 0.95),
    ("eager", "4-bit"): Band(0.25, 0.60, 0.95),
}


def accelerator_class(accelerator: Accelerator | None) -> str:
    """Which priors a device falls under: gddr, hbm, turing (before Ampere), neuron, cpu."""
    if accelerator is None:
        return "cpu"
    if accelerator.vendor == "AWS":
        return "neuron"
    if accelerator.compute_capability and float(accelerator.compute_capability) < 8.0:
        return "turing"
    return "hbm" if accelerator.memory_kind.startswith("HBM") else "gddr"


def format_class(fmt: NumberFormat) -> str:
    """16-bit (and wider), 8-bit or 4-bit (and narrower)."""
    if fmt.bits >= 16:
        return "16-bit"
    return "8-bit" if fmt.bits > 4 else "4-bit"


def step_prior(family: str, accelerator: Accelerator | None, fmt: NumberFormat) -> StepPrior:
    """The prior of an engine family on a device, MBU scaled for the weight format.

    Raises KeyError where the family does not run there; the estimate refuses that first.
    """
    base = STEP_PRIORS[family, accelerator_class(accelerator)]
    bits = format_class(fmt)
    factor = FORMAT_MBU.get((family, bits), FORMAT_MBU["", bits])
    mbu = Band(base.mbu.low * factor.low, base.mbu.mid * factor.mid, base.mbu.high * factor.high)
    return StepPrior(f"{base.name}, {bits} weights", mbu, base.mfu, base.layer_seconds)
