"""Predictions: read before they are noted, said back, and shown against what was found.

A prediction that was misread counts against the learner later, so what is not clearly a number in
the asked unit (or one of the options) is refused at once.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from labkit.contract import LabkitError
from labkit.contract.answer import Wire
from labkit.contract.view import number
from labkit.course.calibration import HIT_RATIO, Calibration, quantity_of
from labkit.course.cards import Card, Table
from labkit.course.judging import wire_of
from labkit.course.state import CONFIDENCES, NEW, Standing
from labkit.exercises import Exercise
from labkit.exercises.kinds import Choice
from labkit.exercises.units import convert


def read(exercise: Exercise, value: Any) -> Wire:
    """The prediction in wire form. Raises LabkitError with one sentence where it is none."""
    wire = wire_of(value)
    if wire.get("kind") not in ("quantity", "text"):
        raise LabkitError(f"A prediction is a number or a text, not {_what(wire, value)}.")
    kind = exercise.kind
    if isinstance(kind, Choice):
        keys = [option.key for option in kind.options]
        if str(wire.get("text", "")).strip().casefold() not in {key.casefold() for key in keys}:
            listed = ", ".join(f'"{key}"' for key in keys)
            raise LabkitError(f"A prediction for {exercise.id} is one of {listed}, not {value!r}.")
        return wire
    said, asked = quantity_of(wire), unit_of(exercise)
    if said is None:
        shown = str(wire.get("text", ""))[:40]
        raise LabkitError(
            f"{shown!r} is not one number with a unit: "
            f'write it like 60, or "{f"60 {asked}".rstrip()}".'
        )
    # An unknown unit, or one of something else, raises its own sentence.
    if said[1] and asked and not math.isfinite(convert(*said, asked)):
        raise LabkitError(f"A prediction of {value} is beyond any number in {asked}.")
    return wire


def unit_of(exercise: Exercise) -> str:
    """The unit that bare numbers of this exercise are read in; empty where it has none."""
    return str(getattr(exercise.kind, "unit", ""))


def shown(exercise: Exercise, wire: Wire) -> str:
    """A prediction as it was understood: in the asked unit, or the option."""
    said, asked = quantity_of(wire), unit_of(exercise)
    if said is None or isinstance(exercise.kind, Choice):
        return str(wire.get("text", ""))[:60]
    value, unit = said
    if unit and asked and unit != asked:
        value = convert(value, unit, asked)
    return f"{number(value)} {asked or unit}".rstrip()


def fraction(exercise: Exercise, wire: Wire) -> float | None:
    """A bare number between 0 and 1 where percent are asked: most likely 0.6 for 60 %."""
    said = quantity_of(wire)
    if said is None or said[1] or unit_of(exercise) != "%" or not 0 < said[0] < 1:
        return None
    return said[0]


def percent(confidence: Any) -> int:
    """A confidence in whole percent. Raises LabkitError with the range and a likely fix."""
    low, high = CONFIDENCES[0], CONFIDENCES[-1]
    is_number = isinstance(confidence, (int, float)) and not isinstance(confidence, bool)
    if is_number and low <= confidence <= high:
        return int(round(confidence, 0))
    likely = ""
    if is_number and low <= 100 * confidence <= high:
        likely = f" Did you mean {round(100 * confidence)}?"
    raise LabkitError(
        f"Confidence is a percentage from {low} (a wild guess) to {high} (certain), "
        f"not {confidence!r}.{likely}"
    )


def unpredicted(exercise: Exercise) -> Card:
    """A prediction cell that is still blank."""
    low, high = CONFIDENCES[0], CONFIDENCES[-1]
    guess, example = "your guess", "12.5"
    if isinstance(exercise.kind, Choice):
        listed = ", ".join(f'"{option.key}"' for option in exercise.kind.options)
        guess, example = f"one of {listed}", '"…"'
    line = (
        f"Put {guess} and how sure you are ({low} to {high} percent) in place of the dots: "
        f'`lab.predict("{exercise.id}", {example}, confidence=70)`.'
    )
    head = f"○ No prediction yet · {exercise.id} {exercise.title}"
    return Card(head, (line,), tail="ungraded", state="not-attempted")


def doubted(exercise: Exercise, value: float) -> Card:
    """Instead of noting a fraction where percent are asked."""
    lines = (
        f"Did you mean {number(100 * value)} %? Run the cell again with {number(100 * value)}.",
        f'If it is to be {number(value)} %, write it with its unit: "{number(value)} %".',
    )
    head = f"○ Not noted · {exercise.id} {exercise.title}"
    return Card(head, lines, tail="ungraded", state="not-attempted")


def noted(exercise: Exercise, wire: Wire, confidence: int, late: bool) -> Card:
    """What was predicted, and what will count as a hit."""
    within = "" if _is_choice(exercise) else f" to be within a factor of {HIT_RATIO:g}"
    lines = [f"You say {shown(exercise, wire)}, and are {confidence} % sure{within}."]
    if late:
        lines.append(
            "This exercise is already answered, so this does not count for your calibration."
        )
    head = f"Prediction noted · {exercise.id} {exercise.title}"
    return Card(head, tuple(lines), tail="ungraded")


def verdict(exercise: Exercise, detail: Mapping[str, Any]) -> str:
    """What a check that decides a prediction says about it."""
    found = f"You predicted {detail['predicted']} and found {detail['found']}"
    if _is_choice(exercise):
        return f"{found}." if detail["hit"] else f"{found} instead."
    return f"{found}: {'' if detail['hit'] else 'not '}within a factor of {HIT_RATIO:g}."


def line(exercise: Exercise, standing: Standing) -> str:
    """A prediction against what was found, in one sentence; empty where none was made."""
    made = standing.prediction
    if made is None:
        return ""
    within = "" if _is_choice(exercise) else f", within a factor of {HIT_RATIO:g}"
    said = (
        f"{exercise.id}: you said {shown(exercise, made.answer)}, {made.confidence} % sure{within}"
    )
    if made.hit is not None:
        return f"{said}; found {made.found}: {'yes' if made.hit else 'no'}."
    if standing.passed:
        return f"{said}; your answer cannot be compared with it."
    return f"{said}; not found yet."


def report(
    exercises: Mapping[str, Exercise], standings: Mapping[str, Standing], found: Calibration
) -> Iterator[Card | Table]:
    """This lab's predictions against what was found; calibration over all labs, once it speaks.

    Nothing where none was made in an ungraded lab: the preflight asks for none.
    """
    lines = [said for e in exercises.values() if (said := line(e, standings.get(e.id, NEW)))]
    if not lines and not any(e.points for e in exercises.values()):
        return
    if not lines:
        lines = ["You made none in this lab. They count before the first answer."]
    if found.missing:
        lines.append(found.verdict)
    yield Card("Your predictions", tuple(lines), tail="ungraded")
    if not found.missing:
        yield Table(BAND_COLUMNS, band_rows(found), BAND_CAPTION, (found.verdict,))


BAND_CAPTION = "How sure you were, and how often the prediction held (all labs)"
BAND_COLUMNS = ("You said", "Predictions", "Held", "Share")


def band_rows(found: Calibration) -> tuple[tuple[str, ...], ...]:
    """The calibration's bands as text, in the order of `BAND_COLUMNS`."""
    return tuple(
        (f"{b.low} to {b.high} %", str(b.predictions), str(b.hits), f"{b.rate:.0f} %")
        for b in found.bands
    )


def _is_choice(exercise: Exercise) -> bool:
    return isinstance(exercise.kind, Choice)


def _what(wire: Wire, value: Any) -> str:
    return str(wire["text"]) if wire.get("kind") == "not-finite" else type(value).__name__
