"""Where public tools contradict one another: the arithmetic, and what it leaves standing.

Their predictions for 512 prompt and 256 output tokens, TPOT in ms at one sequence and at 32, as
printed by the tools on 2026-11-30. `aiconfigurator` sums kernels measured on the card itself, so a
served step can only be slower than that.
"""

from __future__ import annotations

import pytest

from labkit.catalog import Catalog
from labkit.sizing import SLO, EngineConfig, Workload, estimate
from labkit.sizing.fleet import plan_fleet

CHAT = Workload(512, 256)
CATALOG = Catalog.load()
CARDS = {"A10G": "g5.xlarge", "L4": "g6.xlarge", "L40S": "g6e.xlarge"}
# Published decode runs on GDDR cards reach 73 to 87 % of the bandwidth.
LEAST, MOST = 0.73, 0.87

ONE_SEQUENCE = {
    ("L40S", "aiconfigurator"): 22.0,
    ("L40S", "llm-analysis"): 19.6,
    ("L40S", "LLM-Viewer"): 17.8,
    ("L40S", "GenZ"): 20.4,
    ("L40S", "servcalc"): 31.2,
    ("L40S", "ridgepoint"): 30.7,
    ("L40S", "vllm-wizard"): 1000 / 112,
    ("L4", "llm-analysis"): 56.4,
    ("L4", "servcalc"): 86.0,
    ("A10G", "llm-analysis"): 28.2,
}


def answer(model, instance, batch=1, devices=1):
    config = EngineConfig("fp16", "fp16", batch, devices)
    return estimate(CATALOG.model(model), CATALOG.instance(instance), config, CHAT)


def floor_ms(card, batch=1):
    """Bytes of a decode step of Llama-3-8B by hand, over the card's bandwidth.

    Weights: 6.98 G in the layers and 0.525 G in the head, 2 bytes each; the input embedding is
    looked up, not streamed. Cache: 32 layers x 2 x 8 heads x 128 x 2 bytes x 640 tokens each.
    """
    params = CATALOG.model("llama-3-8b").params
    weights = 2 * (params.linear + params.head)
    assert weights == pytest.approx(15.0e9, rel=0.002)
    cache = batch * 640 * 32 * 2 * 8 * 128 * 2
    return (weights + cache) / CATALOG.accelerator(card).bandwidth_bytes_per_s * 1e3


@pytest.mark.parametrize(("card", "floor"), [("A10G", 25.2), ("L4", 50.3), ("L40S", 17.5)])
def test_the_bytes_alone_take_this_long(card, floor):
    assert floor_ms(card) == pytest.approx(floor, abs=0.1)


@pytest.mark.parametrize("card", CARDS)
def test_the_engine_is_where_the_published_runs_are(card):
    share = floor_ms(card) / answer("llama-3-8b", CARDS[card]).tpot_ms.mid
    assert LEAST <= share <= MOST


def test_what_the_arithmetic_leaves_of_the_tools():
    shares = {claim: floor_ms(claim[0]) / ms for claim, ms in ONE_SEQUENCE.items()}
    impossible = {claim for claim, share in shares.items() if share > 1.0}
    unseen = {claim for claim, share in shares.items() if MOST + 0.03 < share <= 1.0}
    slow = {claim for claim, share in shares.items() if share < LEAST}
    assert impossible == {("L40S", "vllm-wizard")}  # 112 tokens/s; the bandwidth allows 57
    assert unseen == {("L40S", "LLM-Viewer")}  # 98 % of the bandwidth
    assert slow == {("L40S", "servcalc"), ("L40S", "ridgepoint"), ("L4", "servcalc")}


def test_a_served_step_is_not_faster_than_its_kernels_can_be():
    band = answer("llama-3-8b", CARDS["L40S"]).tpot_ms
    assert band.low < ONE_SEQUENCE["L40S", "aiconfigurator"] < band.high
    assert band.mid == pytest.approx(22.0, rel=0.10)


def test_32_sequences_read_the_weights_once():
    """32 x 84 MB of cache are 2.7 GB more: 3.1 ms on an L40S at full bandwidth, not 32 steps."""
    more = floor_ms("L40S", 32) - floor_ms("L40S", 1)
    assert more == pytest.approx(31 * 640 * 131_072 / 864e9 * 1e3, rel=1e-6)
    one, many = (answer("llama-3-8b", CARDS["L40S"], batch).tpot_ms.mid for batch in (1, 32))
    assert more < many - one < 5 * more
    assert many == pytest.approx(31.1, rel=0.25)  # aiconfigurator's kernels


def test_the_l4_has_half_the_a10gs_bandwidth_and_no_more_arithmetic_than_its_power():
    """300 against 600 GB/s; 121 against 70 TFLOP/s on paper, but 72 W: about 48 of them."""
    found = {card: answer("llama-3-8b", name) for card, name in CARDS.items()}
    assert found["L40S"].tpot_ms.mid < found["A10G"].tpot_ms.mid < found["L4"].tpot_ms.mid
    assert found["L40S"].ttft_ms.mid < found["A10G"].ttft_ms.mid
    # Within what either band allows, the two wait equally long for a first token.
    assert found["L4"].ttft_ms.mid == pytest.approx(found["A10G"].ttft_ms.mid, rel=0.25)
    assert found["L4"].ttft_ms.kind == "prior"


# Llama-2-13B in fp16 on cards of one PCIe host, as the L40S' operator tables sum up.
SIZES = (1, 2, 4, 8)
TTFT_PCIE = {1: 66.0, 2: 61.0, 4: 188.0, 8: 422.0}
TPOT_PCIE = {1: 38.5, 2: 21.5, 4: 12.1, 8: 7.8}
TTFT_NVLINK = {1: 60.0, 2: 38.0, 4: 26.0, 8: 17.5}


def sizes(instance, batch=1):
    return {n: answer("llama-2-13b", instance, batch, n) for n in SIZES}


def test_on_pcie_ttft_rises_again_beyond_two_cards():
    """512 tokens x 5,120 x 2 bytes = 5.2 MB, twice in each of 40 layers.

    A ring moves 2(n - 1)/n of it: 5.2, 7.9 and 9.2 MB at 2, 4 and 8 cards, at about 15, 3.7 and
    1.8 GB/s, since all share the host bridge: 28, 170 and 408 ms. What the cards save together is
    at most the 74 ms of one.
    """
    found = {n: e.ttft_ms.mid for n, e in sizes("g6e.48xlarge").items()}
    assert found[2] < found[1] < found[4] < found[8]
    for n in SIZES:
        assert found[n] == pytest.approx(TTFT_PCIE[n], rel=0.20)
    for n, gb_per_s in ((2, 15.0), (4, 3.7), (8, 1.8)):
        by_hand = 80 * 2 * (n - 1) / n * 512 * 5120 * 2 / (gb_per_s * 1e9)
        said = answer("llama-2-13b", "g6e.48xlarge", 1, n).prefill.communication
        assert said == pytest.approx(by_hand, rel=0.15)


def test_on_pcie_tpot_falls_all_the_same_for_one_sequence():
    """One token's message is 10 kB: only latency counts, 80 x about 30 us."""
    found = {n: e.tpot_ms.mid for n, e in sizes("g6e.48xlarge").items()}
    assert found[1] > found[2] > found[4] > found[8]
    for n in SIZES:
        assert found[n] == pytest.approx(TPOT_PCIE[n], rel=0.35)


def test_on_pcie_32_sequences_are_faster_on_four_cards_than_on_eight():
    found = {n: e.tpot_ms.mid for n, e in sizes("g6e.48xlarge", batch=32).items()}
    assert found[4] < found[2] < found[1]
    assert found[8] > found[4]


def test_on_nvlink_both_fall_with_every_card():
    found = sizes("p4d.24xlarge")
    for small, large in ((1, 2), (2, 4), (4, 8)):
        assert found[large].ttft_ms.mid < found[small].ttft_ms.mid
        assert found[large].tpot_ms.mid < found[small].tpot_ms.mid
    for n in SIZES:
        assert found[n].ttft_ms.mid == pytest.approx(TTFT_NVLINK[n], rel=0.25)


def test_the_mistake_of_a_constant_factor_is_seen():
    """The rule "n cards are 0.8 n times as fast" gives 12 ms to the first token on eight."""
    one = answer("llama-2-13b", "g6e.48xlarge").ttft_ms.mid
    eight = answer("llama-2-13b", "g6e.48xlarge", 1, 8).ttft_ms
    assert one / (8 * 0.8) < eight.low / 10


def fleet(devices, slo):
    return plan_fleet(
        CATALOG.model("llama-2-13b"),
        CATALOG.instance("g6e.48xlarge"),
        EngineConfig("fp16", "fp16", tensor_parallel_size=devices),
        Workload(512, 256, 20.0, slo),
        ends=False,
    )


def test_a_fleet_of_eight_way_replicas_cannot_promise_what_two_way_ones_do():
    slo = SLO(ttft_ms=300, tpot_ms=60)
    pair, all_eight = fleet(2, slo), fleet(8, slo)
    assert pair.holds
    assert pair.point.ttft.p95 < 0.3
    (refusal,) = all_eight.refusals
    assert refusal.code == "SLO_TTFT"
    assert "More replicas do not help" in refusal.detail


def test_the_same_cards_serve_more_in_pairs():
    slo = SLO(ttft_ms=2000, tpot_ms=80)
    found = {n: fleet(n, slo) for n in (2, 4, 8)}
    each = {n: plan.goodput.rate * plan.replicas_per_instance for n, plan in found.items()}
    assert each[2] > 1.5 * each[4] > 2 * each[8]
