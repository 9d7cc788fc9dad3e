"""transformers' continuous batching, with explicit limits.

Left to itself it sizes its cache by the machine's free memory and takes many gigabytes: every
limit is given here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

from labkit.bench.engine.modes import Run, Spent, Stopwatch
from labkit.bench.engine.requests import Request
from labkit.bench.jobs.memory import resident_bytes
from labkit.contract import LabkitError

_PAGE = 16
_PATIENCE_S = 120.0


@dataclass(frozen=True, slots=True)
class Limits:
    """What continuous batching may use.

    `slots` requests at once, `step_tokens` in one forward pass (a longer prompt is read in
    pieces), `cache_tokens` in the KV cache, and whether equal beginnings share their blocks.
    """

    slots: int
    step_tokens: int = 512
    cache_tokens: int = 4096
    share_prefixes: bool = False


def make_manager(model: Any, limits: Limits) -> Any:
    """A manager of transformers that is not started; the caller starts and stops it."""
    from transformers import GenerationConfig
    from transformers.generation.configuration_utils import ContinuousBatchingConfig

    config = ContinuousBatchingConfig(
        page_size=_PAGE,
        num_blocks=limits.cache_tokens // _PAGE,
        max_batch_tokens=limits.step_tokens,
        max_requests_per_batch=limits.slots,
        allow_block_sharing=limits.share_prefixes,
        use_async_batching=False,
        use_cuda_graph=False,
        auto_switch_to_flash=False,
    )
    # -1 is no token: an answer goes on to its full length, as with the other engines.
    settings = {"do_sample": False, "eos_token_id": -1, "pad_token_id": 0, "max_new_tokens": 1}
    plan = GenerationConfig.from_dict(settings)
    return model.init_continuous_batching(generation_config=plan, continuous_batching_config=config)


class Continuous:
    """A running manager; a request that is done makes room at once."""

    by_wall = False

    def __init__(self, model: Any, limits: Limits) -> None:
        self._model = model
        self._limits = limits
        self._manager: Any = None
        self._served = 0

    def __enter__(self) -> Self:
        import torch

        self._manager = make_manager(self._model, self._limits)
        with torch.inference_mode():  # its thread takes over the mode of whoever starts it
            self._manager.start()
        self._collect([Request(0, (1, 2, 3, 4), 2)])  # its cache is made with the first request
        return self

    def __exit__(self, *_: object) -> None:
        self._manager.stop(block=True)
        self._manager.destroy()

    def memory_bytes(self) -> int:
        """Resident memory of this process."""
        return resident_bytes()

    def run(self, requests: Sequence[Request]) -> Run:
        """All at once; the manager admits as many as it has slots."""
        clock = Stopwatch()
        outputs = self._collect(requests)
        return Run(outputs, clock.spent())

    def run_alone(self, requests: Sequence[Request]) -> Run:
        """One after another, each waited for."""
        outputs: dict[int, list[int]] = {}
        each: dict[int, Spent] = {}
        clock = Stopwatch()
        for request in requests:
            own = Stopwatch()
            outputs |= self._collect([request])
            each[request.id] = own.spent()
        return Run(outputs, clock.spent(), each)

    def _collect(self, requests: Sequence[Request]) -> dict[int, list[int]]:
        self._served += 1  # ids are never used twice
        names = {f"{self._served}-{request.id}": request.id for request in requests}
        for name, request in zip(names, requests, strict=True):
            self._manager.add_request(
                list(request.prompt), request_id=name, max_new_tokens=request.output_tokens
            )
        outputs: dict[int, list[int]] = {}
        while len(outputs) < len(requests):
            result = self._manager.get_result(timeout=_PATIENCE_S)
            if result is None or result.error:
                why = result.error if result else f"no answer within {_PATIENCE_S:g} s"
                raise LabkitError(f"transformers' continuous batching failed: {why}.")
            if result.is_finished():
                outputs[names[result.request_id]] = list(result.generated_tokens)
        return outputs
