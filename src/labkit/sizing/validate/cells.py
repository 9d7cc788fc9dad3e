"""Cells of published tables: numbers as people write them, and what was assumed to read them.

"~12", "41-49", "1,024", "200?", "ShareGPT mean 215", "<=128, mean ~69 (recall)" all have a
defensible reading, and it is recorded. What has none ("1 or 2") is `Unsupported`.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from labkit.sizing.validate.result import Unsupported

# Mean tokens of prompts and answers in the samples that serving benchmarks draw: ShareGPT as the
# rows of source S18 print it, OpenORCA as MLPerf's Llama 2 70B log prints its answers.
DATASET_MEANS = {"sharegpt": (215.0, 198.0), "openorca": (292.0, 292.0)}

_ABSENT = frozenset({"", "-", "–", "na", "n/a", "nan", "none", "null", "unknown", "?", "tbd"})
_PLAIN = r"\d[\d,_]*(?:\.\d+)?(?:[eE]\+?\d{1,2})?"
_NUMBER = re.compile(rf"(?<![\w.])({_PLAIN})\s*([kK])?(?![\w.]|/\w)", re.ASCII)
_RANGE = re.compile(rf"(?<![\w.-])({_PLAIN})\s*(?:-|–|to|\.\.)\s*({_PLAIN})(?![\w.])", re.ASCII)
_MEAN = re.compile(rf"\b(?:mean|avg|average|median|p50)\s*(?:of|is|=|:)?\s*~?\s*({_PLAIN})")
_CHOICE = re.compile(rf"({_PLAIN})\s*(?:or|/|vs\.?)\s*({_PLAIN})", re.ASCII)
_MOST = 1e9


@dataclass(frozen=True, slots=True)
class Reading:
    """A cell's number, and the assumption that it rests on ("" where it is plainly printed)."""

    value: float
    assumption: str = ""


def text_of(row: object, key: str) -> str:
    """The cell as text without outer blanks; "" where the row has none."""
    value = row.get(key) if hasattr(row, "get") else None
    return "" if value is None else str(value).strip()


def absent(text: str) -> bool:
    """Whether a cell says nothing: empty, "?", "n/a", …"""
    return text.casefold() in _ABSENT


def quantity(what: str, text: str) -> Reading | None:
    """The number that a cell states, None where it states none.

    A stated mean wins over a range, a range is read as its middle, a doubtful number ("200?",
    "~12") as it stands. Raises `Unsupported` for a cell that cannot be read as one number.
    """
    if absent(text):
        return None
    mean = _MEAN.search(text.casefold())
    if mean:
        value = _value(what, mean[1], text)
        return Reading(value, f"{what} {_shown(text)} is taken as {value:g}")
    if _CHOICE.search(text):
        raise Unsupported(f"{what} is {_shown(text)}: which of them is not stated.")
    outside = re.sub(r"\([^)]*\)", " ", text)
    limits = _RANGE.search(outside)
    if limits:
        low, high = _value(what, limits[1], text), _value(what, limits[2], text)
        middle = (low + high) / 2
        return Reading(middle, f"{what} {_shown(text)} is taken as its middle, {middle:g}")
    numbers = _NUMBER.findall(outside)
    if not numbers:
        return None
    if len(numbers) > 1:
        raise Unsupported(f"{what} is {_shown(text)}: that is more than one number.")
    if re.search(rf"-\s*{re.escape(numbers[0][0])}", outside):
        raise Unsupported(f"{what} is {_shown(text)}: it cannot be negative.")
    value = _value(what, numbers[0][0], text) * (1024.0 if numbers[0][1] else 1.0)
    plain = re.fullmatch(_PLAIN, text, re.ASCII) is not None
    return Reading(value, "" if plain else f"{what} {_shown(text)} is taken as {value:g}")


def tokens(what: str, text: str, *, answers: bool) -> Reading | None:
    """Tokens of a prompt or (`answers`) of an output; a data set's name stands for its mean."""
    found = quantity(what, text)
    if found is not None or absent(text):
        return found
    for name, means in DATASET_MEANS.items():
        if name in text.casefold():
            value = means[1 if answers else 0]
            return Reading(value, f"{what} {_shown(text)} is taken as that set's mean, {value:g}")
    raise Unsupported(f"{what} is {_shown(text)}: no number of tokens can be read from it.")


def measured(text: str) -> float | None:
    """The measured value: one number, above 0. None where there is none."""
    found = quantity("value", text)
    if found is None:
        if not absent(text):
            raise Unsupported(f"value is {_shown(text)}: that is not a number.")
        return None
    if found.value <= 0:
        raise Unsupported(f"value is {_shown(text)}: a measured value is above 0.")
    return found.value


def whole(what: str, reading: Reading) -> int:
    """The reading as a count of at least 1; `Unsupported` where it is none."""
    if reading.value < 1 or reading.value != int(reading.value):
        raise Unsupported(f"{what} is {reading.value:g}: a whole number of at least 1 is needed.")
    return int(reading.value)


def _value(what: str, digits: str, text: str) -> float:
    value = float(digits.replace(",", "").replace("_", ""))
    if not math.isfinite(value) or value > _MOST:
        raise Unsupported(f"{what} is {_shown(text)}: that is out of range.")
    return value


def _shown(text: str) -> str:
    line = " ".join(text.split())
    return repr(line if len(line) <= 40 else line[:37] + "...")
