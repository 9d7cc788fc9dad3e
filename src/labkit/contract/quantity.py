"""A number with a unit, as a learner writes it. Converting units is not done here.

Text is split by a regular expression into one number and the rest; it is never parsed as an
expression, because `9**9**9**9 B` must cost nothing.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import NoReturn

from labkit.contract.errors import LabkitError

_NUMBER = re.compile(
    r"^\s*([+-]?(?:\d{1,3}(?:[,_ \u2009\u202f]\d{3})+|\d+)?(?:\.\d+)?(?:[eE][+-]?\d{1,4})?"
    r"(?![eE]?[+-]?\d))"  # "70e12/600" must not be read as 70 of a unit "e12/600"
    r"\s*((?:1/)?[A-Za-zµ%$][A-Za-z0-9µ%$/·^() -]{0,39})?\s*$"
)


@dataclass(frozen=True, slots=True)
class Q:
    """A quantity: ``Q(13.48, "GB")``. The unit is text; the checker converts it."""

    number: float
    unit: str = ""

    def __post_init__(self) -> None:
        if isinstance(self.number, bool) or not isinstance(self.number, (int, float)):
            try:
                object.__setattr__(self, "number", float(self.number))
            except (TypeError, ValueError) as error:
                raise TypeError(
                    f"Q takes a number and a unit, for example Q(13.48, 'GB'); got {self.number!r}."
                ) from error
        if not isinstance(self.unit, str):
            raise TypeError(f"Q's unit is text, for example 'GB'; got {self.unit!r}.")

    def __str__(self) -> str:
        return f"{self.number:g} {self.unit}".rstrip()

    def _label_only(self, *_other: object) -> NoReturn:
        raise LabkitError(
            "Q labels a finished answer and does not calculate: "
            "work with plain numbers, then hand in Q(number, unit)."
        )

    __add__ = __radd__ = __sub__ = __rsub__ = _label_only
    __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _label_only
    __pow__ = __neg__ = __float__ = _label_only


def split_text(text: str) -> Q | None:
    """Split "12.55 GiB" into ``Q(12.55, "GiB")``; None where it is not a number and a unit.

    >>> split_text("12.55 GiB")
    Q(number=12.55, unit='GiB')
    >>> split_text("22,888 MiB")
    Q(number=22888.0, unit='MiB')
    >>> split_text("9**9**9**9 B") is None
    True
    """
    if len(text) > 80:
        return None
    match = _NUMBER.match(text)
    if match is None or not match.group(1) or match.group(1) in "+-":
        return None
    try:
        number = float(re.sub(r"[,_ \u2009\u202f]", "", match.group(1)))
    except ValueError:
        return None
    if not math.isfinite(number):
        return None
    return Q(number, (match.group(2) or "").strip())
