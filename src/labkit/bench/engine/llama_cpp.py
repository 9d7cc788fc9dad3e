"""llama.cpp through the package xllamacpp, on an FP32 GGUF of the very weights the others use.

It runs in the worker, so its CPU time is the process's own.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Self

from labkit.bench.engine.modes import Run, Spent, Stopwatch
from labkit.bench.engine.requests import Request
from labkit.bench.jobs.memory import resident_bytes
from labkit.bench.progress import Progress, Report
from labkit.contract import LabkitError

_SLOT_TOKENS = 256
_QUIET = -1


class LlamaCpp:
    """llama.cpp's server object with `slots` slots; its own scheduler fills them continuously."""

    by_wall = False

    def __init__(self, slots: int, report: Report) -> None:
        self._slots = slots
        self._report = report
        self._engine: Any = None

    def __enter__(self) -> Self:
        import xllamacpp

        from labkit.bench.quant.formats import FORMATS
        from labkit.bench.quant.ggufs import ensure_file
        from labkit.bench.weights import ensure_weights

        self._report(Progress("llama.cpp: writing the weights as FP32 GGUF, once"))
        options = xllamacpp.CommonParams()
        options.model.path = str(ensure_file(ensure_weights(self._report), FORMATS["fp32"]))
        options.n_parallel = self._slots
        options.n_ctx = self._slots * _SLOT_TOKENS
        options.n_gpu_layers = 0
        options.cpuparams.n_threads = options.cpuparams_batch.n_threads = 1
        options.verbosity = _QUIET
        self._engine = xllamacpp.Server(options)
        return self

    def __exit__(self, *_: object) -> None:
        self._engine = None

    def memory_bytes(self) -> int:
        """Resident memory of this process."""
        return resident_bytes()

    def run(self, requests: Sequence[Request]) -> Run:
        """All at once; a thread for each only waits for its answer."""
        clock = Stopwatch()
        with ThreadPoolExecutor(len(requests)) as pool:
            said = list(pool.map(self._complete, requests))
        outputs = {r.id: ids for r, ids in zip(requests, said, strict=True)}
        return Run(outputs, clock.spent())

    def run_alone(self, requests: Sequence[Request]) -> Run:
        """One after another."""
        outputs: dict[int, list[int]] = {}
        each: dict[int, Spent] = {}
        clock = Stopwatch()
        for request in requests:
            own = Stopwatch()
            outputs[request.id] = self._complete(request)
            each[request.id] = own.spent()
        return Run(outputs, clock.spent(), each)

    def _complete(self, request: Request) -> list[int]:
        answer = self._engine.handle_completions(
            {
                "prompt": list(request.prompt),
                "max_tokens": request.output_tokens,
                "temperature": 0,
                "ignore_eos": True,
                "cache_prompt": False,
                "n_probs": 1,  # the ids of the tokens come with their probabilities only
            }
        )
        if "choices" not in answer:
            raise LabkitError(f"llama.cpp refused a request: {answer}.")
        content = (answer["choices"][0].get("logprobs") or {}).get("content") or ()
        return [int(item["id"]) for item in content]
