"""One number with a unit: converted, compared, and, when wrong, told which mistake makes it."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from labkit.contract.answer import Wire, is_blank
from labkit.contract.codes import Code
from labkit.contract.givens import Givens
from labkit.contract.outcome import Outcome
from labkit.contract.probe import Probe
from labkit.contract.quantity import Q, split_text
from labkit.contract.view import number
from labkit.exercises.kinds.outcomes import failed, not_attempted, passed, wrong_type
from labkit.exercises.spec import Exercise
from labkit.exercises.units import DimensionError, UnitError, convert

_PLAIN = ("", "x", "%")  # units of factors and shares


class Tolerance(Enum):
    """Allowed relative distance from the reference, by where the number comes from."""

    EXACT = 0.0  # counts and bytes
    COUNTED = 0.004  # a formula on exact counts, where one percent would blur two answers
    FORMULA = 0.01  # a formula on given numbers
    SPEC = 0.02  # a formula on rounded datasheet numbers


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number in `unit`. A bare number is read in that unit; a written unit is converted.

    `whole`: a count of things that fit, so that the right number with decimals is told to be
    rounded down.
    """

    unit: str
    tolerance: Tolerance = Tolerance.FORMULA
    whole: bool = False
    name: str = "quantity"

    def stub(self, exercise: Exercise) -> str:
        """`ridge = ...  # FLOP/B`."""
        return f"{exercise.answer_name} = ..." + (f"  # {self.unit}" if self.unit else "")

    def probe(self, exercise: Exercise, givens: Sequence[Givens]) -> Probe | None:
        """No calls: the number alone decides."""
        return None

    @property
    def _digits(self) -> int:
        """How many digits of an answer are shown: more where each of them decides."""
        return 10 if self.tolerance is Tolerance.EXACT else 5

    def same(self, left: Any, right: Any) -> bool:
        """Whether two answers in the asked unit are too close to be told apart."""
        a, b = self._plain(left), self._plain(right)
        return math.isclose(a, b, rel_tol=max(2 * self.tolerance.value, 1e-9), abs_tol=1e-12)

    def _plain(self, value: Any) -> float:
        return (
            convert(value.number, value.unit, self.unit) if isinstance(value, Q) else float(value)
        )

    def _right(self, value: float, reference: float) -> bool:
        if self.tolerance is Tolerance.EXACT:
            return value == reference
        return math.isclose(value, reference, rel_tol=self.tolerance.value)

    def _rounded(self, value: float, reference: float) -> bool:
        """Whether it is the reference, rounded to a whole number or to fewer decimals than asked.

        Up or down by less than one step. Small numbers are only looked at where every decimal was
        asked: 3 and 4 for 3.6 are more likely other mistakes.
        """
        if reference % 1 == 0:
            return False
        exact = self.tolerance is Tolerance.EXACT
        places = (*(range(1, 7) if exact else ()), *((0,) if abs(reference) >= 10 else ()))
        return any(
            math.isclose(value, round(value, n), rel_tol=1e-12)
            and abs(value - reference) < 10.0**-n
            for n in places
        )

    def judge(
        self,
        exercise: Exercise,
        givens: Givens,
        answer: Wire,
        probe: Probe | None,
        results: Sequence[Wire] | None,
    ) -> Outcome:
        """Pass within tolerance; else the known mistake; else the most useful remark."""
        if is_blank(answer):
            return not_attempted(exercise)
        read = self._read(exercise, answer)
        if isinstance(read, Outcome):
            return read
        value, shown = read
        reference = self._plain(exercise.reference(givens))
        if self._right(value, reference):
            return passed(exercise, shown)
        if self.whole and value % 1 and math.floor(value) == reference:
            says = "The formula is right. Round down: a thing fits whole or not at all."
            return failed(exercise, Code.NOT_WHOLE, says, shown)
        for mistake in exercise.mistakes:
            made = mistake.value(givens)
            if made is None:
                continue
            wrong = self._plain(made)
            if math.isclose(value, wrong, rel_tol=max(self.tolerance.value, 1e-9)):
                return failed(exercise, mistake.code, mistake.says, shown)
        if self._rounded(value, reference):
            says = "Near, but it looks rounded. Hand in the number with its decimals."
            return failed(exercise, Code.ROUNDED, says, shown)
        code, says = remark(value, reference, self.unit)
        return failed(exercise, code, says, shown)

    def _read(self, exercise: Exercise, answer: Wire) -> tuple[float, str] | Outcome:
        """The number in the asked unit and how it was understood, or why it cannot be read."""
        wanted = f"one number in {self.unit}" if self.unit else "one number"
        kind = answer.get("kind")
        if kind == "not-finite":
            return failed(
                exercise, Code.NOT_FINITE, "The answer is infinite or not a number (NaN)."
            )
        if kind == "text":
            split = split_text(str(answer.get("text", "")))
            if split is None:
                text = str(answer.get("text", ""))[:60]
                return failed(exercise, Code.NOT_A_NUMBER, _unreadable(text, self.unit), text)
            raw, unit = split.number, split.unit
        elif kind == "quantity" and isinstance(answer.get("number"), (int, float)):
            raw, unit = float(answer["number"]), str(answer.get("unit") or "")
        else:
            return wrong_type(exercise, answer, wanted)
        if not math.isfinite(raw):
            return failed(exercise, Code.NOT_FINITE, "The answer is infinite or not a number.")
        if not unit:
            return raw, f"{number(raw, self._digits)} {self.unit}".rstrip()
        try:
            value = convert(raw, unit, self.unit)
        except UnitError as error:
            return failed(exercise, Code.UNIT_UNKNOWN, str(error), f"{number(raw, 5)} {unit}")
        except DimensionError as error:
            return failed(exercise, Code.DIMENSION, str(error), f"{number(raw, 5)} {unit}")
        shown = f"{number(raw, self._digits)} {unit}"
        if unit != self.unit:
            shown += f" = {number(value, self._digits)} {self.unit}"
        return value, shown


def _unreadable(text: str, unit: str) -> str:
    """What to say of a text that is not one number and a unit."""
    if re.search(r"\d\s*(\*|/|\+|-|e\d+\s*[/*])\s*[\d(]", text):
        return "This is a calculation as text. Remove the quotes, so that Python calculates it."
    return f"This text is not one number and a unit. Write it like '12.5 {unit}'."


def remark(value: float, reference: float, unit: str) -> tuple[Code, str]:
    """What can be said about a wrong number that no known mistake explains.

    Says how far off it is in words, never the right number.
    """
    if value == 0:
        return Code.MAGNITUDE, "The answer is zero. Something in the formula cancelled out."
    if (value < 0) != (reference < 0):
        return Code.SIGN, "The sign is wrong: this quantity cannot be negative."
    ratio = value / reference
    for scale in (1.0, 100.0, 1e3, 1e4, 1e-3):
        if math.isclose(scale / value, reference, rel_tol=0.02):
            return Code.INVERTED, (
                "This is the reciprocal of what is asked: divide the other way round."
            )
    for power in (3, 6, 9, 12):
        if any(math.isclose(r, 10.0**power, rel_tol=0.03) for r in (ratio, 1 / ratio)):
            side = "large" if ratio > 1 else "small"
            return Code.PREFIX, (
                f"The digits are right, but the answer is 10^{power} times too {side}: "
                f"check kilo, mega, giga and the asked unit, {unit}."
            )
    # A factor or a share has no bytes in it that could have been miscounted by one side alone.
    for binary in () if unit in _PLAIN else (2**30 / 1e9, 2**20 / 1e6, 1024 / 1000):
        if any(math.isclose(r, binary, rel_tol=0.002) for r in (ratio, 1 / ratio)):
            return Code.GB_AS_GIB, (
                "The answer is off by the ratio of binary to decimal units: "
                "GB is 1e9 bytes, GiB is 2^30."
            )
    side = "above" if ratio > 1 else "below"
    if 0.97 <= ratio <= 1.03:
        return Code.CLOSE, (
            f"Close, but {side} the right value by {abs(ratio - 1):.1%}. "
            "The formula may be right: check each number that you put in."
        )
    if 2 / 3 <= ratio <= 1.5:
        return Code.MAGNITUDE, (
            f"The answer is {side} the right value by {abs(ratio - 1):.0%}. "
            + (
                "Something small is counted that should not be, or the reverse."
                if 0.9 <= ratio <= 1.1
                else "A part of the formula is missing, or one is there that should not be."
            )
        )
    times = ratio if ratio > 1 else 1 / ratio
    side = "large" if ratio > 1 else "small"
    size = f"{times:.1f}" if times < 10 else f"{times:,.0f}" if times < 1e4 else f"{times:.0e}"
    return Code.MAGNITUDE, f"The answer is about {size} times too {side}."
