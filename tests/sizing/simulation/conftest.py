from __future__ import annotations

import pytest

from labkit.sizing.lengths import Fixed
from labkit.sizing.simulation import Burst, Traffic


@pytest.fixture
def one_long_request() -> Traffic:
    return Traffic(Fixed(10), Fixed(5000), Burst(), 1)
