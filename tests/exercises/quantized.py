"""A quantization record of a machine that does not exist, to try Lab 04's exercises on."""

from __future__ import annotations

import math
import statistics
from random import Random
from typing import Any

import numpy as np

from labkit.contract.record import Record, Series
from labkit.exercises import Exercise, Facts, givens_for

WEIGHTS = 134_515_008
WINDOWS = 20
# label, kind, bits, stored bits per weight, extra nats per token
FORMATS: dict[str, tuple[str, str, int, float, float]] = {
    "fp32": ("FP32 (reference)", "float", 32, 32.0, 0.0),
    "bf16": ("BF16", "float", 16, 16.0, 0.0004),
    "fp16": ("FP16", "float", 16, 16.0, 0.0001),
    "q8_0": ("Q8_0 (GGUF)", "gguf", 8, 8.5, 0.005),
    "fp8": ("FP8 E4M3, a scale per row", "fp8", 8, 9.7, 0.02),
    "bnb_int8": ("INT8 (bitsandbytes)", "bitsandbytes", 8, 13.1, 0.014),
    "q4_1": ("Q4_1 (GGUF)", "gguf", 4, 5.8, 0.0),
    "q4_0": ("Q4_0 (GGUF)", "gguf", 4, 5.35, 0.22),
    "bnb_nf4": ("NF4 (bitsandbytes)", "bitsandbytes", 4, 9.9, 0.26),
    "rtn4": ("4-bit round to nearest, g64", "rtn", 4, 5.2, 0.25),
    "rtn3": ("3-bit round to nearest, g64", "rtn", 3, 4.4, 1.1),
    "rtn2": ("2-bit round to nearest, g64", "rtn", 2, 3.6, 6.0),
}
TORCH_MS = {"fp32": 40.0, "bf16": 38.0, "fp16": 41.0, "bnb_int8": 70.0, "bnb_nf4": 55.0}
LLAMA_MS = {"fp32": 44.0, "fp16": 26.0, "q8_0": 21.0, "q4_1": 22.0, "q4_0": 15.0}


def quantization_record(
    *,
    torch_ms: dict[str, float] | None = None,
    llama_ms: dict[str, float] | None = None,
    original: bool = False,
    extra: dict[str, float] | None = None,
    without: tuple[str, ...] = (),
    windows: int = WINDOWS,
) -> Record:
    """`extra` overrides a format's loss in nats; `without` leaves formats or "llama" out."""
    rng = Random(4)  # invented numbers, not secrets
    hard = [rng.gauss(2.6, 0.35) for _ in range(windows)]
    formats = {}
    for key, (label, kind, bits, stored, loss) in FORMATS.items():
        if key in without:
            continue
        more = (extra or {}).get(key, 0.15 if original and key == "q4_1" else loss)
        nll = [base + more * (1 + rng.gauss(0, 0.25)) for base in hard]
        formats[key] = {
            "label": label,
            "kind": kind,
            "bits": bits,
            "bits_per_weight": stored,
            "weight_bytes": round(WEIGHTS * stored / 8),
            "file_bytes": None,
            "emulated": kind != "bitsandbytes" and key != "fp32",
            "nll": nll,
            "perplexity": math.exp(statistics.fmean(nll)),
        }
    return Record(
        id="quantization",
        title="SmolLM2 in a dozen formats",
        live=True,
        made_on="2026-11-30",
        hardware={"summary": "an invented machine", "device": "cpu"},
        versions={},
        series=(
            *_times("torch", TORCH_MS | (torch_ms or {}), without),
            *(() if "llama" in without else _times("llama", LLAMA_MS | (llama_ms or {}), without)),
            Series("read.fp32", "GB/s", (21.8, 22.0, 22.2)),
        ),
        facts={
            "formats": formats,
            "kv": _caches(formats["fp32"]),
            "reference": {"source": "wheel", "label": "SmolLM2", "original": original},
            "left_out": {},
            "fp8_native": False,
        },
    )


def _times(engine: str, times: dict[str, float], without: tuple[str, ...]) -> list[Series]:
    return [
        Series(
            f"{engine}.{key}.{what}",
            "ms",
            tuple(ms * share for share in (0.97, 0.99, 1, 1.02, 1.05)),
        )
        for key, ms in times.items()
        if key not in without
        for what in ("step", "cpu")
    ]


def _caches(reference: dict[str, Any]) -> dict[str, Any]:
    each = {"fp32": (46_080, 0.0), "int8": (11_880, 0.003), "fp8": (11_520, 0.011)}
    caches = {}
    for key, (size, loss) in each.items():
        nll = [x + loss for x in reference["nll"]]
        caches[key] = {
            "label": key.upper(),
            "bytes_per_token": size,
            "attention_error": [] if key == "fp32" else [0.01] * 30,
            "nll": nll,
            "perplexity": math.exp(statistics.fmean(nll)),
        }
    return caches


def names_for(exercise: Exercise, facts: Facts, learner: str, records: dict[str, Record]) -> Any:
    import matplotlib.pyplot as plt

    class Bench:
        def quantization(self) -> Record:
            return records["quantization"]

    g = givens_for(exercise, facts, learner=learner, records=records)
    return {"g": g, "bench": Bench(), "plt": plt, "np": np}
