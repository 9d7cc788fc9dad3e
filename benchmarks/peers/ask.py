"""Putting questions to a tool: here where it is formulas, else in the environment that holds it."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.peers import environment
from benchmarks.peers.question import Question
from benchmarks.peers.registry import PEERS, Peer
from benchmarks.peers.worker import reply, timed

ROOT = Path(__file__).parents[2]


class NotInstalledError(Exception):
    """The environment of the tools has not been made."""


def ask(peer: Peer, questions: Sequence[Question]) -> tuple[str, list[dict[str, Any]]]:
    """The tool's version and its replies, in the order of the questions."""
    if not peer.installed:
        answer = peer.load().answer
        return peer.version(), [reply(answer, question) for question in questions]
    first, *replies = _worker(peer, [question.as_json() for question in questions])
    return str(first["version"]), replies


def microseconds(name: str, question: Question, seconds: float = 0.5) -> float:
    """Median time of one call; `NotInstalledError` where the tool is not there."""
    peer = PEERS[name]
    if not peer.installed:
        return float(timed(peer.load().answer, question, seconds)["microseconds"])
    _, timing = _worker(peer, [question.as_json()], "--time", str(seconds))
    return float(timing["microseconds"])


def _worker(peer: Peer, lines: Sequence[str], *options: str) -> list[dict[str, Any]]:
    python = environment.python()
    if python is None:
        raise NotInstalledError(f"{peer.name} is not installed; make it so: {environment.HOW}")
    done = subprocess.run(
        [python, "-m", "benchmarks.peers.worker", peer.name, *options],
        cwd=ROOT,
        input="\n".join(lines) + "\n",
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"{peer.name} broke off:\n{done.stderr}")
    return [json.loads(line) for line in done.stdout.splitlines()]
