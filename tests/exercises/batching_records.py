"""Records of engines and servers on a machine that does not exist, for Lab 05's exercises."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from labkit.contract.givens import Given, Givens
from labkit.contract.record import Record, Series

ROUNDS = 5
WOBBLE = (1.0, 1.04, 0.97, 1.02, 0.95)  # what a round's neighbours do to all modes alike
SCATTER = (0.01, -0.02, 0.015, 0.0, -0.01)  # and to one mode alone
LABELS = {
    "sequential": "generate, one at a time",
    "static": "static batches of 16",
    "continuous": "transformers, continuous batching",
    "vllm": "vLLM",
}
GAINS = {"sequential": 1.0, "static": 1.9, "continuous": 3.4, "vllm": 5.2}


def made_givens(number: str, **values: Any) -> Givens:
    """Givens of our own choice."""
    return Givens(number, tuple(Given(name, value, "", name) for name, value in values.items()))


def _record(id_: str, title: str, series: tuple[Series, ...], facts: dict[str, Any]) -> Record:
    return Record(
        id=id_,
        title=title,
        live=True,
        made_on="2026-11-30",
        hardware={"summary": "an invented machine", "device": "cpu"},
        versions={"torch": "2.13.0"},
        series=series,
        facts=facts,
    )


def engines_record(
    gains: dict[str, float] | None = None,
    alone: float = 1.05,
    modes: Sequence[str] = tuple(LABELS),
    rounds: int = ROUNDS,
) -> Record:
    """Each mode `gains` times as fast as one at a time (12 tokens per CPU-second)."""
    gains = GAINS | (gains or {})
    places = range(rounds)
    rates = {
        mode: [12.0 * gains[mode] * WOBBLE[i % 5] * (1 + SCATTER[(i + k) % 5]) for i in places]
        for k, mode in enumerate(modes)
    }
    speedups = {
        mode: []
        if mode == "sequential"
        else [many / one for many, one in zip(rates[mode], rates["sequential"], strict=True)]
        for mode in modes
    }
    lone = {
        mode: [alone * (1 + SCATTER[i % 5]) for i in places]
        if mode in ("continuous", "vllm")
        else []
        for mode in modes
    }
    series = [
        Series(f"engines.{mode}.cpu_rate", "tok/CPU-s", tuple(rates[mode]), LABELS[mode])
        for mode in modes
    ]
    facts = {
        "slots": 16,
        "seconds": "CPU",
        "rounds": rounds,
        "agreement_needed": 0.95,
        "requests": {
            "prompt_tokens": [32 + 2 * n for n in range(32)],
            "output_tokens": [16 + (37 * n) % 113 for n in range(32)],
        },
        "modes": {
            mode: {
                "label": LABELS[mode],
                "origin": "",
                "cpu_rate": rates[mode],
                "rate": [0.9 * rate for rate in rates[mode]],
                "speedup": speedups[mode],
                "alone": lone[mode],
                "useful_tokens": 2_304,
                "agreement": 1.0,
                "positions": 2_304,
                "counts": True,
                "memory_bytes": 1_500_000_000,
            }
            for mode in modes
        },
        "missing": {mode: "not installed here" for mode in LABELS if mode not in modes},
    }
    return _record("engines", "Ways of serving", tuple(series), facts)


def load_record(
    gap: float = 0.35, late: float = 1.3, servers: Sequence[str] = ("plain", "continuous", "vllm")
) -> Record:
    """Chunks multiply the others' longest gap by `gap`, the long prompt's first token by `late`."""
    ttft, e2e = 600.0, 3_500.0
    crowd = [s for s in servers if s != "plain"]

    def level(server: str, users: int) -> dict[str, Any]:
        turns = range(users) if server == "plain" else [0] + [0.3] * (users - 1)
        first = [ttft + turn * e2e for turn in turns]
        return {
            "ttft_ms": first,
            "e2e_ms": [x + e2e - ttft for x in first],
            "output_tokens": 16,
            "tok_per_s": 4.5 if server == "plain" else 4.5 * min(users, 5),
        }

    def gaps(worst: float, late: float, tokens: int) -> dict[str, Any]:
        return {
            "tokens_per_step": tokens,
            "itl_ms": [100.0] * 12 + [worst] + [100.0] * 12,
            "arrived_at": 12,
            "worst_ms": [worst, 1.05 * worst, 0.97 * worst],
            "usual_ms": 100.0,
            "long_ttft_ms": [1_900.0 * late, 1_950.0 * late, 1_880.0 * late],
        }

    labels = {"plain": "one at a time", **LABELS}
    facts = {
        "staircase": {
            s: {
                "label": labels[s],
                "origin": "",
                "levels": {str(n): level(s, n) for n in (1, 4, 8)},
            }
            for s in servers
        },
        "prefix": {
            s: {
                "label": labels[s],
                "origin": "",
                "shared_tokens": 384,
                "own_tokens": 32,
                "cold_ms": [1_500.0, 1_520.0, 1_480.0],
                "warm_ms": [1_490.0] * 3 if s == "plain" else [260.0, 255.0, 270.0],
            }
            for s in servers
        },
        "chunked": {
            s: {
                "label": labels[s],
                "origin": "",
                "long_prompt_tokens": 400,
                "whole": gaps(1_800.0, 1.0, 512),
                "chunked": gaps(1_800.0 * gap, late, 64),
            }
            for s in crowd
        },
        "missing": {s: "not installed here" for s in ("continuous", "vllm") if s not in servers},
    }
    series = tuple(
        Series(f"load.{s}.c{n}.ttft", "ms", tuple(level(s, n)["ttft_ms"]), f"{s}, {n} users")
        for s in servers
        for n in (1, 4, 8)
    )
    return _record("load", "Waiting users", series, facts)
