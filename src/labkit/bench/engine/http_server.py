"""A small OpenAI-compatible HTTP server on loopback: health, and streamed completions.

It stands in front of a `Backend` and knows nothing of models. ``/health`` answers 503 until the
back end is ready. Requests without the key are refused: others may share this machine.
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import json
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

HOST = "127.0.0.1"
_BODY_LIMIT = 1 << 20
_HEAD_S = 10.0
_REASONS = {
    200: "OK",
    400: "Bad Request",
    401: "Unauthorized",
    404: "Not Found",
    413: "Content Too Large",
    503: "Service Unavailable",
}


class BadRequest(Exception):  # noqa: N818  reads as what it is
    """What was asked cannot be served; the message goes to the client."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A checked request: greedy, of exactly `output_tokens` tokens."""

    prompt: tuple[int, ...]
    output_tokens: int


class Backend(Protocol):
    """What produces tokens."""

    @property
    def ready(self) -> bool:
        """Whether the model is loaded."""

    @property
    def max_tokens(self) -> int:
        """Prompt and answer together may have this many."""

    def stream(self, asked: Asked) -> AsyncIterator[int]:
        """Token after token, as they come."""


async def serve(backend: Backend, port: int, key: str) -> None:
    """Answer on loopback until cancelled."""

    async def on_connection(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        # A client that has gone away is no event for the others.
        with contextlib.suppress(ConnectionError, TimeoutError, asyncio.IncompleteReadError):
            await _answer(backend, key, reader, writer)
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()

    server = await asyncio.start_server(on_connection, HOST, port, limit=1 << 16)
    async with server:
        await server.serve_forever()


async def _answer(
    backend: Backend, key: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> None:
    try:
        async with asyncio.timeout(_HEAD_S):
            line, headers = await _read_head(reader)
            if line == ("GET", "/health"):
                await _reply(writer, 200 if backend.ready else 503, {})
                return
            if line != ("POST", "/v1/completions"):
                await _refuse(writer, 404, f"there is no {' '.join(line)}")
                return
            if not hmac.compare_digest(headers.get("authorization", ""), f"Bearer {key}"):
                await _refuse(writer, 401, "the key is missing or wrong")
                return
            length = int(headers.get("content-length", "-1"))
            if not 0 <= length <= _BODY_LIMIT:
                await _refuse(writer, 413, f"a body has at most {_BODY_LIMIT} bytes")
                return
            asked = read_asked(await reader.readexactly(length), backend.max_tokens)
    except (BadRequest, ValueError) as error:
        await _refuse(writer, 400, str(error))
        return
    if not backend.ready:
        await _refuse(writer, 503, "the model is not loaded yet")
        return
    await _stream(backend, asked, writer)


def read_asked(body: bytes, max_tokens: int) -> Asked:
    """Check a body. Raises BadRequest with what is wrong and what would be right."""
    try:
        data = json.loads(body)
    except (ValueError, RecursionError):
        raise BadRequest("the body is not JSON") from None
    if not isinstance(data, Mapping):
        raise BadRequest("the body is not a JSON object")
    prompt, wanted = data.get("prompt"), data.get("max_tokens", 16)
    if not isinstance(prompt, list) or not prompt or not all(_is_id(x) for x in prompt):
        raise BadRequest("prompt must be a list of token ids")
    if not _is_id(wanted) or wanted < 1:
        raise BadRequest(f"max_tokens must be at least 1, not {wanted!r}")
    if len(prompt) + wanted > max_tokens:
        raise BadRequest(f"prompt and answer together may have {max_tokens} tokens")
    if data.get("temperature", 0) != 0 or not data.get("stream"):
        raise BadRequest('this server only knows "temperature": 0 and "stream": true')
    return Asked(tuple(prompt), wanted)


async def _stream(backend: Backend, asked: Asked, writer: asyncio.StreamWriter) -> None:
    writer.write(_head(200, "text/event-stream", "Transfer-Encoding: chunked"))
    try:
        async for token in backend.stream(asked):
            await _event(writer, json.dumps({"choices": [{"text": "", "token_ids": [token]}]}))
        await _event(writer, "[DONE]")
    except RuntimeError as error:  # the model failed: the status line is already gone
        await _event(writer, json.dumps({"error": str(error)}))
    writer.write(b"0\r\n\r\n")
    await writer.drain()


async def _event(writer: asyncio.StreamWriter, data: str) -> None:
    event = f"data: {data}\n\n".encode()
    writer.write(f"{len(event):x}\r\n".encode() + event + b"\r\n")
    await writer.drain()


async def _read_head(
    reader: asyncio.StreamReader,
) -> tuple[tuple[str, str], dict[str, str]]:
    words = (await reader.readline()).decode("latin-1").split()
    if len(words) != 3:
        raise BadRequest("this is not HTTP")
    headers: dict[str, str] = {}
    while line := (await reader.readline()).strip():
        name, _, value = line.decode("latin-1").partition(":")
        headers[name.lower()] = value.strip()
    return (words[0], words[1]), headers


async def _refuse(writer: asyncio.StreamWriter, status: int, message: str) -> None:
    await _reply(writer, status, {"error": {"message": message}})


async def _reply(writer: asyncio.StreamWriter, status: int, content: Mapping[str, Any]) -> None:
    body = json.dumps(content).encode()
    writer.write(_head(status, "application/json", f"Content-Length: {len(body)}") + body)
    await writer.drain()


def _head(status: int, kind: str, *more: str) -> bytes:
    lines = [f"HTTP/1.1 {status} {_REASONS[status]}", f"Content-Type: {kind}", "Connection: close"]
    return ("\r\n".join([*lines, *more]) + "\r\n\r\n").encode()


def _is_id(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
