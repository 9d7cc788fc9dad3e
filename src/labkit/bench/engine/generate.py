"""transformers' `generate`: one request at a time, and padded static batches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

from labkit.bench.engine.modes import Run, Spent, Stopwatch
from labkit.bench.engine.requests import Request
from labkit.bench.jobs.memory import resident_bytes

# Any token will do where nothing is read: the mask hides it.
_PAD = 0


def never_stop(model: Any) -> None:
    """Let `model` go on after an end-of-text token, so that every engine does the same work."""
    model.generation_config.eos_token_id = None
    model.generation_config.pad_token_id = _PAD
    model.generation_config.do_sample = False
    model.generation_config.temperature = model.generation_config.top_p = None
    model.generation_config.top_k = None


class _Generate:
    """`generate` with a given model; nothing to open or close."""

    by_wall = False

    def __init__(self, model: Any) -> None:
        self._model = model

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def memory_bytes(self) -> int:
        """Resident memory of this process."""
        return resident_bytes()

    def run_alone(self, requests: Sequence[Request]) -> Run:
        """One after another, each with all of the machine."""
        outputs: dict[int, list[int]] = {}
        each: dict[int, Spent] = {}
        clock = Stopwatch()
        for request in requests:
            own = Stopwatch()
            outputs |= self._batch([request])
            each[request.id] = own.spent()
        return Run(outputs, clock.spent(), each)

    def _batch(self, requests: Sequence[Request]) -> dict[int, list[int]]:
        """One padded batch, run until its longest request is done."""
        import torch

        width = max(len(request.prompt) for request in requests)
        # Padding stands on the left: the newest token of every row is then in the last column.
        rows = [[_PAD] * (width - len(r.prompt)) + list(r.prompt) for r in requests]
        mask = [[0] * (width - len(r.prompt)) + [1] * len(r.prompt) for r in requests]
        with torch.inference_mode():
            found = self._model.generate(
                torch.tensor(rows, device=self._model.device),
                attention_mask=torch.tensor(mask, device=self._model.device),
                max_new_tokens=max(request.output_tokens for request in requests),
            )
        said = found[:, width:].tolist()
        return {
            request.id: row[: request.output_tokens]
            for request, row in zip(requests, said, strict=True)
        }


class Sequential(_Generate):
    """One request at a time: the baseline."""

    def run(self, requests: Sequence[Request]) -> Run:
        """The same as `run_alone`: it knows no other way."""
        return self.run_alone(requests)


class Static(_Generate):
    """Batches of `slots` in order of arrival; nobody leaves before the longest is done."""

    def __init__(self, model: Any, slots: int) -> None:
        super().__init__(model)
        self._slots = slots

    def run(self, requests: Sequence[Request]) -> Run:
        """Batch after batch. The tokens behind a request's own end are thrown away."""
        outputs: dict[int, list[int]] = {}
        clock = Stopwatch()
        for start in range(0, len(requests), self._slots):
            outputs |= self._batch(requests[start : start + self._slots])
        return Run(outputs, clock.spent())
