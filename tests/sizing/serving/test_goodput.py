"""Goodput: the rate at which the promises just hold."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labkit.sizing.inputs import SLO
from labkit.sizing.refusal import RefusalCode
from labkit.sizing.serving import (
    HIGHEST,
    ScaledSteps,
    breaches,
    goodput_of,
    holds,
    max_rate_under_slo,
    point_at,
    replica_of,
)
from tests.sizing.serving.cases import A10G, L40S, PLENTY, chat, mixed


def test_just_below_it_holds_and_just_above_it_does_not():
    slo = SLO(ttft_ms=800, tpot_ms=60)
    replica = replica_of(A10G, chat(), 64, PLENTY)
    found = goodput_of(replica, slo)
    assert found.limited_by == "SLO_TPOT"
    assert not breaches(found.point, slo)
    assert holds(replica, found.rate, slo)
    assert not holds(replica, found.rate + 0.01 * replica.capacity, slo)
    assert 0.3 * replica.capacity < found.rate < 0.8 * replica.capacity


@settings(max_examples=15, deadline=None)
@given(st.floats(300, 5000), st.floats(300, 5000), st.floats(40, 200))
def test_a_stricter_promise_never_allows_more(one, other, tpot):
    strict, loose = sorted((one, other))
    replica = replica_of(A10G, chat(), 64, PLENTY)
    assert (
        goodput_of(replica, SLO(strict, tpot)).rate
        <= goodput_of(replica, SLO(loose, tpot)).rate + 0.005 * replica.capacity
    )


@settings(max_examples=10, deadline=None)
@given(st.floats(0.4, 1.0))
def test_faster_steps_never_allow_less(factor):
    slo = SLO(1500, 70)
    plain = max_rate_under_slo(A10G, chat(slo=slo), 64, PLENTY).rate
    faster = max_rate_under_slo(ScaledSteps(A10G, factor, factor), chat(slo=slo), 64, PLENTY).rate
    assert faster >= plain * 0.99


def test_without_a_promise_it_is_nearly_the_capacity():
    found = max_rate_under_slo(L40S, mixed(), 128, PLENTY)
    assert found.rate == pytest.approx(HIGHEST * found.point.capacity)
    assert found.limited_by == "max_num_seqs"


@pytest.mark.parametrize(
    ("slo", "code", "metric"),
    [
        (SLO(ttft_ms=100), RefusalCode.SLO_TTFT, "TTFT"),  # one prompt alone takes 239 ms
        (SLO(tpot_ms=20), RefusalCode.SLO_TPOT, "TPOT"),  # weights alone take 31 ms
    ],
)
def test_what_fails_unloaded_never_holds(slo, code, metric):
    found = max_rate_under_slo(A10G, chat(slo=slo), 64, PLENTY)
    assert found.rate == 0.0
    assert found.limited_by == code
    (breach,) = found.breaches
    assert (breach.code, breach.metric) == (code, metric)
    assert breach.ms > breach.promised_ms


def test_both_promises_may_break_at_once():
    found = max_rate_under_slo(A10G, chat(slo=SLO(10, 10)), 64, PLENTY)
    assert [breach.code for breach in found.breaches] == ["SLO_TTFT", "SLO_TPOT"]


def test_one_queue_for_all_allows_more():
    slo = SLO(ttft_ms=1000)
    replica = replica_of(L40S, mixed(), 16, PLENTY)
    alone, pooled = goodput_of(replica, slo), goodput_of(replica, slo, pooled=10)
    assert pooled.rate > 1.05 * alone.rate


def test_the_joint_promise_is_the_stricter_reading():
    """Each at its 95th percentile is not both for 95 % of requests."""
    slo = SLO(ttft_ms=800, tpot_ms=60)
    replica = replica_of(A10G, chat(), 64, PLENTY)
    found = goodput_of(replica, slo)
    assert 0.85 < found.point.latencies.kept <= 0.96
    assert point_at(replica, 0.1 * replica.capacity, slo=slo).latencies.kept > 0.99
