"""How the small server is started: this Python, transformers, plain or continuous."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, replace

from labkit.bench.engine import small_server
from labkit.bench.engine.launch import ServerSpec

LABELS = {
    "plain": "transformers behind HTTP, one request at a time",
    "continuous": "transformers behind HTTP, continuous batching",
}
_MEMORY_BYTES = 3 << 30


def small_server_spec(options: small_server.Options) -> ServerSpec:
    """A server of this very Python; `options.port` is filled in when it starts."""

    def command(port: int, _key: str) -> Sequence[str]:
        filled = json.dumps(asdict(replace(options, port=port)))
        return [sys.executable, "-P", "-m", small_server.__name__, filled]

    def environment(key: str) -> dict[str, str]:
        return {small_server.KEY_VARIABLE: key}

    return ServerSpec(LABELS[options.kind], command, environment, _MEMORY_BYTES)
