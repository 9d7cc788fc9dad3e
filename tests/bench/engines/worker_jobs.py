"""Jobs that run in a real worker process."""

from __future__ import annotations

import time
from typing import Any

from labkit.bench.engine.launch import Server
from tests.bench.engines.fakes import fake


def serve_and_wait(options: dict[str, Any], _report: Any) -> None:
    """Start a server with a family, and stay."""
    with Server(fake("family", options["note"])):
        time.sleep(600)
