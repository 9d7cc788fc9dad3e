"""The wheel of this clone, built once per worker."""

from __future__ import annotations

from pathlib import Path

import pytest

from labkit.course.wheels import Wheel, build
from tests.wheel.environments import ROOT, constraints


@pytest.fixture(scope="session")
def wheel() -> Wheel:
    return build(ROOT)


@pytest.fixture(scope="session")
def wheel_file(wheel: Wheel, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("dist") / wheel.name
    path.write_bytes(wheel.raw)
    return path


@pytest.fixture(scope="session")
def pins(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return constraints(tmp_path_factory.mktemp("pins"))
