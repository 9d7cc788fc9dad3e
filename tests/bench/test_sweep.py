"""FLOPs and bytes behind the sweep's times."""

from __future__ import annotations

from typing import Any

import pytest

from labkit.bench import sweep_points
from labkit.contract import LabkitError, Record, Series

FACTS: dict[str, Any] = {
    "sweep": {
        "fp32": {
            "batches": [1, 2],
            "weight_bytes": 4000,
            "flop_per_row": 2000,
            "activation_bytes_per_row": 80,
        }
    }
}


def record(facts: dict[str, Any]) -> Record:
    series = tuple(Series(f"sweep.fp32.b{b}", "ms", (0.5 * b,)) for b in (1, 2))
    return Record("machine", "t", True, "2026-01-02", {}, {}, series, facts)


def test_points() -> None:
    one, two = sweep_points(record(FACTS), "fp32")
    assert (one.batch, one.seconds, one.flop, one.bytes) == (1, 0.0005, 2000.0, 4080.0)
    assert two.intensity == pytest.approx(4000 / 4160)
    assert two.flop_per_s == pytest.approx(4e6)
    assert two.bytes_per_s == pytest.approx(4.16e6)


def test_a_sweep_that_is_not_there_is_named() -> None:
    with pytest.raises(LabkitError, match="no sweep for 'bf16'; it has: fp32"):
        sweep_points(record(FACTS), "bf16")
    with pytest.raises(LabkitError, match="it has: none"):
        sweep_points(record({}))
