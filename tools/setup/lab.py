"""`make lab`: everything a learner needs, then JupyterLab on the workspace.

JupyterLab opens as soon as the light packages are there; torch and the weights arrive behind it.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

from tools.setup.layout import ROOT, WORKSPACE, command
from tools.setup.ready import arrive_behind, light_set, stop
from tools.setup.say import run, step


def main() -> int:
    """Set up what is missing and run JupyterLab until Ctrl-C; returns its exit code."""
    begun = time.monotonic()
    python, choice = light_set()
    _workspace(python)
    fetch = arrive_behind(python, choice)
    print(f"── Set up after {time.monotonic() - begun:.1f} s; starting JupyterLab", flush=True)
    try:
        return _jupyter(python)
    finally:
        if fetch is not None and fetch.poll() is None:
            print(f"Torch or the weights had not arrived yet; the next `{command()}` goes on.")
        stop(fetch)


def _workspace(python: Path) -> None:
    learner = os.environ.get("LEARNER", "").strip()
    arguments = ["--learner", learner] if learner else []
    with step("workspace/"):
        run(
            [python, "-m", "labkit.cli.main", "init", WORKSPACE, "--update", *arguments],
            cwd=ROOT,
            env={**os.environ, "LABKIT_SETUP": "1"},
            remedy="The workspace could not be made: the line above says why.",
        )


def _jupyter(python: Path) -> int:
    lab = os.environ.get("LAB", "").strip()
    command = [str(python), "-m", "labkit.cli.main", "lab", *([lab] if lab else [])]
    env = {**os.environ, "LABKIT_WORKSPACE": str(WORKSPACE)}
    # A closed terminal or a plain kill ends the server as Ctrl-C does.
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.default_int_handler)
    with subprocess.Popen(command, cwd=WORKSPACE, env=env) as server:
        while True:
            try:
                return server.wait()
            except KeyboardInterrupt:
                server.send_signal(signal.SIGINT)  # after Ctrl-C it has one already; no harm
