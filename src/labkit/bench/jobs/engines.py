"""The measurement "engines": the same mixed requests through every way of serving them.

Rounds are paired: what disturbs one round disturbs all its modes, and cancels in their ratios. The
baseline serves each request once over all rounds, a fair share in each, since its rate does not
depend on how many wait; the others serve the whole set every time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

from labkit.bench.engine.agreement import NEEDED, agreement
from labkit.bench.engine.modes import Mode, Run, Spent
from labkit.bench.engine.registry import BASELINE, Engine, Workbench, chosen_engines
from labkit.bench.engine.replayed import from_recording
from labkit.bench.engine.requests import (
    COUNT,
    SENTENCES,
    SLOTS,
    Request,
    mixed_requests,
    rounds_of,
)
from labkit.bench.session import Measured, Session
from labkit.bench.weights import ensure_weights
from labkit.contract import Series

ROUNDS = 5
QUICK_COUNT, QUICK_ROUNDS, QUICK_SLOTS = 8, 2, 4
# Requests of a round that are also served at concurrency 1.
_ALONE = 2
# These are slow to repeat and say nothing new alone: a batch of one is the baseline.
_NEVER_ALONE = ("static",)


@dataclass(slots=True)
class Tally:
    """What one mode did, round by round."""

    engine: Engine
    by_wall: bool
    runs: list[Run] = field(default_factory=list)
    speedup: list[float] = field(default_factory=list)
    alone: list[float] = field(default_factory=list)
    peak_bytes: int = 0


def measure(session: Session) -> Measured:
    """Series engines.<mode>.cpu_rate, .rate, .speedup and .alone; facts as `bench.engines` says."""
    options = session.options
    engines = chosen_engines(list(options.get("modes") or ()))
    missing = {e.id: why for e in engines if (why := e.missing(options))}
    weights = ensure_weights(session.report)
    count, rounds, slots = (
        (QUICK_COUNT, QUICK_ROUNDS, QUICK_SLOTS) if session.quick else (COUNT, ROUNDS, SLOTS)
    )
    here = [engine for engine in engines if engine.id not in missing]
    session.steps.total = session.steps.begun + 1 + rounds * (1 + len(here))
    session.say("loading SmolLM2-135M in FP32")
    model, tokenizer = load(weights.folder, session.device)
    bench = Workbench(
        model, tokenizer, weights.folder, session.device, slots, options.get("url", ""),
        session.report,
    )  # fmt: skip
    requests = mixed_requests(count, [tokenizer(text).input_ids for text in SENTENCES])
    with ExitStack() as stack:
        modes = {engine.id: stack.enter_context(engine.open(bench)) for engine in here}
        tallies = run_rounds(session, here, modes, rounds_of(requests, rounds))
    measured = summarise(tallies, wall=session.device != "cpu")
    measured.facts |= {
        "weights": weights.source.key,
        "slots": slots,
        "rounds": rounds,
        "agreement_needed": NEEDED,
        "requests": {
            "prompt_tokens": [len(request.prompt) for request in requests],
            "output_tokens": [request.output_tokens for request in requests],
        },
        "engine_versions": {e.id: v for e in here if (v := e.version())},
        "missing": missing,
    }
    for name in missing:
        if entry := from_recording("engines", "modes", name):
            measured.facts["modes"][name] = entry
    return measured


def load(folder: Any, device: str) -> tuple[Any, Any]:
    """The model in FP32 on `device`, which never stops early, and its tokenizer."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    from labkit.bench.engine.generate import never_stop
    from labkit.bench.jobs.decode import in_one_block

    model: Any = AutoModelForCausalLM.from_pretrained(
        folder, dtype=torch.float32, attn_implementation="sdpa"
    )
    model.eval().to(device)
    if device == "cpu":
        in_one_block(model)
    never_stop(model)
    return model, AutoTokenizer.from_pretrained(folder)


def run_rounds(
    session: Session,
    engines: Sequence[Engine],
    modes: Mapping[str, Mode],
    groups: Sequence[Sequence[Request]],
) -> list[Tally]:
    """Every mode in every round; `groups` are the baseline's shares, one per round.

    Concurrency 1 comes first, request by request: each mode serves it right after the other, since
    a ratio of two is only as steady as the machine is between them. The order turns around from
    round to round, so that no mode is always first.
    """
    everything = sorted((r for group in groups for r in group), key=lambda request: request.id)
    tallies = {e.id: Tally(e, modes[e.id].by_wall) for e in engines}
    warm = [Request(everything[0].id, everything[0].prompt, 2)]
    for engine in engines:
        modes[engine.id].run(warm)
    for number, group in enumerate(groups):
        few, rest = group[:_ALONE], group[_ALONE:]
        order = list(engines) if number % 2 == 0 else list(reversed(engines))
        round_of = f"round {number + 1} of {len(groups)}"
        session.say(f"{round_of}: {len(few)} requests at concurrency 1")
        alone = alone_in_turn([e.id for e in order if e.id not in _NEVER_ALONE], modes, few)
        for engine in order:
            session.say(f"{round_of}: {engine.label}")
            mode, tally = modes[engine.id], tallies[engine.id]
            if engine.id == BASELINE:
                tally.runs.append(joined(alone[BASELINE], mode.run(rest)))
            else:
                tally.runs.append(mode.run(everything))
            tally.peak_bytes = max(tally.peak_bytes, mode.memory_bytes())
        _compare(tallies, alone, wall=session.device != "cpu")
    return list(tallies.values())


def alone_in_turn(
    names: Sequence[str], modes: Mapping[str, Mode], requests: Sequence[Request]
) -> dict[str, Run]:
    """Each request through every mode before the next one, at concurrency 1."""
    found: dict[str, Run] = {}
    for request in requests:
        for name in names:
            run = modes[name].run_alone([request])
            found[name] = joined(found[name], run) if name in found else run
    return found


def joined(first: Run, second: Run) -> Run:
    """Two runs of one mode, of different requests, as one."""
    return Run(
        {**first.outputs, **second.outputs},
        Spent(
            first.spent.cpu_s + second.spent.cpu_s,
            first.spent.wall_s + second.spent.wall_s,
        ),
        {**first.each, **second.each},
    )


def _compare(tallies: Mapping[str, Tally], alone: Mapping[str, Run], *, wall: bool) -> None:
    """The ratios of the round that has just ended."""
    for name, tally in tallies.items():
        if name == BASELINE:
            continue
        by_wall = wall or tally.by_wall
        base = rate(tallies[BASELINE].runs[-1], wall=by_wall)
        tally.speedup.append(rate(tally.runs[-1], wall=by_wall) / base)
        if name in alone:
            one = rate(alone[BASELINE], wall=by_wall)
            tally.alone.append(rate(alone[name], wall=by_wall) / one)


def rate(run: Run, *, wall: bool) -> float:
    """Useful tokens per CPU-second or per wall second."""
    return run.tokens / run.spent.seconds(wall=wall)


def summarise(tallies: Sequence[Tally], *, wall: bool) -> Measured:
    """Series and facts of what was done; `wall`: the device is no CPU, so wall seconds count."""
    measured = Measured()
    said: dict[int, Sequence[int]] = {}
    for run in next(t for t in tallies if t.engine.id == BASELINE).runs:
        said |= run.outputs
    modes: dict[str, Any] = {}
    for tally in tallies:
        name, by_wall = tally.engine.id, wall or tally.by_wall
        figures = {
            "cpu_rate": [rate(run, wall=by_wall) for run in tally.runs],
            "rate": [rate(run, wall=True) for run in tally.runs],
            "speedup": tally.speedup,
            "alone": tally.alone,
        }
        figures = {key: [float(f"{x:.5g}") for x in values] for key, values in figures.items()}
        equal = [agreement(said, run.outputs) for run in tally.runs]
        positions = sum(one.positions for one in equal)
        share = sum(one.agreed for one in equal) / positions
        modes[name] = {
            "label": tally.engine.label,
            "origin": "",
            **figures,
            "useful_tokens": tally.runs[-1].tokens,
            "agreement": round(share, 4),
            "positions": positions,
            "counts": share >= NEEDED,
            "memory_bytes": tally.peak_bytes,
        }
        measured.series += [
            Series(f"engines.{name}.{key}", unit, tuple(figures[key]), f"{tally.engine.label}{of}")
            for key, (unit, of) in _SERIES.items()
            if figures[key]
        ]
        spent = [run.spent for run in tally.runs]
        # Keyed to the wall-clock series: ratios of CPU seconds hold on a busy machine too.
        measured.cpu_share[f"engines.{name}.rate"] = round(
            sum(s.cpu_s for s in spent) / sum(s.wall_s for s in spent), 3
        )
        if share < NEEDED:
            measured.notes.append(
                f"{tally.engine.label} agrees with {BASELINE} in {100 * share:.1f} % of positions; "
                f"{100 * NEEDED:.0f} % are needed, so its speed-up does not count."
            )
    measured.facts |= {"modes": modes, "seconds": "wall" if wall else "CPU"}
    return measured


_SERIES = {
    "cpu_rate": ("tok/s", ", per CPU-second"),
    "rate": ("tok/s", ", per wall second"),
    "speedup": ("×", f" ÷ {BASELINE}"),
    "alone": ("×", f" ÷ {BASELINE}, concurrency 1"),
}
