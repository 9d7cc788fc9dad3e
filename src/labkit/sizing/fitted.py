"""The calibration that ships: parameter values and residual ranges. Made by `labkit calibrate`."""

from __future__ import annotations

from collections.abc import Mapping

FITTED: Mapping[str, float] = {}
SPREADS: Mapping[tuple[str, str], Mapping[str, tuple[float, float, int]]] = {}
