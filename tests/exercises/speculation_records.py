"""Attention and speculation records of a machine that does not exist, for Lab 06's exercises."""

from __future__ import annotations

from typing import Any

from labkit.contract.record import Record, Series

STEP_MS = 60.0
BATCHES = (1, 2, 4, 8, 16, 32)
OPERATORS = (
    ("aten::mm", 211, 40.0, True),
    ("aten::cat", 121, 6.0, True),
    ("aten::_to_copy", 125, 3.0, False),
    ("aten::_scaled_dot_product_flash_attention_for_cpu", 30, 1.6, True),
    ("aten::mul", 275, 0.8, True),
)


def _record(id_: str, facts: dict[str, Any], series: tuple[Series, ...]) -> Record:
    return Record(
        id=id_,
        title=f"An invented {id_} record",
        live=True,
        made_on="2026-11-30",
        hardware={"summary": "an invented machine", "device": "cpu"},
        versions={"torch": "2.13.0"},
        series=series,
        facts={"clock": "cpu", **facts},
    )


def attention_record(without: str = "", profiled_ms: float = 90.0) -> Record:
    """A step of which attention is a small part; `without` leaves out operators by name."""
    kept = [row for row in OPERATORS if not without or without not in row[0]]
    total = sum(ms for _, _, ms, _ in kept)
    operators = [
        {"name": name, "calls": calls, "self_ms": ms, "share": ms / total, "computes": computes}
        for name, calls, ms, computes in kept
    ]
    profile = {
        "context_tokens": 256,
        "step_ms": STEP_MS,
        "profiled_ms": profiled_ms,
        "kernel_ms": 0.7 * profiled_ms,
        "host_share": 0.3,
        "calls": 6000,
        "kinds": 42,
        "operators": operators,
        "gpu_kernels": [],
    }
    return _record(
        "attention", {"profile": profile}, (Series("profile.step", "ms", (STEP_MS,) * 3),)
    )


def run(
    drafter: str, prompt: str, gamma: int, passes: int, rounds: int, c: float | None, speedup: float
) -> dict[str, Any]:
    """Counts of one run of forty tokens that add up."""
    tokens = 40
    accepted = tokens - passes
    refused = max(0, rounds - accepted // max(gamma, 1)) if gamma else 0
    examined = accepted + refused
    return {
        "drafter": drafter,
        "prompt": prompt,
        "gamma": gamma,
        "tokens": tokens,
        "target_forwards": passes,
        "tokens_per_forward": round(tokens / passes, 4),
        "rounds_with_draft": rounds,
        "drafted": rounds * gamma,
        "examined": examined,
        "accepted": accepted,
        "alpha": round(accepted / examined, 4) if examined else None,
        "accepted_of_drafted": round(accepted / (rounds * gamma), 4) if rounds * gamma else None,
        "c": c,
        "ms_per_token": STEP_MS / speedup,
        "verify_over_step": 1.6 if gamma else None,
        "speedup": speedup,
        "cpu_s": 2.4,
        "wall_s": 2.5,
        "identical": True,
    }


def speculation_record(
    grows: float = 1.35, runs: list[dict[str, Any]] | None = None, **facts: Any
) -> Record:
    """Verification costs 1.6 steps alone and `grows` times more with each doubling of the batch."""
    ratios = [round(1.6 * grows**i, 3) for i in range(len(BATCHES))]
    made = runs or [
        run("plain", "copy", 0, 40, 0, None, 1.0),
        run("lookup2", "copy", 2, 15, 13, 0.0001, 2.0),
        run("lookup5", "copy", 5, 10, 8, 0.0001, 2.4),
        run("lookup10", "copy", 10, 8, 6, 0.0001, 2.5),
        run("layers10", "copy", 5, 36, 36, 0.4, 0.33),
        run("int8", "copy", 5, 8, 8, 1.4, 0.7),
        run("plain", "open", 0, 40, 0, None, 1.0),
        run("lookup5", "open", 5, 37, 9, 0.0001, 0.97),
        run("layers10", "open", 5, 35, 35, 0.4, 0.35),
    ]
    whole: dict[str, Any] = {
        "output_tokens": 40,
        "runs": made,
        "batches": {
            "gamma": 5,
            "context_tokens": 64,
            "batch": list(BATCHES),
            "step_ms": [STEP_MS * (1 + 0.1 * i) for i in range(len(BATCHES))],
            "verify_ms": [STEP_MS * (1 + 0.1 * i) * r for i, r in enumerate(ratios)],
            "verify_over_step": ratios,
        },
    }
    return _record("speculation", whole | facts, (Series("step", "ms", (STEP_MS,) * 3),))
