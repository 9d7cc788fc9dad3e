"""The columns of a sweep while they are filled, and the table made of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from labkit.sizing.grid import BOUNDS, Loads, evaluate
from labkit.sizing.grid_refusals import BLOCKING_MASK, CODES, price_of, refusal_arrays
from labkit.sizing.inputs import SLO
from labkit.sizing.lanes import Lane, stack

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

_BANDS = ("ttft_ms", "tpot_ms", "output_tokens_per_s", "usd_per_million_output_tokens")
_NUMBERS = tuple(f"{band}{end}" for band in _BANDS for end in ("_low", "", "_high"))


class Table:
    """The columns while they are being filled, and the frame made of them."""

    def __init__(self, rows: int) -> None:
        self.at = 0
        self.numbers = {name: np.empty(rows) for name in _NUMBERS}
        self.counts = {
            name: np.empty(rows, dtype=np.int64) for name in ("max_sequences", "running_sequences")
        }
        self.fits = np.empty(rows, dtype=bool)
        self.bound = np.empty(rows, dtype=np.int8)
        self.first = np.empty(rows, dtype=np.int8)
        self.mask = np.empty(rows, dtype=np.int16)
        self.prices: list[float] = []

    def fill(
        self,
        lanes: list[Lane],
        batch: NDArray[np.float64],
        load: Loads,
        slo: SLO | None,
        price_kind: str,
        region: str,
    ) -> None:
        """The rows of `lanes`, after those that are filled already."""
        answers = evaluate(stack(lanes), batch, load)
        shape = (len(lanes), batch.shape[1], load.prompt.shape[2])
        usd = [price_of(lane, price_kind, region) for lane in lanes]
        self.prices += [price for price, _ in usd]
        per_hour = np.array([price for price, _ in usd])[:, None, None]
        first, mask = refusal_arrays(answers, lanes, [codes for _, codes in usd], slo)

        end = self.at + shape[0] * shape[1] * shape[2]
        rows = slice(self.at, end)
        for name, band in (
            ("ttft_ms", answers.ttft_ms),
            ("tpot_ms", answers.tpot_ms),
            ("output_tokens_per_s", answers.tokens_per_s),
        ):
            for ending, values in (("_low", band.low), ("", band.mid), ("_high", band.high)):
                self.numbers[name + ending][rows].reshape(shape)[:] = values
        rate, cost = answers.tokens_per_s, "usd_per_million_output_tokens"
        for ending, values in (("_low", rate.high), ("", rate.mid), ("_high", rate.low)):
            self.numbers[cost + ending][rows].reshape(shape)[:] = per_hour / 3600 * 1e6 / values
        stores: tuple[tuple[Any, Any], ...] = (
            (self.counts["max_sequences"], answers.max_sequences),
            (self.counts["running_sequences"], answers.running),
            (self.bound, answers.bound),
            (self.first, first),
            (self.mask, mask),
            (self.fits, (mask & BLOCKING_MASK) == 0),
        )
        for store, found in stores:
            store[rows].reshape(shape)[:] = found
        self.at = end

    def frame(
        self,
        lanes: list[Lane],
        batches: list[int],
        prompts: list[int],
        outputs: list[int],
        hits: list[float],
    ) -> pd.DataFrame:
        """The finished table."""
        loads = len(prompts) * len(outputs) * len(hits)
        per_lane = len(batches) * loads

        def names(of: list[str]) -> Any:
            kinds = list(dict.fromkeys(of))
            code = {name: i for i, name in enumerate(kinds)}
            codes = np.array([code[name] for name in of], dtype=np.int16)
            return _categories(np.repeat(codes, per_lane), kinds)

        def axis(values: Sequence[float], inner: int, outer: int) -> NDArray[Any]:
            return np.tile(np.repeat(np.array(values), inner), outer)

        outer = len(lanes) * len(batches)
        columns: dict[str, Any] = {
            "model": names([lane.model.name for lane in lanes]),
            "instance": names([lane.instance.name for lane in lanes]),
            "engine": names([lane.engine.name for lane in lanes]),
            "weights": names([lane.config.weights for lane in lanes]),
            "kv": names([lane.config.kv for lane in lanes]),
            "tensor_parallel_size": np.repeat(
                np.array([lane.tensor_parallel_size for lane in lanes]), per_lane
            ),
            "batch": axis(batches, loads, len(lanes)),
            "prompt_tokens": axis(prompts, len(outputs) * len(hits), outer),
            "output_tokens": axis(outputs, len(hits), outer * len(prompts)),
            "prefix_hit_rate": axis(hits, 1, outer * len(prompts) * len(outputs)),
            "fits": self.fits,
            **self.counts,
            **self.numbers,
            "usd_per_hour": np.repeat(np.array(self.prices), per_lane),
            "bound": _categories(self.bound, BOUNDS),
            "refusal": _categories(self.first, [str(code) for code in CODES]),
            "refusals": _joined(self.mask),
        }
        import pandas as pd

        return pd.DataFrame(columns, copy=False)


def _categories(codes: Any, names: Sequence[str]) -> Any:
    """A column of names, stored as indices into them; -1 is a missing one."""
    import pandas as pd

    return pd.Categorical.from_codes(codes, pd.Index(list(names)))


def _joined(mask: NDArray[np.int16]) -> Any:
    """All codes of each row in one text, "" where there are none."""
    met = np.flatnonzero(np.bincount(mask, minlength=1 << len(CODES)))
    place = np.zeros(1 << len(CODES), dtype=np.int16)
    place[met] = np.arange(len(met))
    texts = ["+".join(str(code) for i, code in enumerate(CODES) if bits >> i & 1) for bits in met]
    return _categories(place[mask], texts)
