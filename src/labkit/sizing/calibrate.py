"""Fit the step-time model's parameters to measured runs, and take its bands from what is left.

One variant of engine at a time. Residual: ln(predicted / measured), each source weighted by
rows^-1/4 so that a large table does not outvote the rest; soft-L1 loss, because published rows
contain blunders; a ridge towards the priors in log space, because a table that varies two things
at once cannot tell them apart and then the prior should decide. Needs scipy.

Bands: the middle 90 % of time / predicted time by kind of step. Where a variant has two sources or
more, each source's rows are predicted by a fit that has not seen it; where it has one, the
in-sample range is widened, and the result says how it was made.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from labkit.sizing.efficiency import (
    PRIOR_SPREADS,
    Efficiency,
    Parameters,
    Spread,
    Tuning,
    build_efficiency,
)
from labkit.sizing.inputs import SizingError
from labkit.sizing.priors import PRIORS
from labkit.sizing.validate.predict import (
    RATES,
    Load,
    central,
    efficiency_key,
    load_of,
    regime_of,
)
from labkit.sizing.validate.result import Unsupported
from labkit.sizing.validate.runs import MeasuredRun

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

RIDGE = 0.7
"""Weight of the prior: ln(value / prior) counts as this many residuals."""

LOSS_SCALE = 0.1
"""Residuals well beyond this (10 %) count linearly, not as squares."""

BAND = (0.05, 0.95)
"""The quantiles of time / predicted time that a band spans."""

NARROWEST, WIDEST = (0.76, 1.6), (0.50, 2.0)
"""No band is narrower than what separates sources. Published decode MBU has p10 0.44, median 0.64
and p90 0.79; the middle 90 % of that, normal in the logarithm, is 0.76 to 1.6 of the time. None
is wider than is of use."""

ONE_SOURCE_WIDENING = 1.5
FEW_ROWS = 8

# Links are fitted where a table varies the number of devices on an otherwise understood engine.
_LINK_OF = {"compiled": "nvlink", "neuron": "neuronlink"}


@dataclass(frozen=True, slots=True)
class Residual:
    """One row's ln(time / predicted time), and whether its source was left out of the fit."""

    id: str
    source: str
    variant: str
    hardware: str
    regime: str
    log_ratio: float
    held_out: bool


@dataclass(frozen=True, slots=True)
class Calibration:
    """Fitted values by parameter name, spreads by (variant, hardware), and where they are from."""

    values: Mapping[str, float]
    spreads: Mapping[tuple[str, str], Mapping[str, Spread]]
    rows: Mapping[str, int]
    sources: tuple[str, ...]
    residuals: tuple[Residual, ...] = field(repr=False)

    @property
    def tuning(self) -> Tuning:
        """The calibration as `estimate` takes it."""
        return Tuning(Parameters(self.values), self.spreads)


def calibrate(runs: Iterable[MeasuredRun]) -> Calibration:
    """The calibration that `runs` support. Suspect rows and rows of no time are left out.

    Raises `SizingError` where no row can be used, or where scipy is not installed.
    """
    cases = _cases(runs)
    if not cases:
        raise SizingError("No row of a time or a rate that the engine models: nothing to fit.")
    values: dict[str, float] = {}
    residuals: list[Residual] = []
    rows: dict[str, int] = {}
    # Links first: the variants that fit them also serve the others.
    for variant in sorted(cases, key=lambda name: (name not in _LINK_OF, name)):
        mine = cases[variant]
        values.update(_fit(variant, mine, values))
        rows[variant] = len(mine)
        residuals += _residuals(variant, mine, values)
    return Calibration(
        values=values,
        spreads=_spreads(residuals),
        rows=rows,
        sources=tuple(sorted({case.run.source for mine in cases.values() for case in mine})),
        residuals=tuple(residuals),
    )


@dataclass(frozen=True, slots=True)
class _Case:
    run: MeasuredRun
    load: Load
    key: tuple[str, str, str, str, tuple[str, ...]]
    measured: float


def _cases(runs: Iterable[MeasuredRun]) -> dict[str, list[_Case]]:
    found: dict[str, list[_Case]] = defaultdict(list)
    for run in runs:
        if run.suspect or run.measured is None or run.metric == "vram_gb":
            continue
        try:
            load = load_of(run)
            case = _Case(run, load, efficiency_key(run), run.measured)
            central(run, load, _efficiency(Parameters({}), case))
        except Unsupported:
            continue
        found[run.variant].append(case)
    return dict(found)


def _efficiency(parameters: Parameters, case: _Case) -> Efficiency:
    return build_efficiency(parameters, PRIOR_SPREADS, *case.key)


def _fit(variant: str, cases: Sequence[_Case], known: Mapping[str, float]) -> dict[str, float]:
    """Values of the parameters that these cases depend on; `known` ones of other variants stay."""
    try:
        from scipy.optimize import least_squares
    except ImportError:
        raise SizingError(
            "Calibrating needs scipy, which is not installed: install the extra [calibrate]."
        ) from None
    import numpy as np

    names = _free_names(variant, cases, known)
    start = np.log([PRIORS[name] for name in names])
    counts: dict[str, int] = defaultdict(int)
    for case in cases:
        counts[case.run.source] += 1

    def at(x: NDArray[np.float64]) -> dict[str, float]:
        return {**known, **dict(zip(names, map(float, np.exp(x)), strict=True))}

    def residuals(x: NDArray[np.float64], /) -> NDArray[np.float64]:
        logs = _log_ratios(cases, at(x))
        weighted = [
            log * counts[case.run.source] ** -0.25 for log, case in zip(logs, cases, strict=True)
        ]
        return np.concatenate([weighted, RIDGE * (x - start)])

    found = least_squares(residuals, start, loss="soft_l1", f_scale=LOSS_SCALE, max_nfev=40)
    return {name: value for name, value in at(found.x).items() if name not in known}


def _log_ratios(cases: Sequence[_Case], values: Mapping[str, float]) -> list[float]:
    """ln(time / predicted time), negated: ln(predicted time / time) of every case."""
    parameters = Parameters(values)
    efficiencies = {case.key: _efficiency(parameters, case) for case in cases}
    logs = []
    for case in cases:
        said = central(case.run, case.load, efficiencies[case.key])
        log = math.log(said / case.measured)
        logs.append(-log if case.run.metric in RATES else log)
    return logs


def _free_names(variant: str, cases: Sequence[_Case], known: Mapping[str, float]) -> list[str]:
    """Parameters that a change of moves some prediction, so that there is something to learn."""
    base = _log_ratios(cases, known)
    link = _LINK_OF.get(variant)
    names = []
    for name, prior in PRIORS.items():
        mine = name.startswith(f"{variant}.") or (link and name.endswith(f".{link}"))
        if not mine or prior <= 0 or name in known:
            continue
        moved = _log_ratios(cases, {**known, name: prior * 1.01})
        if any(abs(a - b) > 1e-9 for a, b in zip(base, moved, strict=True)):
            names.append(name)
    return names


def _residuals(variant: str, cases: Sequence[_Case], values: Mapping[str, float]) -> list[Residual]:
    """Each source's residuals under a fit without it where there are two sources or more."""
    sources = sorted({case.run.source for case in cases})
    others = {name: v for name, v in values.items() if not name.startswith(f"{variant}.")}
    if (link := _LINK_OF.get(variant)) is not None:
        others = {name: v for name, v in others.items() if not name.endswith(f".{link}")}
    found = []
    for source in sources:
        rest = [case for case in cases if case.run.source != source]
        mine = [case for case in cases if case.run.source == source]
        held_out = len(rest) >= FEW_ROWS
        used = {**others, **_fit(variant, rest, others)} if held_out else values
        for case, log in zip(mine, _log_ratios(mine, used), strict=True):
            found.append(
                Residual(
                    id=case.run.id,
                    source=source,
                    variant=variant,
                    hardware=case.key[1],
                    regime=regime_of(case.run, case.load),
                    log_ratio=-log,
                    held_out=held_out,
                )
            )
    return found


def _spreads(
    residuals: Sequence[Residual],
) -> dict[tuple[str, str], dict[str, Spread]]:
    """Spread by (variant, hardware) and regime; few rows of one borrow the variant's others."""
    found: dict[tuple[str, str], dict[str, Spread]] = {}
    for variant, hardware in sorted({(r.variant, r.hardware) for r in residuals}):
        mine = [r for r in residuals if r.variant == variant]
        here = [r for r in mine if r.hardware == hardware]
        by_regime: dict[str, Spread] = {}
        for regime in sorted({r.regime for r in mine}):
            for pool in (
                [r for r in here if r.regime == regime],
                [r for r in mine if r.regime == regime],
                mine,
            ):
                if len(pool) >= FEW_ROWS:
                    by_regime[regime] = _spread(pool)
                    break
        if by_regime:
            found[variant, hardware] = by_regime
    return found


def _spread(pool: Sequence[Residual]) -> Spread:
    import numpy as np

    logs = [r.log_ratio for r in pool]
    low, high = (float(q) for q in np.quantile(logs, BAND))
    if not all(r.held_out for r in pool):
        low, high = low * ONE_SOURCE_WIDENING, high * ONE_SOURCE_WIDENING
    return Spread(
        low=max(WIDEST[0], min(math.exp(low), NARROWEST[0])),
        high=min(WIDEST[1], max(math.exp(high), NARROWEST[1])),
        kind="fit",
        rows=len(pool),
    )
