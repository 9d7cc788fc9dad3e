"""`labkit bench NAME`: measure this machine from a terminal, replay a recording, or make one."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import replace
from typing import Annotated

import typer

from labkit.bench import NoisyMeasurement, measure, process, progress, records
from labkit.bench.registry import BENCHES, find_bench
from labkit.bench.weights import describe_weights
from labkit.cli.common import emit_json, fail
from labkit.contract import Record

WEIGHTS = "weights"
_NAMES = ", ".join((*BENCHES, WEIGHTS))


def bench(
    name: Annotated[str, typer.Argument(help=f"One of {_NAMES}.")],
    quick: Annotated[
        bool, typer.Option("--quick", help="A first look: fewer sizes and samples.")
    ] = False,
    replay: Annotated[
        bool, typer.Option("--replay", help="Measure nothing: show another machine's recording.")
    ] = False,
    record: Annotated[
        bool,
        typer.Option("--record", help="Measure, and ship the result as the recording (authors)."),
    ] = False,
    device: Annotated[
        str | None, typer.Option(help="cuda, mps or cpu (default: the best that works here).")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the record as JSON.")] = False,
) -> None:
    """Measure this machine, or replay a recording.

    It takes from half a minute to some minutes, in a process of its own, on a CPU with one thread.
    A disturbed measurement is refused; a good one is kept in the workspace.

    `weights` measures nothing: it fetches the small model for the others.
    """
    if name == WEIGHTS:
        _fetch_weights(as_json)
        return
    find_bench(name)
    if record and (quick or replay):
        fail("--record needs a full live measurement: leave out --quick and --replay.")
    options = {"device": device} if device else {}
    try:
        found = measure(name, replay=replay or None, quick=quick, **options)
    except NoisyMeasurement as noisy:
        take = noisy.recorded and not record
        way_out = f", or take a recording: labkit bench {name} --replay" if take else "."
        fail(f"{noisy.finding} Close other programs and run it again{way_out}")
    if record:
        if not found.live:
            fail("--record needs a live measurement, and LABKIT_REPLAY asks for recordings.")
        found = replace(found, live=False)
        path = records.recordings_dir() / f"{name}.json"
        records.write(found, path)
    if as_json:
        emit_json(found.to_json())
    else:
        print(in_words(found))


def in_words(record: Record) -> str:
    """The measurement's own summary, else its list of series."""
    module, _, function = BENCHES[record.id].summary.partition(":")
    if not module:
        return repr(record)
    write: Callable[[Record], str] = getattr(importlib.import_module(module), function)
    return write(record)


def _fetch_weights(as_json: bool) -> None:
    with progress.ProgressLine() as line:
        process.run_job(WEIGHTS, report=line, timeout_s=3600)
    found = describe_weights()
    if as_json:
        emit_json(found)
    else:
        print(f"{found['label']}\n{found['meaning']}")
