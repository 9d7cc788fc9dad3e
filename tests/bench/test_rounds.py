"""Rounds spread over a measurement: what changes between them shows as spread."""

from __future__ import annotations

import time

from hypothesis import given
from hypothesis import strategies as st

from labkit.bench.progress import Progress
from labkit.bench.rounds import ROUNDS, Rounds
from labkit.bench.sampling import SPREAD_LIMIT, spread
from labkit.bench.session import Measured, Session, Steps


def session() -> Session:
    return Session("cpu", quick=True, threads=1, report=lambda _: None, retry_until=0.0)


def wait(seconds: float) -> None:
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        pass


def test_a_slow_round_counts_as_much_as_a_fast_one() -> None:
    """By time alone the slow one would have a fifth of the samples, and not show at all."""
    rounds = Rounds(session(), budget_s=0.02, min_samples=2)
    for seconds in (0.002, 0.002, 0.004):
        rounds.take(lambda seconds=seconds: wait(seconds))
    counts = {len(taken.wall_s) for taken in rounds.taken}
    assert len(counts) == 1
    assert 2 <= counts.pop() <= 20
    assert rounds.pooled().spread > SPREAD_LIMIT


@given(st.integers(4, 20), st.integers(0, ROUNDS - 1), st.floats(1.26, 3.0))
def test_one_disturbed_round_of_three_is_refused(count: int, which: int, slower: float) -> None:
    """Each round steady in itself, one of them slower: too much spread whenever it matters."""
    times = [slower if number == which else 1.0 for number in range(ROUNDS)]
    assert spread(tuple(t for t in times for _ in range(count))) > SPREAD_LIMIT


def test_steps_count_themselves() -> None:
    said: list[Progress] = []
    planned = Session("cpu", quick=True, threads=1, report=said.append, steps=Steps(9))
    planned.say("one")
    planned.steps.leave_out(7)
    planned.say("nine")
    assert said == [Progress("one", 1, 9), Progress("nine", 9, 9)]
    Session("cpu", quick=True, threads=1, report=said.append).say("unplanned")
    assert said[-1] == Progress("unplanned")


def test_two_findings_become_one_in_order() -> None:
    left, right = Measured(), Measured()
    taken = Rounds(session(), budget_s=0.0)
    taken.take(lambda: None)
    for name, measured in (("a", left), ("b", right)):
        measured.add_times(name, name, taken.pooled())
        measured.facts |= {name: 1, "attempts": {name: 2}}
        measured.notes.append(name)
    left.extend(right)
    assert [series.name for series in left.series] == list(left.cpu_share) == ["a", "b"]
    assert left.facts == {"a": 1, "b": 1, "attempts": {"a": 2, "b": 2}}
    assert left.notes == ["a", "b"]
