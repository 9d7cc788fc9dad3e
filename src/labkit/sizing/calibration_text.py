"""A calibration as files: the Python table that ships, and the JSON that a user keeps."""

from __future__ import annotations

import json
import textwrap
from datetime import date
from typing import Any

from labkit.sizing.calibrate import Calibration
from labkit.sizing.efficiency import Parameters, Spread, Tuning
from labkit.sizing.inputs import SizingError
from labkit.sizing.priors import PRIORS

_WIDTH = 98
_HEADER = '''"""The calibration that ships. Made by `python -m benchmarks.calibrate`; do not edit.

{words}
"""

from __future__ import annotations

from collections.abc import Mapping
'''


def as_python(calibration: Calibration, as_of: date) -> str:
    """The module `fitted`: values of parameters, and spreads by variant and hardware."""
    rows = ", ".join(f"{variant} {count}" for variant, count in calibration.rows.items())
    words = (
        f"Fitted {as_of.isoformat()} to {sum(calibration.rows.values())} published measurements "
        f"({rows}), sources {', '.join(calibration.sources)} of benchmarks/data/measurements.csv."
    )
    words = "\n".join(textwrap.wrap(words, _WIDTH, break_on_hyphens=False))
    lines = [_HEADER.format(words=words), "FITTED: Mapping[str, float] = {"]
    lines += [
        f'    "{name}": {_number(calibration.values[name])},'
        for name in PRIORS
        if name in calibration.values
    ]
    lines += ["}", '"""Parameter name -> value; names and units are those of `priors`."""', ""]
    lines.append("SPREADS: Mapping[tuple[str, str], Mapping[str, tuple[float, float, int]]] = {")
    for (variant, hardware), spreads in calibration.spreads.items():
        lines.append(f'    ("{variant}", "{hardware}"): {{')
        lines += [
            f'        "{regime}": ({_number(one.low)}, {_number(one.high)}, {one.rows}),'
            for regime, one in spreads.items()
        ]
        lines.append("    },")
    lines += [
        "}",
        '"""(variant, hardware) -> kind of step -> (low, high, rows) of time / predicted."""',
    ]
    return "\n".join(lines) + "\n"


def as_json(calibration: Calibration) -> dict[str, Any]:
    """The calibration as plain JSON types."""
    return {
        "values": dict(calibration.values),
        "spreads": [
            {
                "variant": v,
                "hardware": h,
                "step": step,
                "low": s.low,
                "high": s.high,
                "rows": s.rows,
            }
            for (v, h), spreads in calibration.spreads.items()
            for step, s in spreads.items()
        ],
        "rows": dict(calibration.rows),
        "sources": list(calibration.sources),
    }


def from_json(text: str) -> Tuning:
    """The calibration that `as_json` wrote. Raises `SizingError`, one sentence."""
    try:
        read = json.loads(text)
        values = {str(name): float(value) for name, value in read["values"].items()}
        spreads: dict[tuple[str, str], dict[str, Spread]] = {}
        for entry in read["spreads"]:
            spreads.setdefault((entry["variant"], entry["hardware"]), {})[entry["step"]] = Spread(
                float(entry["low"]), float(entry["high"]), "fit", int(entry["rows"])
            )
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise SizingError(
            f"That is not a calibration that `labkit calibrate --out` wrote ({error})."
        ) from None
    unknown = sorted(set(values) - set(PRIORS))
    if unknown:
        raise SizingError(f"The calibration names the unknown parameter {unknown[0]!r}.")
    return Tuning(Parameters(values), spreads)


def _number(value: float) -> str:
    return f"{value:.4g}" if "." in f"{value:.4g}" or "e" in f"{value:.4g}" else f"{value:.4g}.0"
