"""Which classes of engine and hardware were calibrated, and which rest on priors."""

from __future__ import annotations

from benchmarks.accuracy.markdown import table
from labkit.sizing.efficiency import (
    DECODE_MANY,
    DECODE_ONE,
    PREFILL,
    SHARDED,
    Spread,
    efficiency_of,
)

WORDS = {
    "compiled": "serving engines with CUDA graphs or compiled programs",
    "launched": "serving engines that launch kernels one by one (TGI 1, AutoAWQ)",
    "eager": "eager transformers",
    "llama.cpp": "llama.cpp",
    "neuron": "Neuron",
    "cpu": "PyTorch on a CPU",
}
_GPUS = ("gddr", "hbm", "turing")
_HARDWARE = {
    "compiled": _GPUS,
    "launched": _GPUS,
    "eager": _GPUS,
    "llama.cpp": (*_GPUS, "cpu"),
    "neuron": ("neuron",),
    "cpu": ("cpu",),
}
_LINKS = {"gddr": "pcie", "hbm": "nvlink", "turing": "pcie", "neuron": "neuronlink", "cpu": ""}
_REGIMES = (DECODE_ONE, DECODE_MANY, PREFILL, SHARDED)


def section() -> str:
    """One line for each class: where its parameters and its four bands come from."""
    head = ["engines", "hardware", "parameters", "decode, batch 1", "decode, batch > 1"]
    head += ["prefill", "tensor parallel"]
    lines = []
    for variant, classes in _HARDWARE.items():
        for hardware in classes:
            found = efficiency_of(variant, hardware, "16-bit", _LINKS[hardware] or "pcie")
            bands = [_said(found.spreads[regime]) for regime in _REGIMES]
            if hardware == "cpu":
                bands[-1] = "–"
            lines.append([WORDS[variant], hardware, _kind(found.kind), *bands])
    return table(head, lines, numbers_from=len(head))


def _said(spread: Spread) -> str:
    rows = f", {spread.rows} rows" if spread.rows else ""
    return f"{_kind(spread.kind)}{rows}: × {spread.low:.2f}–{spread.high:.2f}"


def _kind(kind: str) -> str:
    return "fit" if kind == "fit" else f"**{kind}**"
