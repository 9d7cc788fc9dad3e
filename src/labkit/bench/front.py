"""The door to every measurement: live in a fresh process, or replayed, or the learner's own."""

from __future__ import annotations

from typing import Any

from labkit.bench import records
from labkit.bench.arrival import State, read_arrival, wait_for_arrival
from labkit.bench.guard import require_memory
from labkit.bench.noise import refuse_if_noisy
from labkit.bench.process import run_job
from labkit.bench.progress import Progress, ProgressLine
from labkit.bench.registry import Bench, find_bench
from labkit.contract import Record

# What a worker needs before it measures anything: torch, the libraries and the buffers.
_LEAST_MEMORY = 2 << 30


class Interrupted(KeyboardInterrupt):
    """Somebody stopped a measurement; its process is gone. Still an interrupt to a caller."""

    def _render_traceback_(self) -> list[str]:
        """What IPython prints instead of a traceback: the sentence."""
        return [str(self)]


def machine(replay: bool | None = None, quick: bool = False) -> Record:
    """Bandwidth, matrix peaks and products with B rows of this machine, one thread on a CPU.

    Series: bandwidth.read and bandwidth.copy (GB/s, GB = 1e9 bytes), gemm.fp32 and gemm.bf16
    (GFLOP/s), sweep.<dtype>.b<B> (ms for one pass of B rows through `facts["sweep"]`'s matrices).
    `replay`: True gives the recording, False measures, None follows ``LABKIT_REPLAY``.
    `quick`: fewer sizes and samples, for a first look or a test. About 30 s, quick 10 s.

    Raises NoisyMeasurement, NoRecord, LabkitError.
    """
    return measure("machine", replay=replay, quick=quick)


def decode(replay: bool | None = None, quick: bool = False) -> Record:
    """SmolLM2-135M in FP32: greedy decode of one sequence, token by token, prefill left out.

    Series: decode.step (ms) and decode.rate (tok/s) per token, decode.products (ms for its matrix
    products alone), decode.read (ms to read those weights once). Facts: streamed_bytes_per_token,
    kv_bytes_per_token, mean_context_tokens and more. About 15 s, the first time with a download.

    Raises NoisyMeasurement, NoRecord, NoWeights, LabkitError.
    """
    return measure("decode", replay=replay, quick=quick)


def big_decode(replay: bool | None = None, quick: bool = False) -> Record:
    """As `decode`, for a random-weight BF16 model that fills 60 % of a CUDA or MPS device.

    Raises LabkitError on a machine without one.
    """
    return measure("big_decode", replay=replay, quick=quick)


def memory(replay: bool | None = None, quick: bool = False) -> Record:
    """Bytes of SmolLM2-135M's real KV cache after 1 to 512 tokens, in FP32 and in BF16.

    Facts: kv ({dtype: {"tokens": […], "bytes": […]}}, K and V of all layers, exact), config (the
    five numbers that decide them), meta_parameters ({model: parameters}, counted by transformers
    without weights), on a GPU also cuda (allocated bytes, budget). Series, which never refuse the
    record: rss.growth (MB around building 512 tokens) and kv.build (ms). About 30 s, quick 10 s.

    Raises NoRecord, NoWeights, LabkitError.
    """
    return measure("memory", replay=replay, quick=quick)


def measure(
    name: str, *, replay: bool | None = None, quick: bool = False, **options: Any
) -> Record:
    """Measurement `name` of the registry. Under grading nothing is measured.

    Raises NoisyMeasurement, NoRecord, Interrupted, LabkitError.

    A live record is kept in the workspace. `options` go to the worker (`device`, `threads`).
    """
    bench = find_bench(name)
    if records.graded():
        return records.graded_record(name)
    if replay or (replay is None and records.replay_wanted()):
        return records.recording(name)
    try:
        found = _live(bench, quick, options)
    except KeyboardInterrupt:
        raise Interrupted(
            "Interrupted: the measurement has ended and nothing of it was kept. Run the cell again "
            "to start it afresh."
        ) from None
    record = refuse_if_noisy(found, recorded=records.has_recording(name))
    records.keep(record)
    return record


def _on_its_way(name: str) -> bool:
    """Whether set-up is fetching it right now.

    A fetch that failed earlier does not decide: since then the learner may have installed torch
    or found a network, and the worker finds out for itself and says what is missing.
    """
    arrival = read_arrival()
    item = arrival.item(name) if arrival else None
    if arrival is None or item is None or arrival.stopped():
        return False
    return item.state not in (State.READY, State.FAILED)


def _live(bench: Bench, quick: bool, options: dict[str, Any]) -> Record:
    with ProgressLine() as line:
        for name in bench.arrivals:
            if _on_its_way(name):
                wait_for_arrival(name, say=lambda text: line(Progress(text)))
        require_memory(_LEAST_MEMORY, f"bench.{bench.id}()")
        result = run_job(
            bench.id,
            {"quick": quick, **options},
            report=line,
            threads=int(options.get("threads", 1)),
            timeout_s=bench.timeout_s,
        )
    return Record.from_json(result)
