"""Each measurement once, live, at its smallest honest size.

A busy test machine may make the result too noisy to keep; the refused record still has to obey
what noise cannot break.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from labkit import bench
from labkit.bench import front
from labkit.bench.arrival import ArrivalWriter, State
from labkit.bench.jobs.bandwidth import MIB, buffer_bytes
from labkit.bench.jobs.big_decode import FILL, Shape
from labkit.bench.jobs.matmul import BATCHES
from labkit.bench.process import run_job
from labkit.bench.registry import BENCHES
from labkit.bench.rounds import ROUNDS
from labkit.bench.sweep import sweep_points
from labkit.contract import LabkitError, Record

pytestmark = pytest.mark.quiet

JOBS = "tests.bench.worker_jobs"


@pytest.fixture(autouse=True)
def here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    for name in ("LABKIT_RECORDS", "LABKIT_REPLAY", "LABKIT_RUNNER"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / ".labkit").mkdir()
    monkeypatch.setenv("LABKIT_WORKSPACE", str(tmp_path))
    return tmp_path


def live(name: str, steps_told: list[int]) -> Record:
    """Measure it, and see that its steps count to the end of the plan."""
    try:
        record = bench.measure(name, quick=True, device="cpu")
        assert bench.last(name) == record
    except bench.NoisyMeasurement as noisy:
        record = noisy.record
    assert steps_told == list(range(1, BENCHES[name].steps + 1))
    return record


def test_machine(steps_told: list[int]) -> None:
    record = live("machine", steps_told)
    assert record.live
    assert record.origin().startswith("measured live on ")
    assert record.facts["quick"] is True
    assert record.facts["threads"] == 1
    assert record.facts["buffer_bytes"] >= 4 * record.facts["llc_bytes"]
    assert [p.batch for p in sweep_points(record, "fp32")] == list(BATCHES)
    assert record.median("bandwidth.read") > 0.5
    assert record.median("gemm.fp32") > 1
    assert all(len(series.samples) >= 3 for series in record.series)
    # One thread: however busy the machine, it cannot have used more than one core.
    assert all(share < 1.1 for share in record.facts["cpu_share"].values())
    rounds = record.facts["bandwidth_rounds"]
    assert rounds == ROUNDS
    assert len(record["bandwidth.read"].samples) % rounds == 0
    if sys.platform == "linux":
        assert 0.0 <= record.facts["huge_pages"] <= 1.0
        assert record.facts["address_space_limit_bytes"] == 6 * 2**30


def test_decode(steps_told: list[int]) -> None:
    record = live("decode", steps_told)
    assert record.facts["parameters"] == 134_515_008
    assert record.facts["streamed_bytes_per_token"] == 538_060_032
    assert record.facts["weights"] in {"hub-bf16", "q4_1-fp32-1"}
    assert len(record["decode.step"].samples) == record.facts["output_tokens"] == 24
    assert record.median("decode.products") < 1.5 * record.median("decode.step")
    assert record.median("decode.read") < record.median("decode.step")


def test_big_decode_says_where_it_applies() -> None:
    with pytest.raises(LabkitError, match=r"does not apply to this machine's CPU.*CUDA or MPS"):
        bench.measure("big_decode", device="cpu")


def test_a_device_that_is_not_there_is_named() -> None:
    with pytest.raises(LabkitError, match=r"Unknown device 'cdua': did you mean cuda or cpu\?"):
        bench.measure("machine", device="cdua")


def test_the_notebook_never_loads_torch() -> None:
    code = (
        "import sys\n"
        "from labkit import bench\n"
        "from labkit.bench.process import run_job\n"
        "assert run_job('torch')['threads'] == 1\n"
        "bench.machine(replay=True)\n"
        "heavy = {'torch', 'transformers', 'numpy', 'pandas', 'matplotlib'} & set(sys.modules)\n"
        "print(sorted(heavy))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True
    )
    assert done.stdout == "[]\n"


@pytest.mark.usefixtures("worker_path")
@pytest.mark.parametrize("tied", [True, False])
def test_streamed_bytes_follow_the_head(tied: bool) -> None:
    """Untied, the embedding is resident and not streamed; tied, the head streams it."""
    found = run_job(f"{JOBS}:tiny_decode", {"tied": tied}, timeout_s=120)
    facts = found["facts"]
    table = 256 * 64 * 4
    layer = 2 * 64 * 64 + 2 * 64 * 32 + 3 * 64 * 128 + 2 * 64
    body = 4 * (2 * layer + 64)
    assert facts["resident_bytes"] == body + table * (1 if tied else 2)
    assert facts["streamed_bytes_per_token"] == body + table
    assert facts["kv_bytes_per_token"] == 2 * 2 * 2 * 16 * 4
    assert facts["mean_context_tokens"] == 8 + 4 + 5.5
    assert len(found["series"]["decode.step"]) == 12
    assert len(found["series"]["decode.read"]) % ROUNDS == 0


@pytest.mark.usefixtures("worker_path")
@pytest.mark.parametrize("tied", [True, False])
def test_one_block_of_weights_is_the_same_model(tied: bool) -> None:
    """Moved into one block the model says the same, and a tied head stays one tensor."""
    found = run_job(f"{JOBS}:move_into_one_block", {"tied": tied}, timeout_s=120)
    assert found["difference"] == 0.0
    assert found["tied"] is tied
    assert found["span"] == found["resident_bytes"]


@pytest.mark.usefixtures("worker_path")
def test_the_big_model_fills_its_share() -> None:
    memory = 3_000_000
    found = run_job(f"{JOBS}:small_big_decode", {"memory_bytes": memory}, timeout_s=120)
    facts = found["facts"]
    shape = Shape(hidden=64, inner=128, heads=4, kv_heads=2, vocabulary=256)
    assert facts["parameters"] == facts["layers"] * shape.layer_parameters + shape.outer_parameters
    assert facts["bytes_per_parameter"] == 2
    assert FILL - 2 * shape.layer_parameters / memory < facts["resident_bytes"] / memory <= FILL
    assert "random" in found["notes"][0]


def test_a_gpu_too_small_for_the_big_model_is_told_so() -> None:
    assert Shape().layers(24 * 10**9) > 30
    with pytest.raises(LabkitError, match=r"1\.0 GiB is too small"):
        Shape().layers(2**30)


@pytest.mark.parametrize(
    ("llc", "quick", "free", "expected"),
    [
        (32 * MIB, False, None, 512 * MIB),
        (32 * MIB, True, None, 256 * MIB),
        (4 * MIB, False, None, 256 * MIB),
        (4 * MIB, True, None, 64 * MIB),
        (384 * MIB, False, None, 1536 * MIB),  # a server's cache: four times it, whatever the cap
        (32 * MIB, False, 4096 * MIB, 4096 * MIB // 20),  # a small hub
    ],
)
def test_buffers_exceed_the_cache(llc: int, quick: bool, free: int | None, expected: int) -> None:
    size = buffer_bytes(llc, quick, free)
    assert size == expected
    assert size >= 4 * llc


@pytest.mark.parametrize(
    ("state", "waits"),
    [(State.FETCHING, True), (State.FAILED, False), (State.READY, False), (None, False)],
)
def test_a_bench_waits_only_for_what_is_on_its_way(
    state: State | None, waits: bool, cache: Path
) -> None:
    if state is None:
        assert front._on_its_way("torch") is waits
        return
    with ArrivalWriter(["torch", "weights"]) as writer:
        writer.update("torch", state)
        assert front._on_its_way("torch") is waits
