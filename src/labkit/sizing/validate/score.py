"""How far off the predictions of many rows are: medians, shares, and what the bands hold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from labkit.sizing.validate.result import RowResult

NEAR = 0.2


@dataclass(frozen=True, slots=True)
class Score:
    """Over the scored rows of one group; the figures are None where there is none.

    median_error: of the absolute relative errors; within: the share within `NEAR`; coverage: the
    share whose measured value lies in the band; half_width: the median of (high - low) / 2 mid.
    """

    rows: int
    median_error: float | None
    within: float | None
    coverage: float | None
    half_width: float | None

    def as_json(self) -> dict[str, Any]:
        """The figures under the names that `labkit validate --json` prints."""
        return {
            "rows": self.rows,
            "median_error": self.median_error,
            "share_within_20_percent": self.within,
            "band_coverage": self.coverage,
            "median_half_width": self.half_width,
        }


@dataclass(frozen=True, slots=True)
class Summary:
    """All rows of a table: how many are supported, and the scores by group.

    `reasons`: why rows are unsupported, most frequent first.
    """

    rows: int
    supported: int
    suspect: int
    total: Score
    groups: dict[str, dict[str, Score]]
    reasons: dict[str, int]

    @property
    def supported_share(self) -> float:
        """Share of the rows that are predicted, suspect ones included."""
        return self.supported / self.rows if self.rows else 0.0

    def as_json(self) -> dict[str, Any]:
        """Plain values; groups by their name."""
        return {
            "rows": self.rows,
            "supported": self.supported,
            "supported_share": self.supported_share,
            "suspect": self.suspect,
            "scored": self.total.rows,
            **{key: value for key, value in self.total.as_json().items() if key != "rows"},
            "by": {
                name: {value: one.as_json() for value, one in scores.items()}
                for name, scores in self.groups.items()
            },
            "unsupported_reasons": self.reasons,
        }


GROUPS: dict[str, Callable[[RowResult], str]] = {
    "quantity": lambda r: r.quantity or r.metric,
    "metric": lambda r: r.metric,
    "accelerator": lambda r: r.accelerator,
    "engine": lambda r: r.engine,
    "weights": lambda r: r.weights,
    "sequences": lambda r: r.sequences,
    "tensor_parallel": lambda r: str(r.devices) if r.devices else "",
}
"""What rows are grouped by; a row whose value is "" stands in no group."""


def score(results: Iterable[RowResult]) -> Summary:
    """The summary of `validate`'s results."""
    rows = list(results)
    scored = [row for row in rows if row.error is not None]
    groups = {name: _grouped(scored, key) for name, key in GROUPS.items()}
    reasons = Counter(row.reason for row in rows if row.status == "unsupported")
    return Summary(
        rows=len(rows),
        supported=sum(row.status != "unsupported" for row in rows),
        suspect=sum(row.status == "suspect" for row in rows),
        total=score_of(scored),
        groups={name: scores for name, scores in groups.items() if scores},
        reasons=dict(reasons.most_common()),
    )


def score_of(rows: Sequence[RowResult]) -> Score:
    """The score of these rows; rows that are not scored are left out."""
    errors = [row.error for row in rows if row.error is not None]
    covered = [row.covered for row in rows if row.covered is not None]
    widths = [row.half_width for row in rows if row.error is not None and row.half_width]
    return Score(
        rows=len(errors),
        median_error=median(errors) if errors else None,
        within=sum(error <= NEAR for error in errors) / len(errors) if errors else None,
        coverage=sum(covered) / len(covered) if covered else None,
        half_width=median(widths) if widths else None,
    )


def _grouped(rows: Sequence[RowResult], key: Callable[[RowResult], str]) -> dict[str, Score]:
    values = dict.fromkeys(key(row) for row in rows)
    return {
        value: score_of([row for row in rows if key(row) == value]) for value in values if value
    }
