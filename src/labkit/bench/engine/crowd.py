"""Several users of one server at once, on the client's clock."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, TypeVar

from labkit.bench.engine.requests import Request
from labkit.bench.engine.sse import Completion, Endpoint, complete

_T = TypeVar("_T")


def ask_all(endpoint: Endpoint, requests: Sequence[Request]) -> list[Completion]:
    """Send all requests at the same moment; the answers in the order of `requests`.

    Raises ServerError when one of them fails: the others are then given up.
    """

    async def gather() -> list[Completion]:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(complete(endpoint, body_of(r))) for r in requests]
        return [task.result() for task in tasks]

    return _run(gather())


def ask_in_turn(endpoint: Endpoint, requests: Sequence[Request]) -> list[Completion]:
    """One after another: concurrency 1."""

    async def each() -> list[Completion]:
        return [await complete(endpoint, body_of(request)) for request in requests]

    return _run(each())


def ask_amid(
    endpoint: Endpoint, running: Sequence[Request], late: Request, after_tokens: int
) -> tuple[list[Completion], Completion, int]:
    """Let `running` stream, and send `late` once the first of them has `after_tokens` tokens.

    Returns the answers of `running`, that of `late`, and after how many gaps of the first stream
    the late one was sent.
    """

    async def scene() -> tuple[list[Completion], Completion, int]:
        async with asyncio.TaskGroup() as group:
            heard = asyncio.Event()
            first = group.create_task(
                complete(endpoint, body_of(running[0]), on_token=_after(heard, after_tokens))
            )
            first.add_done_callback(lambda _: heard.set())  # a server may merge tokens
            rest = [group.create_task(complete(endpoint, body_of(r))) for r in running[1:]]
            await heard.wait()
            last = group.create_task(complete(endpoint, body_of(late)))
        done = first.result()
        sent = sum(1 for at in done.arrivals if at <= last.result().asked)
        return [done, *(task.result() for task in rest)], last.result(), max(0, sent - 1)

    return _run(scene())


def body_of(request: Request) -> dict[str, Any]:
    """Greedy, of exactly the wanted length, with the token ids in the answer."""
    return {
        "prompt": list(request.prompt),
        "max_tokens": request.output_tokens,
        "temperature": 0,
        "ignore_eos": True,
        "return_token_ids": True,
    }


def _after(heard: asyncio.Event, count: int) -> Callable[[int], None]:
    def note(number: int) -> None:
        if number >= count:
            heard.set()

    return note


def _run(scene: Coroutine[Any, Any, _T]) -> _T:
    try:
        return asyncio.run(scene)
    except ExceptionGroup as group:
        raise group.exceptions[0] from None
