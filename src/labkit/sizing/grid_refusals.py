"""Refusals over arrays: which code comes first in each configuration, and all that apply."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from labkit.sizing.estimate import price_refusals
from labkit.sizing.grid import Answers
from labkit.sizing.inputs import SLO
from labkit.sizing.lanes import Lane
from labkit.sizing.refusal_codes import BLOCKING, RefusalCode

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Codes = NDArray[np.int8]
    Masks = NDArray[np.int16]

CODES = tuple(RefusalCode)
BLOCKING_MASK = sum(1 << i for i, code in enumerate(CODES) if code in BLOCKING)


def price_of(lane: Lane, kind: str, region: str) -> tuple[float, tuple[RefusalCode, ...]]:
    """USD per hour (not a number where no source gives it) and the codes that come with it."""
    price = lane.instance.price(kind, region)
    codes = tuple(r.code for r in price_refusals(lane.instance, price, kind, region))
    return (price.usd_per_hour if price else float("nan")), codes


def refusal_arrays(
    answers: Answers,
    lanes: Sequence[Lane],
    price_codes: Sequence[tuple[RefusalCode, ...]],
    slo: SLO | None,
) -> tuple[Codes, Masks]:
    """(index into `CODES` of the first refusal or -1, bit mask of all), in `estimate`'s order."""
    ttft = tpot = np.zeros((1, 1, 1), dtype=bool)
    if slo is not None and slo.ttft_ms is not None:
        ttft = answers.ttft_ms.mid > slo.ttft_ms
    if slo is not None and slo.tpot_ms is not None:
        tpot = answers.tpot_ms.mid > slo.tpot_ms
    in_turn = (
        _lane_codes([tuple(r.code for r in lane.kind_refusals) for lane in lanes]),
        (answers.too_long, RefusalCode.ENGINE_UNSUPPORTED),
        _lane_codes([tuple(r.code for r in lane.pair_refusals) for lane in lanes]),
        (answers.short, RefusalCode.WEIGHTS),
        (answers.crowded, RefusalCode.KV_CACHE),
        _lane_codes(price_codes),
        (ttft, RefusalCode.SLO_TTFT),
        (tpot, RefusalCode.SLO_TPOT),
    )
    first, mask = np.full((1, 1, 1), -1, dtype=np.int8), np.zeros((1, 1, 1), dtype=np.int16)
    for one, other in reversed(in_turn):
        if isinstance(other, RefusalCode):
            index = CODES.index(other)
            first = np.where(one, np.int8(index), first)
            mask = mask | np.where(one, np.int16(1 << index), np.int16(0))
        else:
            first = np.where(one >= 0, one, first)
            mask = mask | other
    return first, mask


def _lane_codes(
    codes: Sequence[tuple[RefusalCode, ...]],
) -> tuple[Codes, Masks]:
    """For each lane the index of the first of its codes (-1: none) and the mask of all."""
    first = [CODES.index(of[0]) if of else -1 for of in codes]
    mask = [sum(1 << CODES.index(code) for code in set(of)) for of in codes]
    return (
        np.array(first, dtype=np.int8)[:, None, None],
        np.array(mask, dtype=np.int16)[:, None, None],
    )
