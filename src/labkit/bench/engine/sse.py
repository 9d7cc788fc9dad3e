"""A client for one streamed completion: HTTP/1.1 over asyncio, server-sent events, clock readings.

Small on purpose: the time of each token's arrival is what is measured, and nothing stands between
the socket and the clock.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import ssl
import time
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from labkit.contract import LabkitError

DONE = "[DONE]"
_LINE_LIMIT = 1 << 20
_ERROR_TEXT = 300


class ServerError(LabkitError):
    """A server refused, broke off or spoke something else; the message holds its words."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where an OpenAI-compatible server is, up to and with ``/v1``, and the key it wants."""

    base_url: str
    model: str
    key: str = ""


@dataclass(slots=True)
class Completion:
    """One answer. Times are `time.perf_counter` readings.

    `arrivals` holds one reading per event that brought text or tokens; `token_ids` stays empty
    where a server does not tell them.
    """

    asked: float
    arrivals: list[float] = field(default_factory=list)
    token_ids: list[int] = field(default_factory=list)
    text: str = ""
    ended: float = 0.0

    @property
    def ttft_s(self) -> float:
        """Seconds from the question to the first token."""
        return self.arrivals[0] - self.asked

    @property
    def e2e_s(self) -> float:
        """Seconds from the question to the end of the answer."""
        return self.ended - self.asked

    @property
    def gaps_s(self) -> list[float]:
        """Inter-token latencies: seconds between one arrival and the next."""
        return [b - a for a, b in zip(self.arrivals, self.arrivals[1:], strict=False)]


async def complete(
    endpoint: Endpoint,
    body: Mapping[str, Any],
    timeout_s: float = 300.0,
    on_token: Callable[[int], None] | None = None,
) -> Completion:
    """Ask for one streamed completion; `on_token` hears how many events have brought tokens.

    Raises ServerError, also when nothing was answered.
    """
    full = {"model": endpoint.model, "stream": True, **body}
    answer = Completion(asked=time.perf_counter())
    try:
        async with asyncio.timeout(timeout_s):
            async for event in _events(endpoint, full):
                _take(answer, event)
                if on_token:
                    on_token(len(answer.arrivals))
    except TimeoutError:
        raise ServerError(f"{endpoint.base_url} did not finish within {timeout_s:g} s.") from None
    except (OSError, EOFError, ValueError) as error:
        raise ServerError(f"{endpoint.base_url} broke off: {error}.") from error
    answer.ended = time.perf_counter()
    if not answer.arrivals:
        raise ServerError(f"{endpoint.base_url} ended its answer without a single token.")
    return answer


def _take(answer: Completion, event: str) -> None:
    data = json.loads(event)
    if "error" in data:
        raise ServerError(f"The server says: {_short(data['error'])}.")
    for choice in data.get("choices", ()):
        ids, text = choice.get("token_ids") or (), choice.get("text") or ""
        if ids or text:
            answer.arrivals.append(time.perf_counter())
            answer.token_ids += ids
            answer.text += text


async def _events(endpoint: Endpoint, body: Mapping[str, Any]) -> AsyncIterator[str]:
    """The data of each server-sent event, up to the one that says DONE."""
    parts = urlsplit(endpoint.base_url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise ServerError(f"{endpoint.base_url!r} is not an http or https address.")
    secure = ssl.create_default_context() if parts.scheme == "https" else None
    port = parts.port or (443 if secure else 80)
    reader, writer = await asyncio.open_connection(
        parts.hostname, port, ssl=secure, limit=_LINE_LIMIT
    )
    try:
        payload = json.dumps(body).encode()
        head = [
            f"POST {parts.path.rstrip('/')}/completions HTTP/1.1",
            f"Host: {parts.netloc}",
            "Content-Type: application/json",
            "Accept: text/event-stream",
            "Connection: close",
            f"Content-Length: {len(payload)}",
        ]
        if endpoint.key:
            head.append(f"Authorization: Bearer {endpoint.key}")
        writer.write("\r\n".join(head).encode() + b"\r\n\r\n" + payload)
        await writer.drain()
        status, headers = await _head(reader)
        lines = _lines(_chunks(reader, headers))
        if status != 200:
            said = " ".join([line async for line in lines])
            raise ServerError(f"The server answered {status}: {_short(said) or 'no reason given'}.")
        async for line in lines:
            data = line.removeprefix("data:").strip()
            if line.startswith("data:") and data == DONE:
                return
            if line.startswith("data:"):
                yield data
    finally:
        writer.close()
        with contextlib.suppress(OSError):  # it may be broken already
            await writer.wait_closed()


async def _head(reader: asyncio.StreamReader) -> tuple[int, dict[str, str]]:
    words = (await reader.readline()).split(maxsplit=2)
    if len(words) < 2 or not words[0].startswith(b"HTTP/") or not words[1].isdigit():
        raise ServerError("What answers there does not speak HTTP.")
    headers: dict[str, str] = {}
    while line := (await reader.readline()).strip():
        name, _, value = line.decode("latin-1").partition(":")
        headers[name.lower()] = value.strip()
    return int(words[1]), headers


async def _chunks(reader: asyncio.StreamReader, headers: Mapping[str, str]) -> AsyncIterator[bytes]:
    """The body, piece by piece as it comes."""
    if headers.get("transfer-encoding", "").lower() != "chunked":
        while piece := await reader.read(1 << 16):
            yield piece
        return
    while size := int((await reader.readline()).split(b";")[0] or b"0", 16):
        yield await reader.readexactly(size)
        await reader.readexactly(2)  # the line end that closes a chunk


async def _lines(pieces: AsyncIterator[bytes]) -> AsyncIterator[str]:
    rest = b""
    async for piece in pieces:
        *whole, rest = (rest + piece).split(b"\n")
        for line in whole:
            yield line.decode("utf-8", errors="replace").rstrip("\r")
    if rest:
        yield rest.decode("utf-8", errors="replace")


def _short(value: object) -> str:
    return " ".join(str(value).split())[:_ERROR_TEXT].rstrip(".")
