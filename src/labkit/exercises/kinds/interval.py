"""A confidence interval, computed from samples that are given (often the learner's own).

Right methods differ a little: another seed of a bootstrap, or Student's t beside it. Wrong ones
differ more: unpaired, one-sided, a standard deviation for a standard error. Each end is compared
in units of the right interval's width, so that a shift counts as much as a wrong width.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from labkit.contract.answer import Wire, is_blank
from labkit.contract.codes import Code
from labkit.contract.givens import Givens
from labkit.contract.outcome import Outcome
from labkit.contract.probe import Probe
from labkit.contract.view import number
from labkit.exercises.kinds.leaves import numbers
from labkit.exercises.kinds.outcomes import failed, not_attempted, passed, wrong_type
from labkit.exercises.spec import Exercise, Mistake

Interval = tuple[float, float]


@dataclass(frozen=True, slots=True)
class IntervalKind:
    """The answer is (low, high) in `unit`: a tuple, list or array of two plain numbers.

    The exercise's reference(givens) is one interval, or a tuple of intervals where several methods
    are right. An end may miss a right one by `tolerance` times that interval's width. The default
    forgives another seed of a bootstrap with 3,000 resamples or more (its ends then move by 1.3 %
    of the width, one standard error) and a third digit rounded away; a one-sided interval misses
    by 5 % at 24 samples and by more below.

    Which methods are right hangs on the number of samples. From about 20 on (windows of a text)
    hand in both `intervals.paired_t` and `intervals.paired_bootstrap`. A handful of runs allows
    `paired_t` alone: there the percentile bootstrap is as narrow as a one-sided interval, and is
    itself a known mistake (Code.NORMAL_NOT_T).

    Known mistakes are intervals too, from `kinds.intervals`; collisions are redrawn except for
    tier OWN, where the record is what it is. The statement asks for four digits. A mistake that
    several methods can make (unpaired, by Welch or by a bootstrap) has its other intervals in
    `ways`, by its code.
    """

    unit: str = ""
    tolerance: float = 0.04
    name: str = "interval"
    ways: tuple[tuple[Code, Callable[[Givens], Sequence[Interval] | None]], ...] = ()

    def stub(self, exercise: Exercise) -> str:
        """The blank: one pair."""
        return f"{exercise.answer_name} = ...  # (low, high)"

    def probe(self, exercise: Exercise, givens: Sequence[Givens]) -> Probe | None:
        """No calls: the two numbers decide."""
        return None

    def same(self, left: Any, right: Any) -> bool:
        """Whether two answers cannot be told apart."""
        return any(
            self._near(one, other) or self._near(other, one)
            for one in _several(left)
            for other in _several(right)
        )

    def _near(self, got: Interval, right: Interval) -> bool:
        room = self.tolerance * abs(right[1] - right[0])
        return all(abs(a - b) <= room for a, b in zip(got, right, strict=True))

    def _made_by(self, exercise: Exercise, givens: Givens, ends: Interval) -> Mistake | None:
        """The known mistake that ends nearest, where two of them end alike; None without one."""
        found: list[tuple[float, Mistake]] = []
        for mistake in exercise.mistakes:
            made = mistake.value(givens)
            wrongs = [] if made is None else [*_several(made)]
            for code, ways in self.ways:
                wrongs += (ways(givens) or ()) if code is mistake.code else ()
            misses = [max(abs(ends[0] - low), abs(ends[1] - high))
                      for low, high in wrongs if self._near(ends, (low, high))]  # fmt: skip
            if misses:
                found.append((min(misses), mistake))
        return min(found, key=lambda one: one[0])[1] if found else None

    def judge(
        self,
        exercise: Exercise,
        givens: Givens,
        answer: Wire,
        probe: Probe | None,
        results: Sequence[Wire] | None,
    ) -> Outcome:
        """Pass near a right interval; else the known mistake; else what is wrong with it."""
        if is_blank(answer):
            return not_attempted(exercise)
        wanted = f"a pair (low, high) in {self.unit or 'numbers'}"
        several = answer.get("kind") in ("list", "array")
        got = numbers(answer) if several else None
        if several and got is None:
            says = f"An end is no plain number: write it without a unit or quotes. Asked: {wanted}."
            return failed(exercise, Code.TYPE, says)
        if got is None:
            return wrong_type(exercise, answer, wanted)
        if len(got) != 2:
            count = f"{len(got)} number{'' if len(got) == 1 else 's'}"
            return failed(exercise, Code.TYPE, f"The answer holds {count}. Asked: {wanted}.")
        if not all(math.isfinite(x) for x in got):
            return failed(exercise, Code.NOT_FINITE, "An end is infinite or not a number (NaN).")
        ends = (got[0], got[1])
        shown = f"{number(ends[0], 4)} … {number(ends[1], 4)} {self.unit}".rstrip()
        rights = _several(exercise.reference(givens))
        if any(self._near(ends, right) for right in rights):
            return passed(exercise, shown)
        if any(self._near(ends, _middle_and_half(right)) for right in rights):
            says = "This is the middle and half of the width. Asked: both ends, middle ± half."
            return failed(exercise, Code.ENDS_SWAPPED, says, shown)
        if ends[0] > ends[1]:
            return failed(exercise, Code.ENDS_SWAPPED, "The lower end comes first.", shown)
        made = self._made_by(exercise, givens, ends)
        if made is not None:
            return failed(exercise, made.code, made.says, shown)
        code, says = _remark(ends, rights[0])
        return failed(exercise, code, says, shown)


def _several(value: Any) -> tuple[Interval, ...]:
    """One interval or several, as a tuple of them."""
    return (value,) if isinstance(value[0], (int, float)) else tuple(value)


def _middle_and_half(interval: Interval) -> Interval:
    low, high = interval
    return (low + high) / 2, (high - low) / 2


def _remark(got: Interval, right: Interval) -> tuple[Code, str]:
    """What can be said of a wrong interval: its middle first, then its width."""
    width, wanted = got[1] - got[0], right[1] - right[0]
    shift = abs(sum(got) - sum(right)) / 2
    if abs(width) <= 1e-6 * wanted:
        return Code.MAGNITUDE, (
            "Both ends are the same number: that is an estimate, no interval. Of a bootstrap: draw "
            "with replacement, or each mean is the same."
        )
    ratio = width / wanted
    if shift > 0.5 * wanted and ratio < 3:
        if abs(sum(got) + sum(right)) / 2 < 0.1 * wanted:
            return Code.SIGN, "The sign is wrong: subtract the other way round."
        return Code.MAGNITUDE, "Its middle is not the mean that is asked. Look at that one first."
    if ratio >= 3:
        return Code.MAGNITUDE, f"It is {ratio:.2g} times too wide. Asked: the interval of a mean."
    if shift > 0.1 * wanted or 0.92 <= ratio <= 1.08:
        return Code.CLOSE, "Its middle is a little off the mean that is asked."
    side = "wide" if ratio > 1 else "narrow"
    return Code.MAGNITUDE, (
        f"Its middle is right, but it is {max(ratio, 1 / ratio):.2g} times too {side}."
    )
