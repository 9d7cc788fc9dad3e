"""llama.cpp through the package xllamacpp: decode and prefill of a GGUF file on the CPU.

It runs inside the worker, so its time is the process's CPU time. Its server object also listens on
the loopback interface; nothing here connects to it.
"""

from __future__ import annotations

import importlib.util
import itertools
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from labkit.bench.quant.speed import (
    PREFILLS,
    PROMPT_TOKENS,
    WARM_TOKENS,
    add_decode,
    add_prefill,
    decode_tokens,
    quietest,
)
from labkit.bench.sampling import Samples
from labkit.bench.session import Measured, Session
from labkit.contract import LabkitError
from labkit.contract.remedies import set_up_again

_CONTEXT = 512
# Tokens take 10 to 30 ms here, so short that one change of process would double one of them.
_PER_SAMPLE = 3
_QUIET = -1


def missing() -> str | None:
    """Why llama.cpp cannot be used and what to do, or None where it is installed."""
    if importlib.util.find_spec("xllamacpp") is not None:
        return None
    remedy = set_up_again("`pip install xllamacpp`")
    return f"llama.cpp (the package xllamacpp) is not installed: get it with {remedy}."


def time_llama(
    session: Session, measured: Measured, key: str, label: str, path: Path, ids: Sequence[int]
) -> str:
    """Add llama.<key>.step, .cpu and .prefill of the file at `path`; `ids` is one window.

    Returns the text that it wrote greedily after the first 32 tokens of the window.
    """
    import xllamacpp

    engine = xllamacpp.Server(_options(xllamacpp, path, session.threads))
    texts: list[str] = []

    def decode() -> Samples:
        samples, text = _decode(engine, ids[:PROMPT_TOKENS], _PER_SAMPLE * decode_tokens(session))
        texts.append(text)
        return samples

    decoded = quietest(session, decode)
    filled = session.time(
        lambda: _complete(engine, ids, 1, None),
        min_samples=PREFILLS,
        max_samples=PREFILLS,
        attempts=1,
    )
    add_decode(measured, f"llama.{key}", f"llama.cpp {label}", decoded)
    add_prefill(measured, f"llama.{key}", f"llama.cpp {label}", len(ids), filled)
    return texts[-1]


def _options(xllamacpp: Any, path: Path, threads: int) -> Any:
    options = xllamacpp.CommonParams()
    options.model.path = str(path)
    options.n_ctx = _CONTEXT
    options.n_parallel = 1
    options.n_gpu_layers = 0
    options.cpuparams.n_threads = threads
    options.cpuparams_batch.n_threads = threads
    options.verbosity = _QUIET
    return options


def _decode(engine: Any, prompt: Sequence[int], tokens: int) -> tuple[Samples, str]:
    """One sample is the mean of three tokens, from arrivals of the stream; and the whole text."""
    arrivals: list[tuple[float, float]] = []
    pieces: list[str] = []

    def arrived(piece: Any) -> None:
        arrivals.append((time.perf_counter(), time.process_time()))
        pieces.append(str(piece["choices"][0]["text"]))

    # Beside the samples: the first token, which ends the prefill, and the warm ones.
    _complete(engine, prompt, 1 + WARM_TOKENS + tokens, arrived)
    # The last arrival only says that it is over. A character of several tokens arrives as one.
    marks = arrivals[WARM_TOKENS:-1]
    if len(marks) < 0.9 * tokens:
        raise LabkitError(
            f"llama.cpp streamed {len(arrivals)} pieces and {tokens} tokens were to be timed: "
            "install the version of xllamacpp that labkit names."
        )
    pairs = list(itertools.pairwise(marks[::_PER_SAMPLE]))
    samples = Samples(
        wall_s=tuple((after[0] - before[0]) / _PER_SAMPLE for before, after in pairs),
        cpu_s=tuple((after[1] - before[1]) / _PER_SAMPLE for before, after in pairs),
    )
    return samples, "".join(pieces)


def _complete(
    engine: Any, prompt: Sequence[int], tokens: int, arrived: Callable[[Any], None] | None
) -> None:
    """Greedy completion of token ids, with no use of an earlier prompt's cache."""
    request = {
        "prompt": list(prompt),
        "n_predict": tokens,
        "max_tokens": tokens,
        "ignore_eos": True,
        "temperature": 0,
        "cache_prompt": False,
        "stream": arrived is not None,
    }
    if arrived is None:
        engine.handle_completions(request)
    else:
        engine.handle_completions(request, arrived)
