"""From a tool's times to the number that the source printed.

The same for every tool, so that none is judged by another's definition. What a source's metric
includes is said by `Reading`; see benchmarks/data/README.md for each source.
"""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.peers.question import Question, Times, Unsupported


@dataclass(frozen=True, slots=True)
class Reading:
    """What the printed number is.

    prefill_inside: a rate or TPOT over the whole request, prefill and all.
    per_gpu: a rate divided by the number of GPUs.
    one_by_one: TTFT is a mean over prompts of the batch that are prefilled one after another.
    """

    metric: str
    prefill_inside: bool = False
    per_gpu: bool = False
    one_by_one: bool = False


UNITS = {
    "tpot_ms": "ms",
    "ttft_ms_p50": "ms",
    "decode_tok_s_per_user": "tokens/s",
    "decode_tok_s_total": "tokens/s",
    "prefill_tok_s": "tokens/s",
    "req_s": "requests/s",
    "latency_s": "s",
    "vram_gb": "GB",
}


def in_metric(times: Times, question: Question, reading: Reading) -> float:
    """The tool's value of the row's metric; `Unsupported` where a time it takes was not given."""
    metric = reading.metric
    if metric not in UNITS:
        raise Unsupported(f"metric {metric} is not compared")
    if metric == "vram_gb":
        return _given(times.memory_gb, "no memory")
    if metric == "ttft_ms_p50":
        return _ttft(times, question, reading)
    if metric == "prefill_tok_s":
        sequences = 1 if times.steady else question.batch
        return question.prompt_tokens * sequences / _given(times.prefill_ms, "no TTFT") * 1e3
    step = _given(times.step_ms, "no decode step")
    whole = step * question.output_tokens
    if metric == "latency_s":
        return (whole - step + _given(times.prefill_ms, "no TTFT")) / 1e3
    if not times.steady and question.prompt_tokens > 0:
        whole += _stalls(times, question, reading)
    per_token = whole / question.output_tokens
    if metric == "tpot_ms":
        return per_token
    rate = 1e3 / per_token
    if metric == "decode_tok_s_per_user":
        return rate
    total = rate * question.batch / (question.tensor_parallel if reading.per_gpu else 1)
    return total / question.output_tokens if metric == "req_s" else total


def _stalls(times: Times, question: Question, reading: Reading) -> float:
    """Ms of prefill that a request's tokens carry: its own where inside, and others' on the way.

    Where requests come and go, every other one is prefilled once while this one decodes.
    """
    if reading.prefill_inside:
        return _given(times.prefill_ms, "no TTFT") - _given(times.step_ms, "no decode step")
    if question.static or question.batch == 1 or times.prefill_ms is None:
        return 0.0
    return times.prefill_ms * (question.batch - 1) / question.batch


def _ttft(times: Times, question: Question, reading: Reading) -> float:
    ttft = _given(times.prefill_ms, "no TTFT")
    if times.steady:
        return ttft
    if reading.one_by_one:
        return ttft * (question.batch + 1) / (2 * question.batch)
    # Requests that come and go find the device busy with others, not with their whole batch.
    return ttft if question.static else ttft / question.batch


def _given(value: float | None, otherwise: str) -> float:
    if value is None:
        raise Unsupported(f"it answers {otherwise}")
    return value
