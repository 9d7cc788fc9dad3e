"""The real sandbox and a key of hidden draws, for every lab's way from open to grade."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from labkit.grading.sandbox import Sandbox, open_sandbox


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with open_sandbox() as opened:
        yield opened


@pytest.fixture
def key(tmp_path: Path) -> Path:
    path = tmp_path / "hidden.key"
    path.write_bytes(b"k" * 32)
    return path
