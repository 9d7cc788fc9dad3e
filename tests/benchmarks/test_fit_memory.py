"""The shipped overhead parameters are those that the script finds, and hold on unseen sources."""

from __future__ import annotations

import pytest

from benchmarks.fit_memory import GRIDS, Log, fit, leave_one_out, read_logs, score, spread
from labkit.sizing.overhead import vllm_overhead
from labkit.sizing.overhead_fitted import FITTED, SOURCE


def test_the_shipped_parameters_are_what_the_script_finds():
    logs = read_logs()
    found = fit(logs)
    assert {name: FITTED[name] for name, *_ in GRIDS} == found
    sources = len({log.source for log in logs})
    assert f"{len(logs)} vLLM logs of {sources} sources" in SOURCE


def test_no_parameter_sits_on_the_edge_of_its_grid():
    for name, least, most, _ in GRIDS:
        assert least < FITTED[name] < most, name


def test_a_few_odd_rows_do_not_move_the_fit():
    """Ten logs of one person on a shared card, 3 GiB short each: the parameters stay near."""
    logs = read_logs()
    first = logs[0]
    odd = [Log(f"odd{i}", "one person", first.row, first.pool - 3 * 2**30) for i in range(10)]
    moved = fit([*logs, *odd])
    assert moved["sort_copies"] == pytest.approx(FITTED["sort_copies"], rel=0.05)
    assert moved["step_bytes"] == pytest.approx(FITTED["step_bytes"], rel=0.1)


@pytest.mark.heavy
def test_sources_that_the_fit_has_not_seen():
    """Each source predicted from the others: the figure that the report states."""
    held = leave_one_out(read_logs())
    below, above = spread(held)
    assert FITTED["below"] == pytest.approx(below, abs=0.01)
    assert FITTED["above"] == pytest.approx(above, abs=0.01)
    tails = {"below": FITTED["below"], "above": FITTED["above"]}
    result = score([(log, vllm_overhead(log.row.case, others | tails)) for log, others in held])
    assert result.median_error <= 0.02
    assert result.within_20 >= 0.95
    assert 0.80 <= result.inside <= 0.95
    assert result.half_width <= 0.10
