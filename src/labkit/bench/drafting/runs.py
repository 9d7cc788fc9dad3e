"""Every drafter on every prompt: repeated runs where seconds are compared, one where counts do.

The plain run is repeated in the same rounds as the lookups, so that what changes slowly meets all
alike. Drafters that are models are slower by a factor: one run shows that, and their cost per
token is sampled inside it.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from labkit.bench import clock
from labkit.bench.drafting.cached import CachedModel
from labkit.bench.drafting.drafters import Drafter
from labkit.bench.drafting.speculate import Run, speculate
from labkit.bench.sampling import pool
from labkit.bench.session import Measured, Session
from labkit.contract import Series

PLAIN = "plain"
ROUNDS = 5
_QUICK_ROUNDS = 3


@dataclass(frozen=True, slots=True)
class Case:
    """A drafter under its name: what it is in words, how far it drafts, how often it runs.

    `parameters` are those that one drafted token streams. `repeated`: once per round, else once.
    """

    name: str
    label: str
    drafter: Drafter | None
    gamma: int
    parameters: int = 0
    repeated: bool = True


@dataclass(slots=True)
class Runs:
    """All runs so far, by case and prompt; `prompts` are token ids."""

    session: Session
    target: CachedModel
    prompts: Mapping[str, Sequence[int]]
    tokens: int
    cases: Sequence[Case]
    taken: dict[tuple[str, str], list[Run]] = field(default_factory=dict)

    def take(self) -> None:
        """Five rounds (quick: three) of the repeated cases, then each of the others once."""
        rounds = _QUICK_ROUNDS if self.session.quick else ROUNDS
        self.session.steps.leave_out(ROUNDS - rounds)
        for number in range(1, rounds + 1):
            self.session.say(f"plain and prompt lookup, round {number} of {rounds}")
            for case in self.cases:
                if case.repeated:
                    self._run(case)
        for case in self.cases:
            if not case.repeated:
                self.session.say(f"drafter: {case.label}")
                self._run(case)

    def _run(self, case: Case) -> None:
        for name, prompt in self.prompts.items():
            run = speculate(self.target, prompt, self.tokens, case.drafter, case.gamma)
            self.taken.setdefault((case.name, name), []).append(run)

    def found(self) -> Measured:
        """Series step, run.D.P and draft.D; facts runs and drafters (see `bench.speculation`)."""
        measured = Measured()
        device = self.session.device
        steps = [
            clock.median_ms(run.forwards.samples(), device)
            for prompt in self.prompts
            for run in self.taken[PLAIN, prompt]
        ]
        measured.series.append(Series("step", "ms", tuple(steps), "One token of the target"))
        step_ms = statistics.median(steps)
        for case in self.cases:
            if case.repeated:
                self._add_runs(measured, case)
            elif case.drafter:
                self._add_drafts(measured, case)
        costs = {case.name: self._c(case, step_ms) for case in self.cases if case.drafter}
        measured.facts["runs"] = [
            self._facts(case, prompt, costs.get(case.name), step_ms)
            for prompt in self.prompts
            for case in self.cases
        ]
        measured.facts["drafters"] = {
            case.name: {
                "label": case.label,
                "c": costs[case.name],
                "parameters": case.parameters,
            }
            for case in self.cases
            if case.drafter
        }
        return measured

    def _add_runs(self, measured: Measured, case: Case) -> None:
        for prompt in self.prompts:
            each = tuple(self._ms_per_token(run) for run in self.taken[case.name, prompt])
            label = f"Per token: {case.label}, {prompt}"
            measured.series.append(Series(f"run.{case.name}.{prompt}", "ms", each, label))

    def _add_drafts(self, measured: Measured, case: Case) -> None:
        per_token = tuple(float(f"{value:.5g}") for value in self._drafts_ms(case))
        label = f"Per drafted token: {case.label}"
        measured.series.append(Series(f"draft.{case.name}", "ms", per_token, label))

    def _drafts_ms(self, case: Case) -> list[float]:
        """Each full draft's time per token; of shorter ones, where no draft was full."""
        drafts = [
            (ms / count, count)
            for prompt in self.prompts
            for run in self.taken[case.name, prompt]
            for ms, count in zip(
                clock.readings_ms(run.drafts.samples(), self.session.device),
                run.drafted,
                strict=True,
            )
            if count
        ]
        longest = max((count for _, count in drafts), default=0)
        return [ms for ms, count in drafts if count == longest]

    def _c(self, case: Case, step_ms: float) -> float | None:
        """One drafted token in plain steps of the target; None where nothing was drafted."""
        drafts = self._drafts_ms(case)
        return float(f"{statistics.median(drafts) / step_ms:.4g}") if drafts else None

    def _ms_per_token(self, run: Run) -> float:
        whole = clock.readings_ms(run.whole.samples(), self.session.device)[0]
        return float(f"{whole / run.tally.tokens:.5g}")

    def _facts(self, case: Case, prompt: str, c: float | None, step_ms: float) -> dict[str, Any]:
        runs, plain = self.taken[case.name, prompt], self.taken[PLAIN, prompt]
        tally = runs[0].tally
        per_token = statistics.median(self._ms_per_token(run) for run in runs)
        plain_per_token = statistics.median(self._ms_per_token(run) for run in plain)
        whole = pool([run.whole.samples() for run in runs])
        return {
            "drafter": case.name,
            "prompt": prompt,
            "gamma": case.gamma,
            "tokens": tally.tokens,
            "target_forwards": tally.target_forwards,
            "tokens_per_forward": round(tally.tokens_per_forward, 4),
            "rounds_with_draft": tally.rounds_with_draft,
            "drafted": tally.drafted,
            "examined": tally.examined,
            "accepted": tally.accepted,
            "alpha": _rounded(tally.alpha),
            "accepted_of_drafted": _rounded(tally.accepted_of_drafted),
            "c": c,
            "ms_per_token": per_token,
            "verify_over_step": self._verify_over_step(case, prompt, step_ms),
            "speedup": round(plain_per_token / per_token, 4),
            "cpu_s": round(statistics.median(whole.cpu_s), 4),
            "wall_s": round(statistics.median(whole.wall_s), 4),
            "identical": all(run.output == plain[0].output for run in runs),
        }

    def _verify_over_step(self, case: Case, prompt: str, step_ms: float) -> float | None:
        full = [
            ms
            for run in self.taken[case.name, prompt]
            for ms, rows in zip(
                clock.readings_ms(run.forwards.samples(), self.session.device),
                run.rows,
                strict=True,
            )
            if case.gamma and rows == case.gamma + 1
        ]
        return round(statistics.median(full) / step_ms, 3) if full else None


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)
