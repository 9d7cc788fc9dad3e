"""Speculative decoding with torch: on a small model, live on the real one, and as recorded."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from labkit import bench
from labkit.bench.process import run_job
from labkit.bench.records import recording
from labkit.bench.registry import BENCHES
from labkit.cli.main import main
from labkit.contract import Record
from tests.bench.test_attention import memory_grows, obeys_theory

JOBS = "tests.bench.attention_jobs"
DRAFTERS = ["plain", "lookup2", "lookup5", "lookup10", "layers10", "int8"]


@pytest.mark.usefixtures("worker_path")
@pytest.mark.parametrize("layers", [1, 4])
def test_a_small_model(layers: int) -> None:
    """All of its layers draft what it says itself; that is kept to the last token."""
    found = run_job(f"{JOBS}:tiny_speculation", {"layers": layers}, timeout_s=180)
    rows = {(row["drafter"], row["prompt"]): row for row in found["facts"]["runs"]}
    assert all(row["identical"] for row in rows.values())
    assert found["notes"] == []
    assert {len(said) for said in found["said"].values()} == {16}
    name = f"layers{layers}"
    if layers == 4:
        for prompt in ("copy", "open"):
            assert rows[name, prompt]["alpha"] == 1.0
            assert rows[name, prompt]["tokens_per_forward"] == 5.0
    small, whole = (found["facts"]["drafters"][key]["parameters"] for key in (name, "int8"))
    assert small < whole
    batches = found["facts"]["batches"]
    assert batches["batch"] == [1, 3]
    assert all(verify > 0 for verify in batches["verify_over_step"])
    assert {"batch.b3.step", "batch.b3.verify", "draft.int8", "step"} <= found["series"].keys()


@pytest.mark.usefixtures("worker_path")
@pytest.mark.parametrize("tied", [True, False])
def test_drafters_made_from_their_target(tied: bool) -> None:
    found = run_job(f"{JOBS}:drafters_of_a_model", {"tied": tied}, timeout_s=120)
    assert found["small"] < 1e-5  # the second layer's states through the last norm and the head
    assert found["whole"] == 0.0
    assert found["shared"] is True
    assert found["layers"] == found["config"] == [2, 4]  # and the target keeps its own
    assert 0 < found["int8_off"] < 0.1
    assert found["int8_error_in_steps"] <= 0.5 + 1e-3
    assert found["int8_dtype"] == "torch.int8"
    assert found["untouched"] is True
    head, layer = 50 * 64, 2 * 64 * 64 + 2 * 64 * 32 + 3 * 64 * 128
    outputs = 4 * (2 * 64 + 2 * 32 + 2 * 128 + 64) + 50
    whole = head + 4 * (layer + 2 * 64) + 64
    assert found["streamed"] == [whole, whole - 2 * (layer + 2 * 64), whole + outputs]


def live(name: str, monkeypatch: pytest.MonkeyPatch, folder: Path) -> Record:
    """A busy machine may make it too noisy to keep; what noise cannot break still has to hold."""
    for variable in ("LABKIT_RECORDS", "LABKIT_REPLAY", "LABKIT_RUNNER"):
        monkeypatch.delenv(variable, raising=False)
    (folder / ".labkit").mkdir()
    monkeypatch.setenv("LABKIT_WORKSPACE", str(folder))
    try:
        record = bench.measure(name, quick=True, device="cpu")
        assert bench.last(name) == record
    except bench.NoisyMeasurement as noisy:
        record = noisy.record
    assert record.live
    assert record.facts["clock"] == "cpu"
    return record


@pytest.mark.quiet
def test_attention_live(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, steps_told: list[int]
) -> None:
    record = live("attention", monkeypatch, tmp_path)
    assert steps_told == list(range(1, BENCHES["attention"].steps + 1))
    sdpa = record.facts["sdpa"]
    assert sdpa["lengths"] == [512, 1024, 2048]
    obeys_theory(sdpa)
    memory_grows(sdpa)
    assert record.facts["profile"]["operators"][0]["name"] == "aten::mm"


@pytest.mark.quiet
def test_speculation_live(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, steps_told: list[int]
) -> None:
    record = live("speculation", monkeypatch, tmp_path)
    assert steps_told == [1, 2, 5, 6, 7, 8, 9, 10]  # two rounds of five left out
    rows = {(row["drafter"], row["prompt"]): row for row in record.facts["runs"]}
    assert len(rows) == 8
    agrees(record)
    pays_where_the_text_repeats(rows, 5)


def agrees(record: Record) -> None:
    assert record.notes == ()
    for row in record.facts["runs"]:
        assert row["identical"] is True
        assert row["tokens"] == record.facts["output_tokens"]


def pays_where_the_text_repeats(rows: Any, gamma: int) -> None:
    assert rows[f"lookup{gamma}", "copy"]["tokens_per_forward"] > 2
    assert 1 <= rows[f"lookup{gamma}", "open"]["tokens_per_forward"] < 1.3


@pytest.fixture
def shipped() -> Record:
    return recording("speculation")


@pytest.fixture
def rows(shipped: Record) -> dict[tuple[str, str], dict[str, Any]]:
    return {(row["drafter"], row["prompt"]): row for row in shipped.facts["runs"]}


def test_every_recorded_text_is_the_targets(shipped: Record, rows: Any) -> None:
    agrees(shipped)
    assert set(rows) == {(name, prompt) for name in DRAFTERS for prompt in ("copy", "open")}
    for facts in shipped.facts["prompts"].values():
        assert len(facts["text"]) > 50
        assert len(facts["continuation"]) > 50


def test_the_copy_is_one(shipped: Record) -> None:
    copy = shipped.facts["prompts"]["copy"]
    first = copy["continuation"].strip()[:60]
    assert first in copy["text"]


@pytest.mark.parametrize("gamma", [2, 5, 10])
def test_lookup_pays_where_the_text_repeats(rows: Any, gamma: int) -> None:
    pays_where_the_text_repeats(rows, gamma)
    assert rows[f"lookup{gamma}", "copy"]["speedup"] > 1.2
    assert rows[f"lookup{gamma}", "open"]["speedup"] < 1.1
    assert rows[f"lookup{gamma}", "copy"]["c"] < 0.01


def test_more_drafted_is_more_per_forward_on_a_copy(rows: Any) -> None:
    per_forward = [rows[f"lookup{gamma}", "copy"]["tokens_per_forward"] for gamma in (2, 5, 10)]
    assert all(more > less for less, more in pairwise(per_forward))


@pytest.mark.parametrize("prompt", ["copy", "open"])
def test_a_drafter_that_seldom_agrees_slows_its_target_down(rows: Any, prompt: str) -> None:
    row = rows["layers10", prompt]
    assert row["alpha"] < 0.3
    assert 0.2 < row["c"] < 0.7  # a third of the layers, and the whole head
    assert row["speedup"] < 0.6


@pytest.mark.parametrize("prompt", ["copy", "open"])
def test_a_drafter_that_nearly_always_agrees_hardly_pays_at_its_price(
    rows: Any, prompt: str
) -> None:
    row = rows["int8", prompt]
    assert row["alpha"] > 0.8
    assert row["tokens_per_forward"] > 3.5
    assert row["c"] > 0.4
    assert row["speedup"] < 1.6
    assert row["speedup"] < rows["lookup5", "copy"]["speedup"]


def test_verifying_costs_more_than_the_formula_says(rows: Any) -> None:
    assert rows["lookup5", "copy"]["verify_over_step"] > 1.1


def test_the_gain_falls_as_the_batch_grows(shipped: Record) -> None:
    batches = shipped.facts["batches"]
    assert batches["batch"] == [1, 2, 4, 8, 16, 32]
    ratios = batches["verify_over_step"]
    assert ratios[-1] > 1.5 * ratios[0]
    assert max(ratios) < 1.1 * (batches["gamma"] + 1)
    for batch, step, verify in zip(
        batches["batch"], batches["step_ms"], batches["verify_ms"], strict=True
    ):
        assert step == pytest.approx(shipped.median(f"batch.b{batch}.step"), rel=1e-3)
        assert verify == pytest.approx(shipped.median(f"batch.b{batch}.verify"), rel=1e-3)


def test_costs_are_ratios_of_the_series(shipped: Record, rows: Any) -> None:
    for drafter in ("layers10", "int8"):
        cost = shipped.median(f"draft.{drafter}") / shipped.median("step")
        assert rows[drafter, "copy"]["c"] == pytest.approx(cost, rel=1e-2)
    for drafter in DRAFTERS[:4]:
        for prompt in ("copy", "open"):
            per_token = shipped.median(f"run.{drafter}.{prompt}")
            assert rows[drafter, prompt]["ms_per_token"] == pytest.approx(per_token, rel=1e-3)
            plain = shipped.median(f"run.plain.{prompt}")
            assert rows[drafter, prompt]["speedup"] == pytest.approx(plain / per_token, rel=1e-3)


def test_the_summary_fits_a_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("LABKIT_RECORDS", "LABKIT_REPLAY", "LABKIT_RUNNER"):
        monkeypatch.delenv(name, raising=False)
    assert main(["bench", "speculation", "--replay"]) == 0
    text = capsys.readouterr().out
    assert max(len(line) for line in text.splitlines()) <= 80
    assert "REPLAYED, not your machine" in text
    assert "Tokens/fwd" in text
    assert all(name in text for name in DRAFTERS)
