"""Attention's back ends, allocations and profile: on known steps, on fakes, and as recorded."""

from __future__ import annotations

import re
import sys
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit.bench.jobs.attention import asked
from labkit.bench.process import run_job
from labkit.bench.records import recording
from labkit.bench.sampling import Samples
from labkit.bench.sdpa.allocated import cuda_peak, peak_bytes
from labkit.bench.sdpa.backends import Shape
from labkit.bench.sdpa.compare import TOLERANCES, per_call, several
from labkit.bench.sdpa.profiling import TOP, Row, digest
from labkit.bench.sdpa.summary import summary
from labkit.bench.sdpa.trace import peak_of
from labkit.cli.main import main
from labkit.contract import Record

JOBS = "tests.bench.attention_jobs"


def memory_event(time: float, size: int, kind: int = 0) -> dict[str, Any]:
    return {"name": "[memory]", "ts": time, "args": {"Bytes": size, "Device Type": kind}}


@given(st.lists(st.tuples(st.integers(1, 1000), st.booleans()), max_size=20), st.randoms())
def test_a_peak_is_the_most_held_at_once(steps: list[tuple[int, bool]], order: Any) -> None:
    """Each step allocates; where told, it frees again before the next. Order comes from times."""
    events, held, peak = [], 0, 0
    for number, (size, freed) in enumerate(steps):
        events.append(memory_event(2 * number, size))
        held += size
        peak = max(peak, held)
        if freed:
            events.append(memory_event(2 * number + 1, -size))
            held -= size
    events += [memory_event(5.0, 10**9, kind=1), {"name": "aten::mm", "ts": 1.0}]
    order.shuffle(events)
    assert peak_of(events) == peak


@pytest.mark.usefixtures("worker_path")
def test_known_allocations_are_counted_to_the_byte() -> None:
    found = run_job(f"{JOBS}:known_allocations", timeout_s=120)
    assert found["two_of_three"] == 2_000_000
    assert found["result"] == 4_000_000
    assert found["nothing"] == 0


def test_a_gpu_is_asked_for_its_own_peak() -> None:
    """On a fake: what was allocated before is left out, and the old peak is forgotten."""
    log: list[str] = []
    cuda = SimpleNamespace(
        synchronize=lambda: log.append("wait"),
        memory_allocated=lambda: 700,
        reset_peak_memory_stats=lambda: log.append("reset"),
        max_memory_allocated=lambda: 1_900 if log[-1] == "wait" else 0,
    )
    assert cuda_peak(lambda: log.append("step"), cuda) == 1_200
    assert log == ["wait", "reset", "step", "wait"]


def test_where_nobody_counts_there_is_no_number() -> None:
    assert peak_bytes(lambda: pytest.fail("not even run"), "mps") is None


@pytest.mark.usefixtures("worker_path")
def test_a_back_end_is_there_when_its_own_operator_ran() -> None:
    found = run_job(f"{JOBS}:presence", timeout_s=120)
    assert found["math"][0] == "aten::_scaled_dot_product_attention_math"
    assert found["flash"][0] == "aten::_scaled_dot_product_flash_attention_for_cpu"
    for absent in ("efficient", "cudnn", "unheard"):
        operator, why = found[absent]
        assert operator is None
        assert f"has no {absent} back end for float32 on CPU." in why
    operator, why = found["imposter"]
    assert operator is None
    assert "torch ran aten::_scaled_dot_product_attention_math" in why


@pytest.mark.usefixtures("worker_path")
def test_a_small_comparison() -> None:
    found = run_job(f"{JOBS}:small_compare", timeout_s=120)
    sdpa = found["facts"]["sdpa"]
    assert sdpa["score_bytes"] == [2 * n * n * 4 for n in (64, 128)]
    assert sdpa["qkv_bytes"] == [4 * 2 * n * 16 * 4 for n in (64, 128)]
    obeys_theory(sdpa)
    assert set(found["series"]) == {f"sdpa.{b}.n{n}" for b in ("math", "flash") for n in (64, 128)}
    assert all(len(samples) == 12 for samples in found["series"].values())


@pytest.mark.usefixtures("worker_path")
def test_the_heap_is_grown_by_the_longest_before_the_first_sample() -> None:
    met = [tuple(one) for one in run_job(f"{JOBS}:order_of_lengths", timeout_s=120)["met"]]
    assert met[:4] == [("math", 128)] * 2 + [("flash", 128)] * 2
    assert met[4] == ("math", 64)  # the samples begin with the shortest


@pytest.mark.usefixtures("worker_path")
def test_a_back_end_that_computes_something_else_is_caught() -> None:
    found = run_job(f"{JOBS}:small_compare", {"wrong": True}, timeout_s=120)
    backends = found["facts"]["sdpa"]["backends"]
    assert backends["flash"]["agrees"] is False
    assert max(backends["flash"]["max_difference"]) > 1e-4
    assert backends["math"]["agrees"] is True


def obeys_theory(sdpa: Any) -> None:
    """Math keeps the scores of all heads, flash never does; both give the same numbers."""
    math, flash = sdpa["backends"]["math"], sdpa["backends"]["flash"]
    assert math["available"] is flash["available"] is True
    for peak, scores in zip(math["peak_bytes"], sdpa["score_bytes"], strict=True):
        assert scores < peak < 4 * scores
    for peak, shared in zip(flash["peak_bytes"], sdpa["qkv_bytes"], strict=True):
        assert shared / 4 <= peak < 2 * shared  # at least its output
    assert math["max_difference"] == [0.0] * len(sdpa["lengths"])
    assert flash["agrees"] is True
    assert 0 <= max(flash["max_difference"]) < sdpa["tolerance"]


def memory_grows(sdpa: Any) -> None:
    """Doubling n: four times the memory of math, twice that of flash."""
    assert all(later == 2 * first for first, later in pairwise(sdpa["lengths"]))
    for first, later in pairwise(sdpa["backends"]["math"]["peak_bytes"]):
        assert later / first == pytest.approx(4, rel=0.05)
    for first, later in pairwise(sdpa["backends"]["flash"]["peak_bytes"]):
        assert later / first == pytest.approx(2, rel=0.2)


def test_shapes_in_bytes() -> None:
    assert Shape().score_bytes(4096) == 9 * 4096**2 * 4
    assert Shape(dtype="float16").qkv_bytes(10) == 4 * 9 * 10 * 64 * 2


@pytest.mark.parametrize("device", ["cuda", "mps"])
def test_a_gpu_is_asked_for_more_in_half_precision(device: str) -> None:
    shape, lengths = asked(device, quick=False)
    assert shape.dtype in TOLERANCES
    assert shape.element_bytes == 2
    assert max(lengths) == 2 * max(asked("cpu", quick=False)[1])
    # The scores, their softmax and the mask of the longest still fit a 16 GB card.
    assert 4 * shape.score_bytes(max(lengths)) < 8e9


def test_many_calls_are_timed_as_one() -> None:
    log: list[int] = []
    several(lambda: log.append(1), 20)()
    assert len(log) == 20
    timed = per_call(Samples((2.0, 4.0), (1.0, 1.0), 2), 20)
    assert timed == Samples((0.1, 0.2), (0.05, 0.05), 2)


ROWS = [
    Row("aten::mm", 4, 6000.0, False),
    Row("aten::mul", 2, 1000.0, False),
    Row("aten::view", 30, 500.0, False),
    Row("aten::linear", 4, 500.0, False),
    Row("gemm_kernel", 4, 3000.0, True),
]


@pytest.mark.parametrize(
    ("device", "kernel_ms", "host_share"),
    [("cpu", 7.0, 0.3), ("cuda", 3.0, 0.7), ("mps", None, None)],
)
def test_the_hosts_share(device: str, kernel_ms: float | None, host_share: float | None) -> None:
    """On a CPU what hands on is the host's; on CUDA everything but its own kernels."""
    rows = [row for row in ROWS if device == "cuda" or not row.on_gpu]
    found = digest(rows, 10.0, device)
    assert found.kernel_ms == kernel_ms
    assert found.host_share == host_share
    assert (found.calls, found.kinds) == (40, 4)
    assert [operator.name for operator in found.operators[:2]] == ["aten::mm", "aten::mul"]
    assert found.operators[0].share == 0.75
    assert [operator.computes for operator in found.operators] == [True, True, False, False]
    assert [kernel.name for kernel in found.gpu_kernels] == ["gemm_kernel"] * (device == "cuda")


def test_no_host_has_less_than_nothing() -> None:
    assert digest(ROWS, 5.0, "cpu").host_share == 0.0
    assert len(digest(ROWS * 9, 5.0, "cpu").operators) == TOP


@pytest.mark.usefixtures("worker_path")
def test_a_call_that_computes_and_one_that_waits() -> None:
    found = run_job(f"{JOBS}:profile_toys", timeout_s=120)
    busy, idle = found["busy"], found["idle"]
    assert busy["operators"][0]["name"] == "aten::mm"
    assert busy["operators"][0]["calls"] == 8
    assert busy["operators"][0]["share"] > 0.8
    assert busy["host_share"] < 0.5 < idle["host_share"]
    assert idle["profiled_ms"] > 200


@pytest.mark.usefixtures("worker_path")
def test_a_decode_step_of_a_small_model() -> None:
    """Seven products a layer and the head, and each step finds the same context."""
    found = run_job(f"{JOBS}:tiny_profile", timeout_s=120)
    profile = found["facts"]["profile"]
    calls = {operator["name"]: operator["calls"] for operator in profile["operators"]}
    assert calls["aten::mm"] == 4 * 7 + 1
    assert profile["context_tokens"] == 16
    assert profile["host_share"] > 0.5  # so small a model is all Python
    assert profile["gpu_kernels"] == []
    assert len(found["series"]["profile.step"]) == 12


@pytest.fixture
def shipped() -> Record:
    return recording("attention")


def test_the_recording_obeys_theory(shipped: Record) -> None:
    sdpa = shipped.facts["sdpa"]
    assert sdpa["lengths"] == [512, 1024, 2048, 4096]
    assert sdpa["score_bytes"] == [9 * n * n * 4 for n in sdpa["lengths"]]
    obeys_theory(sdpa)
    memory_grows(sdpa)


def test_flash_is_faster_the_longer_the_text(shipped: Record) -> None:
    for length in shipped.facts["sdpa"]["lengths"]:
        assert shipped.median(f"sdpa.math.n{length}") > 1.5 * shipped.median(
            f"sdpa.flash.n{length}"
        )


def test_the_recorded_profile(shipped: Record) -> None:
    profile = shipped.facts["profile"]
    names = [operator["name"] for operator in profile["operators"]]
    assert names[0] == "aten::mm"
    assert profile["operators"][0]["calls"] == 30 * 7 + 1
    assert 0.02 < profile["host_share"] < 0.6
    assert profile["calls"] > 1_000
    assert profile["kernel_ms"] < profile["profiled_ms"]
    assert profile["step_ms"] == pytest.approx(shipped.median("profile.step"), rel=1e-4)  # 5 digits


def test_operators_and_the_host_add_up_to_the_step(shipped: Record) -> None:
    profile = shipped.facts["profile"]
    shares = [float(share) for share in re.findall(r"([\d.]+) % +yes", summary(shipped))]
    assert len(shares) == sum(o["computes"] for o in profile["operators"])
    first = profile["operators"][0]["self_ms"] / profile["profiled_ms"]
    assert shares[0] == pytest.approx(100 * first, abs=0.06)
    assert sum(shares) + 100 * profile["host_share"] <= 100.5


def test_the_summary_fits_a_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("LABKIT_RECORDS", "LABKIT_REPLAY", "LABKIT_RUNNER"):
        monkeypatch.delenv(name, raising=False)
    assert main(["bench", "attention", "--replay"]) == 0
    text = capsys.readouterr().out
    assert max(len(line) for line in text.splitlines()) <= 80
    assert "REPLAYED, not your machine" in text
    assert "flash: equal to math" in text
    assert "efficient: torch" in text


@pytest.mark.skipif(sys.platform != "linux", reason="the heap of Linux's C library")
@pytest.mark.usefixtures("worker_path")
def test_freed_memory_is_kept_once_told() -> None:
    found = run_job(f"{JOBS}:memory_kept", timeout_s=120)
    assert found["told"] is True
    assert found["given_back"] < 50_000_000
    assert found["kept"] > 250_000_000
