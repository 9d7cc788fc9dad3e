"""What a score counts: errors in the quantity's own unit, shares, bands."""

from __future__ import annotations

import pytest

from labkit.sizing.validate import RowResult, score


def result(**values: object) -> RowResult:
    plain = {"id": "a", "metric": "tpot_ms", "measured": 10.0, "low": 8.0, "mid": 9.0}
    return RowResult(**{**plain, "high": 12.0, "status": "ok", **values})  # type: ignore[arg-type]


def test_errors_are_in_the_unit_of_the_quantity():
    assert result(quantity="TPOT, batch 1").error == pytest.approx(0.1)
    # 100 tokens/s is 10 ms; 125 is 8 ms: 20 % too fast, not 25 %.
    rate = result(
        metric="decode_tok_s_per_user", measured=100.0, mid=125.0, quantity="TPOT, batch 1"
    )
    assert rate.error == pytest.approx(0.2)
    total = result(metric="decode_tok_s_total", measured=100.0, mid=125.0, quantity="throughput")
    assert total.error == pytest.approx(0.25)


def test_scores_count_what_they_say():
    rows = [
        result(id="a", mid=10.0, accelerator="L4"),  # exact
        result(id="b", mid=13.0, low=11.0, high=14.0, accelerator="L4"),  # 30 % off, outside
        result(id="c", mid=8.5, low=8.0, high=9.0, accelerator="T4"),  # 15 % off, outside
        result(id="d", status="suspect", mid=99.0),
        result(id="e", status="unsupported", low=None, mid=None, high=None, reason="no GPU."),
        result(id="f", measured=None),
    ]
    summary = score(rows)
    assert (summary.rows, summary.supported, summary.suspect) == (6, 5, 1)
    assert summary.supported_share == pytest.approx(5 / 6)
    assert summary.total.rows == 3
    assert summary.total.median_error == pytest.approx(0.15)
    assert summary.total.within == pytest.approx(2 / 3)
    assert summary.total.coverage == pytest.approx(1 / 3)
    assert summary.groups["accelerator"]["L4"].rows == 2
    assert summary.groups["accelerator"]["T4"].coverage == 0.0
    assert summary.reasons == {"no GPU.": 1}
    plain = summary.as_json()
    assert plain["scored"] == 3
    assert plain["by"]["accelerator"]["T4"]["median_error"] == pytest.approx(0.15)


def test_nothing_scored_is_none_not_zero():
    summary = score([result(status="unsupported", low=None, mid=None, high=None, reason="x.")])
    assert summary.total.rows == 0
    assert summary.total.median_error is None
    assert summary.total.coverage is None
    assert score([]).supported_share == 0.0
