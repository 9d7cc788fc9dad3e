"""``python -m labkit.bench.engine.small_server OPTIONS``: SmolLM2 behind HTTP, in two ways.

"plain" serves one request at a time, as a server does that calls `generate`; "continuous" uses
transformers' continuous batching. OPTIONS is JSON: the fields of `Options`. The key comes by the
environment, so that no list of processes shows it.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import threading
import traceback
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

from labkit.bench.engine.continuous import Limits, make_manager
from labkit.bench.engine.generate import never_stop
from labkit.bench.engine.http_server import Asked, serve
from labkit.bench.guard import limit_address_space

KEY_VARIABLE = "LABKIT_SERVER_KEY"
_MAX_TOKENS = 512
# The process is given this much address space on Linux; torch alone maps about 2 GiB of it.
_ADDRESS_BYTES = 6 << 30


@dataclass(frozen=True, slots=True)
class Options:
    """How to serve which model folder on which port of loopback."""

    kind: str
    folder: str
    port: int
    slots: int = 8
    step_tokens: int = 512
    share_prefixes: bool = False


class _Loaded:
    """What both back ends share: a model that is loaded in a thread while health says 503."""

    max_tokens = _MAX_TOKENS

    def __init__(self, options: Options) -> None:
        self._options = options
        self._model: Any = None
        self.ready = False

    def load(self) -> None:
        """Load the model; then `ready` is true."""
        import torch
        from transformers import AutoModelForCausalLM

        torch.set_num_threads(1)
        self._model = AutoModelForCausalLM.from_pretrained(
            self._options.folder, dtype=torch.float32, attn_implementation="sdpa"
        )
        self._model.eval()
        never_stop(self._model)
        self.start()
        self.ready = True

    def start(self) -> None:
        """Whatever else must stand before the first request."""


class Plain(_Loaded):
    """One request at a time: the others wait in line."""

    def __init__(self, options: Options) -> None:
        super().__init__(options)
        self._turn = asyncio.Lock()

    async def stream(self, asked: Asked) -> AsyncIterator[int]:
        """Tokens of `generate`, handed over by its streamer as they come."""
        async with self._turn:
            loop = asyncio.get_running_loop()
            tokens: asyncio.Queue[int | BaseException | None] = asyncio.Queue()

            def put(item: int | BaseException | None) -> None:
                loop.call_soon_threadsafe(tokens.put_nowait, item)

            work = loop.run_in_executor(None, self._generate, asked, put)
            while (item := await tokens.get()) is not None:
                if isinstance(item, BaseException):
                    raise RuntimeError(str(item)) from item
                yield item
            await work

    def _generate(self, asked: Asked, put: Any) -> None:
        import torch

        prompt = torch.tensor([asked.prompt])
        try:
            with torch.inference_mode():
                self._model.generate(
                    prompt,
                    attention_mask=torch.ones_like(prompt),
                    max_new_tokens=asked.output_tokens,
                    streamer=_Streamer(put),
                )
            put(None)
        except Exception as error:  # noqa: BLE001  whatever it is, the client is told
            put(error)


class _Streamer:
    """What `generate` calls with the prompt first and then with every token."""

    def __init__(self, put: Any) -> None:
        self._put = put
        self._prompt_seen = False

    def put(self, value: Any) -> None:
        """Pass on; the first call is the prompt."""
        if self._prompt_seen:
            for token in value.flatten().tolist():
                self._put(token)
        self._prompt_seen = True

    def end(self) -> None:
        """The end is told by whoever called `generate`."""


class Batching(_Loaded):
    """transformers' continuous batching."""

    def __init__(self, options: Options) -> None:
        super().__init__(options)
        self._manager: Any = None
        self._count = 0

    def start(self) -> None:
        """Start the manager's own thread."""
        import torch

        limits = Limits(
            slots=self._options.slots,
            step_tokens=self._options.step_tokens,
            share_prefixes=self._options.share_prefixes,
        )
        self._manager = make_manager(self._model, limits)
        with torch.inference_mode():
            self._manager.start()

    async def stream(self, asked: Asked) -> AsyncIterator[int]:
        """Tokens as each step of the batch brings them."""
        self._count += 1
        name = f"request-{self._count}"
        results: asyncio.Queue[Any] = asyncio.Queue()
        self._manager.register_result_handler(name, results.put_nowait)
        self._manager.add_request(
            list(asked.prompt),
            request_id=name,
            max_new_tokens=asked.output_tokens,
            streaming=True,
        )
        told = 0
        while told < asked.output_tokens:
            result = await results.get()
            if result.error:
                raise RuntimeError(result.error)
            for token in result.generated_tokens[told:]:
                yield int(token)
            told = len(result.generated_tokens)


BACKENDS: dict[str, type[Plain | Batching]] = {"plain": Plain, "continuous": Batching}


def main(arguments: list[str]) -> int:
    """Serve until killed; exit code 1 when the model cannot be loaded."""
    options = Options(**json.loads(arguments[0]))
    limit_address_space(_ADDRESS_BYTES)

    async def run() -> None:
        backend = BACKENDS[options.kind](options)
        threading.Thread(target=_load_or_leave, args=(backend,), daemon=True).start()
        await serve(backend, options.port, os.environ[KEY_VARIABLE])

    asyncio.run(run())
    return 0


def _load_or_leave(backend: Plain | Batching) -> None:
    try:
        backend.load()
    finally:
        if not backend.ready:
            # A server that will never be ready must not look like one that soon will be.
            traceback.print_exc()
            os._exit(1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
