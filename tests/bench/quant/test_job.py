"""The whole measurement on a two-layer model; what is missing or fails is said, never skipped."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from labkit.bench.jobs import quantization
from labkit.bench.process import run_job
from labkit.bench.quant.formats import FORMATS

JOBS = "tests.bench.quant.jobs"

pytestmark = pytest.mark.usefixtures("worker_path")


@pytest.fixture
def places(tmp_path: Path, tiny_gguf: Path) -> dict[str, Any]:
    return {"gguf": str(tiny_gguf), "target": str(tmp_path / "folder")}


def test_every_format_is_scored_and_what_runs_is_timed(places: dict[str, Any]) -> None:
    found = run_job(f"{JOBS}:whole", places, timeout_s=300)
    facts, series = found["facts"], found["series"]
    assert list(facts["formats"]) == list(FORMATS)
    assert facts["left_out"] == {}
    assert set(facts["packages"]) == {"gguf", "bitsandbytes", "xllamacpp"}
    for form in FORMATS.values():
        torch_runs = bool(form.torch_dtype or form.bitsandbytes)
        for part in ("step", "cpu", "prefill"):
            assert (f"torch.{form.key}.{part}" in series) == torch_runs
            assert (f"llama.{form.key}.{part}" in series) == form.gguf
        one = facts["formats"][form.key]
        assert len(one["nll"]) == 4
        assert (one["file_bytes"] is not None) == form.gguf
        assert one["emulated"] == (form.key != "fp32" and not form.bitsandbytes)
    losses = {key: one["nll"] for key, one in facts["formats"].items()}
    assert losses["q4_1"] == losses["fp32"]  # on its grid already
    assert losses["q4_0"] != losses["fp32"]
    assert facts["kv"]["fp32"]["nll"] == losses["fp32"]
    assert len(facts["kv"]["int8"]["attention_error"]) == 2
    assert 0 < max(facts["kv"]["int8"]["attention_error"]) < 0.05
    assert facts["fp8_native"] is False
    assert facts["text"]["scored_tokens"] == 4 * 99
    assert 0 <= facts["llama_agreement"] <= 1
    assert "dequantised Q4_1" in found["notes"][0]


def test_what_is_not_installed_is_named_with_its_remedy(places: dict[str, Any]) -> None:
    absent = {"absent": ["xllamacpp", "bitsandbytes"], "original": True}
    found = run_job(f"{JOBS}:whole", places | absent, timeout_s=300)
    facts = found["facts"]
    assert set(facts["left_out"]) == {"bnb_int8", "bnb_nf4", "llama"}
    assert "make lab" in facts["left_out"]["llama"]
    assert not any(name.startswith("llama.") for name in found["series"])
    assert "bnb_nf4" not in facts["formats"]
    assert facts["llama_agreement"] is None
    assert facts["reference"]["original"] is True
    # One remark for each package; none about a grid, since these weights count as the original.
    assert len(found["notes"]) == 2
    assert all(note.startswith("Left out: ") for note in found["notes"])


def test_formats_leave_no_trace_and_an_exact_cache_no_error(places: dict[str, Any]) -> None:
    found = run_job(f"{JOBS}:scores_twice", places, timeout_s=300)
    assert found["before"] == found["after"]
    assert found["exact"]["nll"] == pytest.approx(found["before"], abs=1e-5)
    assert found["exact"]["attention_error"] == [0.0, 0.0]
    assert found["wiped"]["attention_error"] == [1.0, 1.0]  # nothing is left of the output
    assert found["attention"] == "sdpa"


def test_a_file_is_the_rounded_model(places: dict[str, Any]) -> None:
    """Read back by transformers, each file says what torch says with the weights it scores."""
    found = run_job(f"{JOBS}:files", places, timeout_s=300)
    assert set(found) == {"fp32", "fp16", "q8_0", "q4_1", "q4_0"}
    for key, one in found.items():
        assert one["difference"] < 1e-3, key
        assert one["tensor_bytes"] == one["weight_bytes"], key
        assert one["kept"]
        assert one["same_tokens"]
        assert one["leftovers"] == []


@pytest.mark.parametrize(
    ("capability", "native"), [((8, 0), False), ((8, 6), False), ((8, 9), True), ((9, 0), True)]
)
def test_fp8_is_native_from_ada_on(
    capability: tuple[int, int], native: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch

    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda _: capability)
    assert quantization.fp8_native("cuda") is native
    assert quantization.fp8_native("mps") is False
    assert quantization.fp8_native("cpu") is False
