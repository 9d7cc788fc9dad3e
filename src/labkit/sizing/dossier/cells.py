"""Table cells: a value above its range, a term with a unit that people can read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from labkit.contract.view import number
from labkit.sizing.dossier.document import Table
from labkit.sizing.terms import Term

TERM_COLUMNS = ("term", "value", "unit", "source or formula")


def two_lines(spread: str) -> str:
    """ "38 (26 to 71)" with the range below the value."""
    value, _, between = spread.partition(" (")
    return f"{value}\n{between.removesuffix(')')}" if between else value


def term_tables(terms: Sequence[Term]) -> Iterator[Table]:
    """One table for each section of the terms."""
    sections = dict.fromkeys(term.section for term in terms)
    for section in sections:
        yield Table(
            section,
            TERM_COLUMNS,
            tuple(term_cells(term) for term in terms if term.section == section),
            numeric=(1,),
        )


def term_cells(term: Term) -> tuple[str, ...]:
    """Name, value with its range below, unit, source."""
    if term.value is None:
        return (term.name, "unknown", term.unit, term.source)
    value, unit = _scaled(term.value, term.unit)
    if term.low is not None and term.high is not None:
        low, high = (_scaled(end, term.unit, like=unit)[0] for end in (term.low, term.high))
        value = f"{value}\n{low} to {high}"
    return (term.name, value, unit, term.source)


_PREFIXES = ((1e12, "T"), (1e9, "G"), (1e6, "M"))


def _scaled(value: float, unit: str, like: str = "") -> tuple[str, str]:
    """A value with a unit that people can read: GiB for bytes, TFLOP/s for FLOP/s, …"""
    if unit == "B" and (abs(value) >= 2**20 or like == "GiB"):
        return f"{value / 2**30:,.3f}", "GiB"
    if unit in {"B/s", "FLOP/s", "FLOP"}:
        for factor, prefix in _PREFIXES:
            if abs(value) >= factor:
                return number(value / factor, 4), prefix + unit
    return number(value, 4), unit
