"""`python -m benchmarks.peers.worker NAME`: one tool, asked by lines of JSON on standard input.

Runs in the environment that holds the tool, so it imports nothing of labkit. For each question it
prints one line: {"prefill_ms", "step_ms", "memory_gb", "steady"} or {"unsupported": reason}. The
first line is {"version"}. With `--time SECONDS` it answers the first question again and again for
that long and prints {"microseconds": median of one call, "calls"}.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict
from statistics import median
from typing import Any

from benchmarks.peers.question import Question, Times, Unsupported
from benchmarks.peers.registry import PEERS


def reply(answer: Callable[[Question], Times], question: Question) -> dict[str, Any]:
    """The answer as JSON would write it; a refusal is an answer."""
    try:
        return asdict(answer(question))
    except Unsupported as reason:
        return {"unsupported": str(reason)}


def timed(
    answer: Callable[[Question], Times], question: Question, seconds: float
) -> dict[str, Any]:
    """Median wall time of one call, after ten that warm up."""
    for _ in range(10):
        answer(question)
    took = []
    end = time.perf_counter() + seconds
    while (start := time.perf_counter()) < end:
        answer(question)
        took.append(time.perf_counter() - start)
    return {"microseconds": median(took) * 1e6, "calls": len(took)}


def main(arguments: list[str], lines: Iterable[str]) -> int:
    """Serve until the input ends."""
    peer = PEERS[arguments[0]]
    answer = peer.load().answer
    print(json.dumps({"version": peer.version()}), flush=True)
    for line in lines:
        question = Question.from_json(line)
        if "--time" in arguments:
            seconds = float(arguments[arguments.index("--time") + 1])
            print(json.dumps(timed(answer, question, seconds)), flush=True)
            break
        print(json.dumps(reply(answer, question)), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], sys.stdin))
