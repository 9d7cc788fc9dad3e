"""What torch's profiler writes down about one call, as plain dictionaries (Chrome's trace format).

The trace names the machine; nothing of it but operator names and byte counts goes into a record.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

_MEMORY = "[memory]"
_HOST = 0  # c10::DeviceType::CPU


def traced(step: Callable[[], object]) -> list[dict[str, Any]]:
    """The events of one call of `step`, its result freed at once; CPU side and host memory only."""
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler:
        step()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.json"
        profiler.export_chrome_trace(str(path))
        events: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))["traceEvents"]
    return events


def peak_of(events: Iterable[Mapping[str, Any]]) -> int:
    """The most bytes that were allocated at once, counted from the start of the trace.

    >>> grow = {"name": "[memory]", "ts": 1, "args": {"Bytes": 30, "Device Type": 0}}
    >>> free = {"name": "[memory]", "ts": 2, "args": {"Bytes": -30, "Device Type": 0}}
    >>> peak_of([free, grow, grow | {"ts": 3}])
    30
    """
    changes = sorted(
        (float(event["ts"]), int(event["args"]["Bytes"]))
        for event in events
        if event.get("name") == _MEMORY and event["args"].get("Device Type") == _HOST
    )
    held = peak = 0
    for _, size in changes:
        held += size
        peak = max(peak, held)
    return peak
