"""Units that learners write, on a small pint registry of our own.

Information, tokens, requests, money and FLOP are dimensions, so "GB/s" for "GB" is seen as what
it is. Unit text is taken apart here by a regular expression into listed names; pint never parses
a learner's text. The registry is built on first use (14 ms; pint's default one takes 400 ms).
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

from labkit.contract.errors import LabkitError, nearest

if TYPE_CHECKING:
    from pint import UnitRegistry

_BASE = (
    "byte = [information] = B",
    "bit = byte / 8",
    "token = [token]",
    "request = [request]",
    "usd = [money]",
    "flop = [flop]",
    "second = [time] = s",
    "item = []",
)

# What people write → what the registry calls it. SI prefixes are spelled out in `_known`.
_NAMES = {
    "B": "byte", "byte": "byte", "bytes": "byte", "bit": "bit", "bits": "bit",
    "tok": "token", "token": "token", "tokens": "token",
    "req": "request", "request": "request", "requests": "request",
    "USD": "usd", "$": "usd", "usd": "usd", "dollar": "usd", "dollars": "usd",
    "FLOP": "flop", "FLOPs": "flop", "flop": "flop", "flops": "flop",
    "s": "second", "sec": "second", "second": "second", "seconds": "second",
    "x": "item", "times": "item", "user": "item", "users": "item",
    "seq": "item", "seqs": "item", "sequences": "item", "sequence": "item",
    "step": "item", "steps": "item", "block": "item", "blocks": "item",
    "fraction": "item", "weight": "item", "weights": "item", "param": "item", "params": "item",
}  # fmt: skip
_SECONDS = {"min": 60.0, "h": 3600.0, "hour": 3600.0, "hours": 3600.0, "day": 86400.0}
_SI = {"k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15}
_IEC = {"Ki": 2.0**10, "Mi": 2.0**20, "Gi": 2.0**30, "Ti": 2.0**40, "Pi": 2.0**50}
_SMALL = {"m": 1e-3, "µ": 1e-6, "u": 1e-6, "n": 1e-9}


class UnitError(LabkitError):
    """Text that is no unit we list."""


class DimensionError(LabkitError):
    """A unit of another dimension than the one asked for."""


@cache
def _registry() -> UnitRegistry[float]:
    from pint import UnitRegistry

    registry: UnitRegistry[float] = UnitRegistry(None)
    for line in _BASE:
        registry.define(line)
    return registry


@cache
def _known() -> dict[str, tuple[float, str]]:
    """Every listed unit name with its factor and base unit."""
    table: dict[str, tuple[float, str]] = {name: (1.0, base) for name, base in _NAMES.items()}
    table |= {name: (factor, "second") for name, factor in _SECONDS.items()}
    table["%"] = (0.01, "item")
    for prefix, factor in _SI.items():
        for name in ("B", "bit", "tok", "token", "tokens", "FLOP", "FLOPs", "req", "requests"):
            table[prefix + name] = (factor, _NAMES[name])
    for prefix, factor in _IEC.items():
        table[prefix + "B"] = (factor, "byte")
    for prefix, factor in _SMALL.items():
        table[prefix + "s"] = (factor, "second")
    return table


def parse(text: str) -> tuple[float, str]:
    """A unit's factor and its base expression: "GB/s" → (1e9, "byte / second").

    Raises UnitError naming the part that is no listed unit.
    """
    text = text.strip().replace("·", "*").replace("per ", "/")
    # TFLOPS is a rate; FLOPS/byte is how many people spell an intensity.
    text = re.sub(r"\b([kKMGTP]?)FLOPS\b(?=\s*/\s*[Bb])", r"\1FLOP", text)
    text = re.sub(r"\b([kKMGTP]?)FLOPS\b", r"\1FLOP/s", text)
    text = re.sub(r"\btps\b", "tok/s", text).replace("rps", "req/s")
    factor = 1.0
    parts: list[str] = []
    for i, chunk in enumerate(text.replace("(", "").replace(")", "").split("/")):
        for raw in re.split(r"[*\s]+", chunk.strip()):
            if raw in ("", "1"):
                continue
            if raw not in _known():
                near = nearest(raw, _known(), n=2)
                hint = f" Did you mean {' or '.join(near)}?" if near else ""
                raise UnitError(f"{raw[:20]!r} is not a unit that is known here.{hint}")
            scale, base = _known()[raw]
            factor = factor * scale if i == 0 else factor / scale
            parts.append(f"{'*' if i == 0 else '/'} {base}")
    return factor, " ".join(["1", *parts])


def convert(number: float, unit: str, asked: str) -> float:
    """`number` of `unit`, in the `asked` unit.

    Raises UnitError for an unknown unit, DimensionError for another dimension. Tokens,
    sequences and plain counts stand for each other: "tok/s" and "1/s" are both a rate.
    """
    factor, base = parse(unit)
    asked_factor, asked_base = parse(asked)
    registry = _registry()
    left, right = registry.parse_units(base), registry.parse_units(asked_base)
    if left.dimensionality != right.dimensionality and not _countlike(left, right):
        raise DimensionError(f"The answer is asked in {asked}; {unit} measures something else.")
    return number * factor / asked_factor


def _countlike(left: object, right: object) -> bool:
    """Equal once tokens and requests are taken as plain counts."""

    def stripped(unit: object) -> dict[str, float]:
        powers: dict[str, float] = dict(getattr(unit, "dimensionality", {}))
        return {k: v for k, v in powers.items() if k not in ("[token]", "[request]")}

    return stripped(left) == stripped(right)
