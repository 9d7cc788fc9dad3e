"""Reads the token lengths that a person types: `512`, `uniform:32-512`, `lognormal:mean=300,…`.

    512                                 always 512 tokens
    uniform:32-512                      every length from 32 to 512 as likely
    lognormal:mean=300,p95=900,max=2048 (or sigma=0.9 for p95; max may be left out)
    geometric:mean=128,max=1536         the whole-number exponential law
    values:128=0.7,2048=0.3             lengths with their weights

A text is split by fixed rules; nothing in it is evaluated.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable

from labkit.contract.errors import UnknownNameError
from labkit.sizing.checks import LONGEST, SizingError
from labkit.sizing.lengths.empirical import Empirical
from labkit.sizing.lengths.law import Lengths
from labkit.sizing.lengths.lognormal import LogNormal
from labkit.sizing.lengths.plain import Fixed, Geometric, Uniform

EXAMPLES = (
    "512, uniform:32-512, lognormal:mean=300,p95=900,max=2048, geometric:mean=128,max=1536 "
    "or values:128=0.7,2048=0.3"
)
_WHOLE = re.compile(r"\d{1,9}")
_NUMBER = re.compile(r"(\d{1,9}(\.\d{0,20})?|\.\d{1,20})([eE][-+]?\d{1,2})?")
_LONGEST_TEXT = 100_000


def parse_lengths(text: str) -> Lengths:
    """The distribution that `text` names. Raises `SizingError` with one sentence otherwise."""
    plain = text.strip().lower()
    if len(plain) > _LONGEST_TEXT:
        raise SizingError(f"A token length of {len(plain):,} characters is too long to be read.")
    if _WHOLE.fullmatch(plain):
        return Fixed(int(plain))
    kind, colon, rest = plain.partition(":")
    if not colon:
        raise SizingError(f"Cannot read the token length {text!r}: write {EXAMPLES}.")
    reader = _READERS.get(kind.strip())
    if reader is None:
        raise UnknownNameError("kind of token length", kind.strip(), _READERS)
    return reader(rest.strip())


def lengths_of(value: int | str | Lengths) -> Lengths:
    """A whole number as `Fixed`, a text as `parse_lengths` reads it, a distribution as it is."""
    if isinstance(value, str):
        return parse_lengths(value)
    if isinstance(value, int):
        return Fixed(value)
    return value


def _fixed(rest: str) -> Lengths:
    return Fixed(_whole("fixed", rest))


def _uniform(rest: str) -> Lengths:
    low, dash, high = rest.partition("-")
    if not dash:
        raise SizingError(f"Cannot read uniform:{rest}: write uniform:LOW-HIGH, as in 32-512.")
    return Uniform(_whole("low", low), _whole("high", high))


def _lognormal(rest: str) -> Lengths:
    given = _settings("lognormal", rest, ("mean", "p95", "sigma", "max"))
    if "mean" not in given or ("p95" in given) == ("sigma" in given):
        raise SizingError("lognormal needs mean and either p95 or sigma, as in mean=300,p95=900.")
    return LogNormal.with_mean(
        _number("mean", given["mean"]),
        p95=_whole("p95", given["p95"]) if "p95" in given else None,
        sigma=_number("sigma", given["sigma"]) if "sigma" in given else None,
        cap=_cap(given),
    )


def _geometric(rest: str) -> Lengths:
    given = _settings("geometric", rest, ("mean", "max"))
    if "mean" not in given:
        raise SizingError("geometric needs its mean, as in geometric:mean=128,max=1536.")
    return Geometric(_number("mean", given["mean"]), _cap(given))


def _values(rest: str) -> Lengths:
    weights: dict[int, float] = {}
    for part in rest.split(","):
        value, equals, weight = part.partition("=")
        tokens = _whole("a length", value)
        if tokens in weights:
            raise SizingError(f"The length {tokens} is given twice.")
        weights[tokens] = _number(f"the weight of {tokens}", weight) if equals else 1.0
    return Empirical(tuple(weights), tuple(weights.values()))


_READERS: dict[str, Callable[[str], Lengths]] = {
    "fixed": _fixed,
    "uniform": _uniform,
    "lognormal": _lognormal,
    "geometric": _geometric,
    "values": _values,
}


def _settings(kind: str, rest: str, known: tuple[str, ...]) -> dict[str, str]:
    given: dict[str, str] = {}
    for part in rest.split(","):
        name, equals, value = (piece.strip() for piece in part.partition("="))
        if name not in known:
            raise UnknownNameError(f"setting of {kind}", name, known)
        if not equals or name in given:
            raise SizingError(f"{kind} takes {name} once, with a value, as in {name}=300.")
        given[name] = value
    return given


def _cap(given: dict[str, str]) -> int:
    return _whole("max", given["max"]) if "max" in given else LONGEST


def _whole(name: str, text: str) -> int:
    plain = text.strip()
    if not _WHOLE.fullmatch(plain):
        raise SizingError(f"{name} must be a whole number of tokens, not {plain!r}.")
    return int(plain)


def _number(name: str, text: str) -> float:
    plain = text.strip()
    if not _NUMBER.fullmatch(plain) or not math.isfinite(float(plain)):
        raise SizingError(f"{name} must be a number, not {plain!r}.")
    return float(plain)
