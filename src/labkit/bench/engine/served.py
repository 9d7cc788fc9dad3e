"""A server as one of the modes: requests go in over HTTP, and its processes' CPU seconds count."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Self

from labkit.bench.engine.crowd import ask_all, ask_in_turn
from labkit.bench.engine.launch import Server, ServerSpec
from labkit.bench.engine.modes import Run, Spent
from labkit.bench.engine.requests import Request
from labkit.bench.engine.sse import Completion, Endpoint
from labkit.bench.progress import Report


class Served:
    """A server that this process starts and ends."""

    by_wall = False

    def __init__(self, spec: ServerSpec, report: Report) -> None:
        self._server = Server(spec, report)

    def __enter__(self) -> Self:
        self._server.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.__exit__()

    def memory_bytes(self) -> int:
        """Resident memory of the server's processes; the client is left out."""
        return self._server.memory_bytes()

    def run(self, requests: Sequence[Request]) -> Run:
        """All at once; the server queues what it has no room for."""
        return self._timed(ask_all, requests)

    def run_alone(self, requests: Sequence[Request]) -> Run:
        """One after another."""
        return self._timed(ask_in_turn, requests)

    def _timed(
        self,
        ask: Callable[[Endpoint, Sequence[Request]], list[Completion]],
        requests: Sequence[Request],
    ) -> Run:
        cpu, wall = self._server.cpu_s(), time.perf_counter()
        answers = ask(self._server.endpoint, requests)
        spent = Spent(self._server.cpu_s() - cpu, time.perf_counter() - wall)
        return Run(_outputs(requests, answers), spent)


class Remote:
    """A server that somebody else runs: its CPU seconds are not ours to see, so wall seconds count.

    Where it does not tell token ids, `encode` makes them of its text.
    """

    by_wall = True

    def __init__(self, endpoint: Endpoint, encode: Callable[[str], list[int]]) -> None:
        self._endpoint = endpoint
        self._encode = encode

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def memory_bytes(self) -> int:
        """Not known: 0."""
        return 0

    def run(self, requests: Sequence[Request]) -> Run:
        """All at once."""
        return self._timed(ask_all, requests)

    def run_alone(self, requests: Sequence[Request]) -> Run:
        """One after another."""
        return self._timed(ask_in_turn, requests)

    def _timed(
        self,
        ask: Callable[[Endpoint, Sequence[Request]], list[Completion]],
        requests: Sequence[Request],
    ) -> Run:
        began = time.perf_counter()
        answers = ask(self._endpoint, requests)
        wall = time.perf_counter() - began
        for answer in answers:
            answer.token_ids = answer.token_ids or self._encode(answer.text)
        return Run(_outputs(requests, answers), Spent(0.0, wall))


def _outputs(requests: Sequence[Request], answers: Sequence[Completion]) -> dict[int, list[int]]:
    return {r.id: answer.token_ids for r, answer in zip(requests, answers, strict=True)}
