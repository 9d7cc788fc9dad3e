"""The worker process: ``python -m labkit.bench.worker JOB OPTIONS`` runs one job and reports.

JOB is a name of the registry, or "module:function" for a function of (options, report).
It speaks JSON lines on standard output: {"event": "progress" | "result" | "error", …}. Whatever a
library prints goes to standard error instead. When its standard input closes, its parent is gone,
and it ends itself and its children.
"""

from __future__ import annotations

import importlib
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import asdict
from datetime import UTC, datetime
from importlib import metadata
from typing import IO, Any

from labkit.bench import device, guard, noise
from labkit.bench.hardware import describe
from labkit.bench.progress import Progress
from labkit.bench.registry import BENCHES, TASKS, Bench
from labkit.bench.session import Measured, Session, Steps
from labkit.contract import LabkitError, Record

# Noisy series are taken again within this time from the start; later ones get one try.
_RETRIES_S = 35.0
_LIBRARIES = ("torch", "transformers", "numpy")


def main(arguments: list[str]) -> int:
    """Run the job named first, with the JSON options that follow. Returns the exit code."""
    channel = _claim_stdout()
    _die_with_parent()
    name, options = arguments[0], json.loads(arguments[1])

    def tell(event: str, **content: Any) -> None:
        channel.write(json.dumps({"event": event, **content}) + "\n")
        channel.flush()

    def report(progress: Progress) -> None:
        tell("progress", progress=asdict(progress))

    try:
        if name in BENCHES:
            result = _measure(BENCHES[name], options, report).to_json()
        else:
            result = _find(TASKS.get(name, name))(options, report)
    except LabkitError as error:
        tell("error", message=str(error))
        return 2
    except MemoryError:
        tell("error", message=_too_big(name))
        return 2
    except RuntimeError as error:
        # torch's own allocators raise plain RuntimeErrors; "allocate" is in all their messages.
        if "allocate" not in str(error) and "out of memory" not in str(error):
            raise
        tell("error", message=_too_big(name))
        return 2
    tell("result", result=result)
    return 0


def _measure(bench: Bench, options: dict[str, Any], report: Callable[[Progress], None]) -> Record:
    began, cpu = time.perf_counter(), time.process_time()
    threads = int(options.get("threads", 1))
    steps = Steps(bench.steps)
    report(steps.begin("loading torch"))
    where = device.pick(options.get("device"))
    if where.kind not in bench.devices:
        raise LabkitError(
            f"bench.{bench.id}() does not apply to this machine's {where.kind.upper()}: "
            f"it runs on {' or '.join(kind.upper() for kind in bench.devices)}. {bench.elsewhere}"
        )
    import torch

    torch.set_num_threads(threads)
    guarded = where.kind == "cpu" and guard.limit_address_space(bench.memory_bytes)
    quick = bool(options.get("quick"))
    session = Session(
        device=where.kind,
        quick=quick,
        threads=threads,
        report=report,
        retry_until=time.perf_counter() + (_RETRIES_S / 3 if quick else _RETRIES_S),
        options=options,
        steps=steps,
    )
    found: Measured = _find(bench.job)(session)
    return Record(
        id=bench.id,
        title=bench.title,
        live=True,
        made_on=datetime.now(UTC).date().isoformat(),
        hardware=describe(where.describe()),
        versions=_versions(),
        series=tuple(found.series),
        facts={
            noise.DEVICE: where.kind,
            noise.THREADS: threads,
            "quick": quick,
            "address_space_limit_bytes": bench.memory_bytes if guarded else None,
            **found.facts,
            noise.CPU_SHARE: found.cpu_share,
        },
        wall_s=round(time.perf_counter() - began, 3),
        cpu_s=round(time.process_time() - cpu, 3),
        notes=tuple(found.notes),
    )


def _versions() -> dict[str, str]:
    found = {"python": ".".join(map(str, sys.version_info[:3]))}
    for name in _LIBRARIES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:  # then the job did without it
            continue
    return found


def _find(target: str) -> Callable[..., Any]:
    module, _, function = target.partition(":")
    found: Callable[..., Any] = getattr(importlib.import_module(module), function)
    return found


def _too_big(name: str) -> str:
    return (
        f"The measurement {name!r} ran into its memory limit: close other notebooks or programs "
        "and run it again, or use replay=True."
    )


def _claim_stdout() -> IO[str]:
    """Keep the real standard output for our events; prints of libraries go to standard error."""
    channel = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    return channel


def _die_with_parent() -> None:
    """End this process group when standard input closes."""

    def watch() -> None:
        while os.read(0, 1):
            continue
        if hasattr(os, "killpg") and os.getpgrp() == os.getpid():
            os.killpg(0, signal.SIGKILL)
        os._exit(1)

    threading.Thread(target=watch, name="parent-watch", daemon=True).start()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
