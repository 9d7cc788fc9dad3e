"""The whole measurement on a two-layer model; what is missing or fails is said, never skipped."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from labkit.bench.jobs import quantization
from labkit.bench.process import run_job
from labkit.bench.progress import silent
from labkit.bench.quant import bnb, llama
from labkit.bench.quant.formats import FORMATS
from labkit.bench.session import Session
from labkit.bench.weights import SOURCES, Weights

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


def test_the_same_job_on_a_gpu(places: dict[str, Any]) -> None:
    """On a fake one: the weights stay in their places, and its own arithmetic is told."""
    found = run_job(f"{JOBS}:whole", places | {"device": "cuda"}, timeout_s=300)
    facts, series = found["facts"], found["series"]
    assert facts["left_out"] == {}
    assert facts["fp8_native"] is True
    assert {"torch.fp16.step", "torch.bnb_nf4.step", "llama.q4_0.step"} <= set(series)
    assert facts["formats"]["q4_1"]["nll"] == facts["formats"]["fp32"]["nll"]


def bare(device: str) -> quantization.Run:
    """A run that has got no further than its device."""
    session = Session(device, quick=True, threads=1, report=silent)
    nothing: Any = None
    return quantization.Run(session, Weights(Path(), SOURCES[1], {}), nothing, nothing, nothing)


def refuse(error: Exception) -> Any:
    def load(*_: object) -> None:
        raise error

    return load


def test_what_bitsandbytes_does_not_run_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    run = bare("mps")
    monkeypatch.setattr(bnb, "missing", lambda: None)
    monkeypatch.setattr(bnb, "load", refuse(NotImplementedError("no kernel for this device")))
    run._bitsandbytes(FORMATS["bnb_int8"])
    assert run._left_out == {
        "bnb_int8": "INT8 (bitsandbytes) does not run on this Apple GPU: no kernel for this device"
    }


def test_too_little_memory_is_no_missing_format(monkeypatch: pytest.MonkeyPatch) -> None:
    """It ends the measurement with its own sentence, instead of a record with a hole."""
    run = bare("cuda")
    monkeypatch.setattr(bnb, "missing", lambda: None)
    monkeypatch.setattr(bnb, "load", refuse(RuntimeError("CUDA out of memory")))
    with pytest.raises(RuntimeError, match="out of memory"):
        run._bitsandbytes(FORMATS["bnb_nf4"])


def test_llama_cpp_that_does_not_load_is_said_once(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    run = bare("cpu")
    (tmp_path / "x.gguf").write_bytes(b"GGUF")
    monkeypatch.setattr(llama, "missing", lambda: None)
    monkeypatch.setattr(quantization.ggufs, "ensure_file", lambda *_: tmp_path / "x.gguf")
    run._windows = [SimpleNamespace(tolist=lambda: [1, 2])]
    monkeypatch.setattr(llama, "time_llama", refuse(ImportError("GLIBC_2.38 not found")))
    for key in ("fp32", "q4_0"):
        run._llama(FORMATS[key])
    assert run._left_out == {
        "llama": "llama.cpp does not load on this machine: GLIBC_2.38 not found"
    }


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
