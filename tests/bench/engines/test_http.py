"""The small server and the client against each other, and each against what is wrong."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit.bench.engine.http_server import Asked, BadRequest, read_asked, serve
from labkit.bench.engine.launch import free_port
from labkit.bench.engine.sse import Completion, Endpoint, ServerError, complete

KEY = "a-key"
BODY = {"prompt": [7, 8], "max_tokens": 3, "temperature": 0, "ignore_eos": True}


class Counting:
    """A back end that counts up from the last token of the prompt."""

    max_tokens = 64

    def __init__(self, ready: bool = True, fails_at: int | None = None) -> None:
        self.ready = ready
        self._fails_at = fails_at

    async def stream(self, asked: Asked) -> AsyncIterator[int]:
        for step in range(asked.output_tokens):
            if step == self._fails_at:
                raise RuntimeError("out of cache")
            await asyncio.sleep(0.01)
            yield asked.prompt[-1] + 1 + step


def with_server(
    backend: Counting, scene: Callable[[Endpoint], Awaitable[Completion]]
) -> Completion:
    async def run() -> Completion:
        port = free_port()
        server = asyncio.create_task(serve(backend, port, KEY))
        await asyncio.sleep(0.05)
        try:
            return await scene(Endpoint(f"http://127.0.0.1:{port}/v1", "m", KEY))
        finally:
            await asyncio.sleep(0.05)  # its side of the connection ends too
            server.cancel()

    return asyncio.run(run())


def ask(backend: Counting, body: dict[str, Any] | None = None, key: str = KEY) -> Completion:
    async def scene(endpoint: Endpoint) -> Completion:
        return await complete(Endpoint(endpoint.base_url, "m", key), body or BODY)

    return with_server(backend, scene)


Speaker = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


async def ask_stranger(speak: Speaker, timeout_s: float) -> None:
    """Ask what is not our server."""
    server = await asyncio.start_server(speak, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with server:
        try:
            await complete(Endpoint(f"http://127.0.0.1:{port}/v1", "m"), BODY, timeout_s)
        finally:
            await asyncio.sleep(0.05)  # its side of the connection ends too


def test_tokens_arrive_one_by_one() -> None:
    answer = ask(Counting())
    assert answer.token_ids == [9, 10, 11]
    assert len(answer.arrivals) == 3
    assert answer.asked < answer.arrivals[0] < answer.arrivals[2] <= answer.ended
    assert len(answer.gaps_s) == 2
    assert min(answer.gaps_s) > 0.005
    assert 0 < answer.ttft_s < answer.e2e_s


@pytest.mark.parametrize(
    ("backend", "body", "key", "message"),
    [
        (Counting(), BODY, "wrong", "answered 401: .*key is missing or wrong"),
        (Counting(), BODY, "", "answered 401"),
        (Counting(ready=False), BODY, KEY, "answered 503: .*not loaded yet"),
        (Counting(), {**BODY, "prompt": "text"}, KEY, "answered 400: .*list of token ids"),
        (Counting(), {**BODY, "max_tokens": 0}, KEY, "answered 400: .*at least 1, not 0"),
        (Counting(), {**BODY, "max_tokens": 63}, KEY, "answered 400: .*may have 64 tokens"),
        (Counting(), {**BODY, "temperature": 1}, KEY, "answered 400: .*only knows"),
        (Counting(fails_at=0), BODY, KEY, "The server says: out of cache"),
        (Counting(fails_at=2), BODY, KEY, "The server says: out of cache"),
    ],
)
def test_refusals_are_said(backend: Counting, body: dict[str, Any], key: str, message: str) -> None:
    with pytest.raises(ServerError, match=message):
        ask(backend, body, key)


def test_other_paths_are_not_there() -> None:
    async def scene(endpoint: Endpoint) -> Completion:
        return await complete(Endpoint(endpoint.base_url + "/x", "m", KEY), BODY)

    with pytest.raises(ServerError, match=r"answered 404: .*there is no POST /v1/x/completions"):
        with_server(Counting(), scene)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (b"", "does not speak HTTP"),
        (b"220 mail ready\r\n", "does not speak HTTP"),
        (b"HTTP/1.1 200 OK\r\n\r\n", "without a single token"),
        (b"HTTP/1.1 200 OK\r\n\r\ndata: [DONE]\n\n", "without a single token"),
        (b"HTTP/1.1 200 OK\r\n\r\ndata: {oops\n\n", "broke off"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nff\r\ndata", "broke off"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", "broke off"),
        (b"HTTP/1.1 500 no\r\n\r\nall is lost", "answered 500: all is lost"),
    ],
)
def test_what_is_no_such_server_is_told(answer: bytes, message: str) -> None:
    async def speak(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answer)
        await writer.drain()
        writer.close()

    with pytest.raises(ServerError, match=message):
        asyncio.run(ask_stranger(speak, timeout_s=10))


def test_a_silent_server_is_given_up() -> None:
    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    with pytest.raises(ServerError, match=r"did not finish within 0\.2 s"):
        asyncio.run(ask_stranger(silent, timeout_s=0.2))


@pytest.mark.parametrize("url", ["ftp://127.0.0.1/v1", "127.0.0.1:8000", "http://"])
def test_addresses_are_checked(url: str) -> None:
    with pytest.raises(ServerError, match="is not an http or https address"):
        asyncio.run(complete(Endpoint(url, "m"), BODY))


def test_nobody_there_is_told() -> None:
    with pytest.raises(ServerError, match="broke off"):
        asyncio.run(complete(Endpoint(f"http://127.0.0.1:{free_port()}/v1", "m"), BODY))


@given(st.binary(max_size=200))
def test_no_body_does_more_than_be_refused(body: bytes) -> None:
    with pytest.raises(BadRequest):
        read_asked(body, 64)


def test_a_deep_body_is_refused_too() -> None:
    with pytest.raises(BadRequest, match="not JSON"):
        read_asked(b"[" * 100_000, 64)


@given(
    st.dictionaries(
        st.sampled_from(["prompt", "max_tokens", "temperature", "stream", "n"]),
        st.one_of(st.none(), st.booleans(), st.integers(), st.text(), st.lists(st.integers())),
    )
)
def test_what_is_accepted_is_within_the_limits(data: dict[str, Any]) -> None:
    try:
        asked = read_asked(json.dumps(data).encode(), 64)
    except BadRequest:
        return
    assert 1 <= asked.output_tokens <= 63
    assert asked.prompt
    assert len(asked.prompt) + asked.output_tokens <= 64
    assert min(asked.prompt) >= 0
