"""One run from start to end: take the pipes, limit the process, run the cells, say it is done."""

from __future__ import annotations

import contextlib
import json
import os
import random
from pathlib import Path
from typing import Never

from labkit.contract.paths import ENV_RECORDS
from labkit.runner import limits
from labkit.runner.cells import run_cells
from labkit.runner.channel import quiet, take_over
from labkit.runner.job import Job
from labkit.runner.session import Session, open_session


def main() -> Never:
    """Run the job that stands on stdin, then leave without waiting for anything it started."""
    channel = take_over()
    job = Job.from_line(channel.receive_line())
    _write_records(job)
    _seed(job.seed)
    from labkit.runner.shell import make_shell

    shell = make_shell()
    session = Session(job, channel)
    open_session(session)
    limits.apply(job.limits)
    channel.send({"t": "ready"})
    quiet()
    run_cells(shell, session, channel)
    channel.send({"t": "done"})
    os._exit(0)


def _write_records(job: Job) -> None:
    """Lay the learner's own measurements where `labkit.bench` looks for them."""
    path = os.environ.get(ENV_RECORDS)
    if path:
        Path(path).write_text(json.dumps(dict(job.records)), encoding="utf-8")


def _seed(seed: int) -> None:
    random.seed(seed)
    with contextlib.suppress(ImportError):  # a lab without NumPy needs no seed for it
        import numpy as np

        np.random.seed(seed % 2**32)
