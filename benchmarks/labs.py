"""How long a lab takes from its first cell to its last, and how much memory its processes hold.

`python -m benchmarks.labs 04 05 06` runs the solved labs live, in a workspace of their own;
`--replay` runs them on the recordings. What the learner would wait for is in the table: every cell
above a second, with the memory of the whole process tree (kernel, bench workers, engine servers).
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil  # type: ignore[import-untyped]  # it ships no types

from labkit.bench.engine.warden import family_memory
from labkit.contract.paths import ENV_LEARNER, ENV_REPLAY, ENV_WORKSPACE
from labkit.course.manifest import load_manifest
from labkit.course.resources import resources
from labkit.course.workspace import init

LEARNER = "labs-timer"
SHOWN_FROM_S = 1.0
_EVERY_S = 0.25
_GIB = 2**30
_TIMEOUT_S = 1800
_SOLUTIONS = Path(__file__).parents[1] / "solutions"


@dataclass(slots=True)
class Ran:
    """One cell: how long it took, the most memory meanwhile, and what it raised."""

    cell: str
    wall_s: float
    peak_bytes: int
    raised: str = ""


@dataclass(slots=True)
class Watch:
    """Samples the resident memory of this process's children, and theirs, until it is stopped.

    Pages that several share are counted for each, so the sum is an upper bound. Splitting them
    would mean walking each process's memory map, which holds up its page faults: that made a
    measurement of allocations too noisy to keep.
    """

    peak_bytes: int = 0
    _stop: threading.Event = field(default_factory=threading.Event)

    def start(self) -> None:
        """Begin sampling, in a thread."""
        threading.Thread(target=self._run, daemon=True).start()

    def stop(self) -> None:
        """No more samples."""
        self._stop.set()

    def take(self) -> int:
        """The peak since this was last asked."""
        peak, self.peak_bytes = self.peak_bytes, 0
        return peak

    def _run(self) -> None:
        me = psutil.Process()
        while not self._stop.wait(_EVERY_S):
            self.peak_bytes = max(self.peak_bytes, family_memory(me.children(recursive=True)))


def run(lab: str, *, replay: bool) -> list[Ran]:
    """Every code cell of the solved lab, in order; a cell that raises does not end the run."""
    from nbclient import NotebookClient

    nbformat: Any = importlib.import_module("nbformat")
    plan = load_manifest(resources().manifest).lab(lab)
    notebook = nbformat.read(_SOLUTIONS / plan.file, as_version=4)
    ran: list[Ran] = []
    begun = {"at": time.perf_counter()}
    watch = Watch()

    def started(**_: object) -> None:
        begun["at"] = time.perf_counter()
        watch.take()

    def done(cell: Any, **_: object) -> None:
        if cell.cell_type != "code":
            return
        errors = [o for o in cell.outputs if o.output_type == "error"]
        said = f"{errors[0].ename}: {errors[0].evalue}" if errors else ""
        ran.append(Ran(cell.id, time.perf_counter() - begun["at"], watch.take(), said))

    with tempfile.TemporaryDirectory() as place:
        workspace = Path(place) / "workspace"
        init(workspace, LEARNER)
        env = dict(os.environ) | {ENV_LEARNER: LEARNER, ENV_WORKSPACE: str(workspace)}
        env.pop(ENV_REPLAY, None)
        if replay:
            env[ENV_REPLAY] = "1"
        client = NotebookClient(
            notebook,
            timeout=_TIMEOUT_S,
            kernel_name="python3",
            allow_errors=True,
            resources={"metadata": {"path": str(workspace)}},
            on_cell_execute=started,
            on_cell_executed=done,
        )
        watch.start()
        try:
            client.execute(env=env)
        finally:
            watch.stop()
    return ran


def main(arguments: list[str] | None = None) -> int:
    """Run and print; exit code 1 where a cell raised."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.labs", description=__doc__)
    parser.add_argument("labs", nargs="+", metavar="LAB", help="numbers: 04 05 06")
    parser.add_argument("--replay", action="store_true", help="on the recordings")
    options = parser.parse_args(arguments)
    failed = False
    for lab in options.labs:
        began = time.perf_counter()
        cells = run(lab, replay=options.replay)
        wall = time.perf_counter() - began
        way = "replay" if options.replay else "live"
        peak = max(cell.peak_bytes for cell in cells)
        print(f"\nLab {lab}, {way}: {wall:.0f} s, peak {peak / _GIB:.2f} GiB", flush=True)
        for cell in cells:
            if cell.wall_s >= SHOWN_FROM_S or cell.raised:
                memory = f"{cell.peak_bytes / _GIB:>7.2f} GiB"
                print(f"  {cell.cell:<34}{cell.wall_s:>7.1f} s{memory}  {cell.raised[:400]}")
        failed |= any(cell.raised for cell in cells)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
