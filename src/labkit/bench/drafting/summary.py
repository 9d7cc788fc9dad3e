"""A "speculation" record as two tables, for a terminal of 80 columns."""

from __future__ import annotations

import textwrap
from typing import Any

from labkit.bench.drafting.acceptance import expected_speedup, gain
from labkit.contract import Record
from labkit.contract.view import number, text_table

_WIDTH = 80
_CLOCKS = {"cpu": "CPU time", "wall": "wall time"}
_LEGEND = (
    "α: chance that the next drafted token is kept. c: one drafted token ÷ one step.",
    "Verify: a forward over γ + 1 tokens ÷ one step. Formula: what α, γ and c promise",
    "when verifying costs one step and every round has a draft.",
)


def summary(record: Record) -> str:
    """Drafters on both prompts; verification in batches; then who measured, and remarks."""
    parts = [_runs(record), *_LEGEND, f"ms are {_CLOCKS[record.facts['clock']]}."]
    parts += [f"{name}: {found['label']}." for name, found in record.facts["drafters"].items()]
    parts += ["", _batches(record), ""]
    parts += [textwrap.fill(line, _WIDTH) for line in (record.origin(), *record.notes)]
    return "\n".join(parts)


def _runs(record: Record) -> str:
    columns = ["Prompt", "Drafter", "Tokens/fwd", "α", "c", "Verify"]
    columns += ["ms/token", "Speed-up", "Formula"]
    rows = [
        [
            run["prompt"],
            run["drafter"],
            f"{run['tokens_per_forward']:.2f}",
            _or_dash(run["alpha"], 2),
            _or_dash(run["c"], 2),
            _or_dash(run["verify_over_step"], 2),
            f"{run['ms_per_token']:.1f}",
            _speedup(run),
            _formula(run),
        ]
        for run in record.facts["runs"]
    ]
    return text_table(columns, rows, record.title)


def _speedup(run: dict[str, Any]) -> str:
    if run["gamma"] == 0:
        return "–"
    return f"{run['speedup']:.2f}×" if run["identical"] else "not equal"


def _formula(run: dict[str, Any]) -> str:
    if run["alpha"] is None or run["c"] is None:
        return "–"
    return f"{expected_speedup(run['alpha'], run['gamma'], run['c']):.2f}×"


def _batches(record: Record) -> str:
    found = record.facts["batches"]
    lookups = {
        run["prompt"]: (
            run["tokens_per_forward"],
            run["rounds_with_draft"] / run["target_forwards"],
        )
        for run in record.facts["runs"]
        if run["drafter"] == f"lookup{found['gamma']}"
    }
    columns = ["Batch", "1 token, ms", f"{found['gamma'] + 1} tokens, ms", "Ratio"]
    columns += [f"Gain, {prompt}" for prompt in lookups]
    rows = [
        [
            batch,
            number(step),
            number(verify),
            f"{ratio:.2f}",
            *(f"{gain(*counts, ratio):.2f}×" for counts in lookups.values()),
        ]
        for batch, step, verify, ratio in zip(
            found["batch"],
            found["step_ms"],
            found["verify_ms"],
            found["verify_over_step"],
            strict=True,
        )
    ]
    caption = f"Verification in batches; gain: lookup{found['gamma']} at that ratio"
    return text_table(columns, rows, caption)


def _or_dash(value: float | None, digits: int) -> str:
    return "–" if value is None else f"{value:.{digits}f}"
