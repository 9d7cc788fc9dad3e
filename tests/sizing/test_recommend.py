"""Recommendations: nothing is left out, what is ranked holds, and every loser has its number."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from itertools import pairwise

import pytest

from labkit.catalog import Catalog
from labkit.contract.errors import UnknownNameError
from labkit.sizing import SLO, RefusalCode, SizingError, Workload, estimate
from labkit.sizing.fleet import plan_fleet
from labkit.sizing.recommend import lanes_for, recommend
from labkit.sizing.refusal_codes import BLOCKING
from tests.sizing.sizing_specs import ALL_INSTANCES, LLAMA_2_13B, LLAMA_3_8B, MIXTRAL

CATALOG = Catalog.load()
CHAT = Workload(512, 256, 20.0, SLO(ttft_ms=500, tpot_ms=50))


def recommended(model="llama-3-8b", workload=CHAT, **more):
    return recommend(CATALOG.model(model), workload, catalog=CATALOG, **more)


@pytest.fixture(scope="module")
def chat():
    return recommended()


def test_every_set_up_is_ranked_or_refused_once(chat):
    lanes = lanes_for(chat.model, CATALOG.instances(), None, None, None, None)
    wanted = {
        (lane.instance.name, lane.config.weights, lane.tensor_parallel_size) for lane in lanes
    }
    setups = [d.setup for d in chat.deployments] + [loser.setup for loser in chat.losers]
    found = Counter((s.instance, s.weights, s.tensor_parallel_size) for s in setups)
    assert set(found) == wanted
    assert set(found.values()) == {1}
    assert chat.considered == len(lanes)
    assert {s.instance for s in setups} == {i.name for i in CATALOG.instances()}


def test_what_is_ranked_fits_and_holds_with_its_batch_full(chat):
    slo = chat.workload.slo
    for d in chat.deployments[::7]:
        full = estimate(chat.model, d.instance, d.setup.config(d.batch), chat.workload)
        assert full.fits, d.setup
        assert not full.refusals
        assert d.max_sequences == full.max_sequences
        assert d.output_tokens_per_s.mid == pytest.approx(full.output_tokens_per_s.mid, rel=1e-9)
        assert d.output_tokens_per_s.low == pytest.approx(full.output_tokens_per_s.low, rel=1e-9)
        assert served(full) <= slo.tpot_ms * (1 + 1e-9)
        assert full.ttft_ms.mid <= d.ttft_ms.mid <= slo.ttft_ms
        assert d.in_flight <= d.busy <= d.batch


def served(e) -> float:
    """TPOT with the prefills of the others in between, by the statement of `options`."""
    others, more = e.running_sequences - 1, e.workload.output_tokens - 1
    return e.tpot_ms.mid + others * e.ttft_ms.mid / more


def test_the_batch_is_the_largest_that_holds(chat):
    stopped = Counter()
    for d in chat.deployments[::2]:
        more = estimate(chat.model, d.instance, d.setup.config(d.batch + 1), chat.workload)
        limit = 1024 if d.instance.name.startswith(("p5", "p6", "g7e")) else 256
        if not more.fits:
            stopped["KV_CACHE"] += 1
        elif served(more) > chat.workload.slo.tpot_ms:
            stopped["SLO_TPOT"] += 1
        elif more.ttft_ms.mid + more.tpot_ms.mid > chat.workload.slo.ttft_ms:
            stopped["SLO_TTFT"] += 1
        else:
            stopped["limit"] += 1
            assert d.batch == limit
    assert stopped["SLO_TPOT"]
    assert stopped["SLO_TTFT"] + stopped["limit"]


def test_without_a_promise_the_cache_or_the_engine_limits_the_batch():
    found = recommended(workload=Workload(3000, 1000, 2.0), formats=["bf16", "int4"])
    full = [d for d in found.deployments if d.batch == d.max_sequences]
    limited = [d for d in found.deployments if d.batch < d.max_sequences]
    assert full
    assert {d.batch for d in limited} <= {256, 1024}
    few = recommended(workload=Workload(3000, 1000, 2.0), formats=["int4"], max_batch=5)
    assert {d.batch for d in few.deployments} <= {1, 2, 3, 4, 5}
    assert max(d.batch for d in few.deployments) == 5


def test_the_ranking_is_by_the_cost_of_the_fleet(chat):
    ranked = chat.deployments
    assert [d.rank for d in ranked] == list(range(1, len(ranked) + 1))
    costs = [(d.fleet.usd_per_hour.mid, d.e2e_ms.mid) for d in ranked]
    assert costs == sorted(costs)
    assert chat.best is ranked[0]
    assert chat.per_instance()[0] is chat.best
    names = [d.setup.instance for d in chat.per_instance()]
    assert len(names) == len(set(names))
    for d in ranked:
        fleet = d.fleet
        assert fleet.usd_per_hour.mid == pytest.approx(fleet.instances * d.price.usd_per_hour)
        assert fleet.usd_per_hour.low <= fleet.usd_per_hour.mid <= fleet.usd_per_hour.high
        assert fleet.replicas == fleet.instances * d.setup.replicas_per_instance
        assert fleet.usd_per_million_output_tokens.mid == pytest.approx(
            fleet.usd_per_hour.mid / (20.0 * 256 * 3600) * 1e6
        )
        assert fleet.usd_per_month.mid == pytest.approx(fleet.usd_per_hour.mid * 730)
        assert fleet.utilisation <= fleet.most_utilisation * (1 + 1e-9)


def test_head_room_and_one_instance_that_may_be_lost(chat):
    for d in chat.deployments[::11]:
        good = d.fleet.most_utilisation / 0.7 * d.fleet.capacity / d.fleet.instances
        assert d.fleet.instances == max(
            math.ceil(20 / (0.7 * good) - 1e-6), math.ceil(20 / good - 1e-6) + 1
        )
    bare = recommended(headroom=0.0, n_plus=0)
    assert bare.best.fleet.usd_per_hour.mid < chat.best.fleet.usd_per_hour.mid
    assert bare.best.fleet.spares == 0


@pytest.mark.parametrize("latency", ["e2e", "tpot", "ttft"])
def test_nothing_on_the_front_is_beaten(latency):
    found = recommended(latency=latency)

    def both(d):
        slow = {"e2e": d.e2e_ms, "tpot": d.served_tpot_ms, "ttft": d.ttft_ms}[latency]
        return d.fleet.usd_per_hour.mid, slow.mid

    front = [both(d) for d in found.front]
    assert front == sorted(front)
    assert [slow for _, slow in front] == sorted((slow for _, slow in front), reverse=True)
    assert front[0][0] == found.best.fleet.usd_per_hour.mid
    for cost, slow in map(both, found.deployments):
        assert any(c <= cost and s <= slow * (1 + 1e-9) for c, s in front)
    for (cost, slow), (dearer, faster) in pairwise(front):
        assert dearer > cost
        assert faster < slow


def test_a_loser_has_the_codes_of_its_estimate_with_one_request(chat):
    for loser in chat.losers[::6]:
        instance = CATALOG.instance(loser.setup.instance)
        alone = estimate(chat.model, instance, loser.setup.config(1), chat.workload)
        codes = {miss.code for miss in loser.misses}
        wanted = {refusal.code for refusal in alone.refusals}
        if alone.ttft_ms is None and not wanted & BLOCKING:
            wanted.add(RefusalCode.ENGINE_UNSUPPORTED)
        assert codes == wanted, loser.setup
        assert loser.code in codes
        assert loser.batch == 1
        assert all(miss.detail.endswith(".") for miss in loser.misses)


def test_the_number_behind_a_refusal(chat):
    measured = {
        RefusalCode.WEIGHTS, RefusalCode.KV_CACHE, RefusalCode.HOST_RAM,
        RefusalCode.SLO_TTFT, RefusalCode.SLO_TPOT,
    }  # fmt: skip
    seen = set()
    for loser in chat.losers:
        for miss in loser.misses:
            seen.add(miss.code)
            assert miss.over >= 1.0
            if miss.code in measured:
                assert miss.value >= miss.limit > 0
                assert miss.over == pytest.approx(miss.value / miss.limit)
                assert miss.unit
            elif miss.value is None:
                assert miss.over == math.inf
    assert measured <= seen | {RefusalCode.HOST_RAM}
    assert {RefusalCode.DTYPE_UNSUPPORTED, RefusalCode.UNKNOWN_PRICE} <= seen
    assert RefusalCode.HEADS_NOT_DIVISIBLE in seen


def test_a_loser_that_is_known(chat):
    by_setup = {(x.setup.instance, x.setup.weights, x.setup.tensor_parallel_size): x
                for x in chat.losers}  # fmt: skip
    t4 = by_setup["g4dn.xlarge", "bf16", 1]
    assert "T4 does not run bf16 weights" in t4.misses[0].detail
    unpriced = by_setup["p5e.48xlarge", "bf16", 8]
    assert [miss.code for miss in unpriced.misses] == ["UNKNOWN_PRICE"]
    fraction = by_setup["g6f.4xlarge", "int4", 1]
    assert fraction.code == "ENGINE_UNSUPPORTED"
    assert "No source gives the bandwidth" in fraction.miss.detail


def test_the_nearest_miss_of_every_instance_without_a_deployment(chat):
    placed = {d.setup.instance for d in chat.deployments}
    names = [loser.setup.instance for loser in chat.nearest]
    assert sorted(names) == sorted({i.name for i in CATALOG.instances()} - placed)
    for loser in chat.nearest[::9]:
        others = [x for x in chat.losers if x.setup.instance == loser.setup.instance]
        assert loser.distance == min(x.distance for x in others)


def test_what_runs_and_is_too_slow_is_nearer_than_what_does_not_run(chat):
    """The first answer to "what almost did it?" is never a set-up that cannot start."""
    runs = [not any(miss.code in BLOCKING for miss in loser.misses) for loser in chat.nearest]
    assert {True, False} == set(runs)
    assert runs == sorted(runs, reverse=True)
    over = [loser.miss.over for loser, running in zip(chat.nearest, runs, strict=True) if running]
    assert over == sorted(over)


def test_without_a_rate_one_instance_is_priced_at_full_load():
    found = recommended(workload=Workload(512, 256, slo=SLO(tpot_ms=50)))
    costs = [d.fleet.usd_per_million_output_tokens.mid for d in found.deployments]
    assert costs == sorted(costs)
    for d in found.deployments[::13]:
        assert (d.fleet.instances, d.fleet.rate, d.fleet.utilisation) == (1, None, 1.0)
        assert d.busy == d.in_flight == d.batch
        made = d.output_tokens_per_s.mid * d.setup.replicas_per_instance
        assert d.fleet.usd_per_million_output_tokens.mid == pytest.approx(
            d.price.usd_per_hour / made / 3600 * 1e6
        )


def test_a_higher_rate_never_costs_less():
    costs = []
    for rate in (0.1, 1.0, 10.0, 100.0, 1000.0):
        found = recommended(workload=replace(CHAT, requests_per_second=rate), formats=["fp8"])
        costs.append({d.setup: d.fleet.usd_per_hour.mid for d in found.deployments})
    for few, many in pairwise(costs):
        assert few.keys() == many.keys()
        assert all(few[setup] <= many[setup] for setup in few)
    assert sum(costs[-1].values()) > 20 * sum(costs[0].values())


def test_cost_is_linear_in_the_price():
    dearer = [
        replace(i, prices=tuple(replace(p, usd_per_hour=4 * p.usd_per_hour) for p in i.prices))
        for i in CATALOG.instances()
    ]
    once, dear = (
        recommend(CATALOG.model("mistral-7b"), CHAT, instances=these)
        for these in (CATALOG.instances(), dearer)
    )
    assert [d.setup for d in once.deployments] == [d.setup for d in dear.deployments]
    for one, four in zip(once.deployments, dear.deployments, strict=True):
        for band in ("usd_per_hour", "usd_per_million_output_tokens", "usd_per_request"):
            a, b = getattr(one.fleet, band), getattr(four.fleet, band)
            assert (b.low, b.mid, b.high) == pytest.approx((4 * a.low, 4 * a.mid, 4 * a.high))


def test_a_stricter_promise_never_costs_less_and_never_makes_winners():
    loose = recommended(workload=replace(CHAT, slo=SLO(2000, 100)))
    strict = recommended(workload=replace(CHAT, slo=SLO(300, 20)))
    cost = {d.setup: d.fleet.usd_per_hour.mid for d in loose.deployments}
    assert len(strict.deployments) < len(cost)
    for d in strict.deployments:
        assert d.fleet.usd_per_hour.mid >= cost[d.setup]


def test_sagemaker_prices_and_types_that_it_does_not_host():
    found = recommended(sagemaker=True)
    assert found.price_kind == "sagemaker"
    assert found.best is not None
    assert all(d.price.kind == "sagemaker" for d in found.deployments)
    assert all(d.instance.sagemaker_hosting for d in found.deployments)
    codes = Counter(miss.code for loser in found.losers for miss in loser.misses)
    assert codes["NOT_OFFERED"]
    assert codes["UNKNOWN_PRICE"]
    assert found.best.price.usd_per_hour > found.best.instance.price().usd_per_hour


def test_a_region_or_kind_without_prices_leaves_only_losers():
    found = recommended(region="eu-central-1")
    assert found.deployments == ()
    assert found.best is None
    assert found.front == ()
    unpriced = [x for x in found.losers if any(m.code == "UNKNOWN_PRICE" for m in x.misses)]
    assert len(unpriced) == len(found.losers)


def test_a_model_too_large_for_any_instance_is_refused_by_weights():
    huge = CATALOG.model("deepseek-v3")
    small = [i for i in CATALOG.instances() if i.family in {"g5", "g6"}]
    found = recommend(huge, CHAT, instances=small)
    assert not found.deployments
    assert {loser.code for loser in found.losers} <= {
        "WEIGHTS", "HOST_RAM", "DTYPE_UNSUPPORTED", "HEADS_NOT_DIVISIBLE", "ENGINE_UNSUPPORTED",
    }  # fmt: skip
    assert {loser.setup.instance for loser in found.nearest} == {i.name for i in small}


def test_hand_made_specs_and_engines_by_name():
    for model in (LLAMA_3_8B, LLAMA_2_13B, MIXTRAL):
        found = recommend(model, CHAT, instances=ALL_INSTANCES, engines=["vllm", "sglang"])
        assert {d.setup.engine for d in found.deployments} == {"vllm", "sglang"}
        refused = [x for x in found.losers if x.setup.instance.startswith(("inf2", "c7i"))]
        assert all(x.code == "ENGINE_UNSUPPORTED" for x in refused)
    eager = recommend(LLAMA_3_8B, CHAT, instances=ALL_INSTANCES, engines=["transformers"])
    assert not eager.deployments
    assert any("batches statically" in m.detail for x in eager.losers for m in x.misses)


def test_the_closed_form_agrees_with_the_queue_and_errs_on_the_safe_side(chat):
    for d in (chat.per_instance()[0], chat.per_instance()[5], chat.per_instance()[12]):
        config = replace(d.setup.config(1), max_num_seqs=d.batch)
        plan = plan_fleet(chat.model, d.instance, config, chat.workload, ends=False)
        assert plan.holds
        assert plan.instances - 1 <= d.fleet.instances <= math.ceil(1.5 * plan.instances)
        assert d.served_tpot_ms.mid == pytest.approx(plan.point.tpot.promised * 1e3, rel=0.25)
        assert d.e2e_ms.mid == pytest.approx(plan.point.e2e.promised * 1e3, rel=0.25)


def test_the_best_planned_again(chat):
    small = [CATALOG.instance(name) for name in ("g6e.xlarge", "g6.xlarge", "g5.xlarge")]
    found = recommend(chat.model, CHAT, instances=small, formats=["fp8", "int8"], checked=2)
    methods = Counter(d.fleet.method for d in found.deployments)
    assert methods["queueing"] == 2
    assert methods["closed form"]
    costs = [d.fleet.usd_per_hour.mid for d in found.deployments]
    assert costs == sorted(costs)
    assert [d.rank for d in found.deployments] == list(range(1, len(costs) + 1))
    for d in found.deployments:
        assert d.fleet.utilisation <= d.fleet.most_utilisation * (1 + 1e-9)
    assert found.considered == 6


def test_the_output_of_a_single_token_has_no_tpot():
    found = recommended(workload=Workload(2000, 1, 5.0, SLO(1000, 1e-3)), formats=["fp8"])
    assert found.best is not None
    assert all(d.e2e_ms.mid == pytest.approx(d.ttft_ms.mid) for d in found.deployments)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"headroom": 1.0}, "headroom must be at least 0 and below 1, not 1.0."),
        ({"n_plus": -1}, "n_plus must be a whole number of at least 0, not -1."),
        ({"max_batch": 0}, "max_batch must be a whole number of at least 1, not 0."),
        ({"instances": ()}, "recommend needs at least one instance type to choose from."),
        ({"instances": None}, "recommend needs a catalog or instances, one of the two."),
        (
            {"checked": 1, "workload": Workload(1, 1)},
            "checked needs requests_per_second; this workload names none.",
        ),
    ],
)
def test_inputs_that_make_no_sense_are_named(more, message):
    given = {"workload": CHAT, "instances": ALL_INSTANCES} | more
    workload = given.pop("workload")
    with pytest.raises(SizingError) as error:
        recommend(LLAMA_3_8B, workload, **given)
    assert str(error.value) == message


@pytest.mark.parametrize(
    "more", [{"latency": "p95"}, {"price_kind": "reserved"}, {"formats": ["int5"]},
             {"engines": ["vlm"]}, {"kv": "f16"}, {"loader": "lazy"}],
)  # fmt: skip
def test_unknown_names_come_with_the_nearest(more):
    with pytest.raises(UnknownNameError, match=str(next(iter(more.values()))[0])[:2]):
        recommend(LLAMA_3_8B, CHAT, instances=ALL_INSTANCES, **more)
