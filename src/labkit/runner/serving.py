"""The fork in which the judge's calls are made: its limits, and the results sent in parts.

A trace of ten thousand results is more than one line may hold, and when time is up the judge
wants to know at which call: what was made by then is sent before the fork ends.
"""

from __future__ import annotations

import json
import os
import signal
from typing import Any, Never

from labkit.contract.answer import Wire
from labkit.contract.probe import Probe, results_of
from labkit.contract.wire import MAX_LINE
from labkit.runner.channel import Channel
from labkit.runner.limits import cap_growth

OUT_OF_TIME = 75
GRACE_S = 2.0
_PART = MAX_LINE // 2


class Parts:
    """Collects results and sends them as lines; `close` sends the last one."""

    def __init__(self, channel: Channel, exercise: str, number: int) -> None:
        self._channel = channel
        self._head = {"t": "results", "id": exercise, "n": number}
        self._waiting: list[str] = []
        self._size = 0
        self._sending = False
        self._late = False

    def add(self, result: Wire) -> None:
        """Take one result; what cannot be written or is too long becomes a word about it."""
        try:
            text = json.dumps(result, allow_nan=False, separators=(",", ":"))
        except (ValueError, TypeError, RecursionError):
            text = '{"kind":"other","type":"object"}'
        if len(text) > MAX_LINE - 1024:
            text = '{"kind":"too-large"}'
        if self._size + len(text) > _PART:
            self._send(more=True)
        self._waiting.append(text)
        self._size += len(text) + 1

    def close(self) -> None:
        """Everything has been added."""
        self._send(more=False)

    def out_of_time(self) -> None:
        """Send what there is and end this process; if a line is just being written, after it."""
        self._late = True
        if not self._sending:
            self._send(more=True)

    def _send(self, *, more: bool) -> None:
        self._sending = True
        head = json.dumps({**self._head, "more": more}, separators=(",", ":"))
        line = f'{head[:-1]},"results":[{",".join(self._waiting)}]}}\n'
        self._waiting, self._size = [], 0
        self._channel.send_line(line.encode("ascii"))
        self._sending = False
        if self._late:
            os._exit(OUT_OF_TIME)


def serve(channel: Channel, exercise: str, function: Any, number: int, seconds: float) -> Never:
    """In the fork: fetch the probe, make the calls within `seconds`, send the results, end."""
    try:
        channel.owner = os.getpid()
        parts = Parts(channel, exercise, number)
        _set_clocks(parts, seconds)
        channel.send({"t": "ask", "id": exercise, "n": number})
        message = channel.receive()
        while message.get("n") != number:  # a probe whose fork died before reading it
            message = channel.receive()
        if message.get("probe") is not None:
            probe = Probe.from_json(message["probe"])
            capped = probe.memory is not None and cap_growth(probe.memory)
            for result in results_of(function, probe, measured=not capped):
                parts.add(result)
            parts.close()
        os._exit(0)
    finally:
        os._exit(1)


def timed_out(status: int) -> bool:
    """Whether the fork that ended with this wait status had used up its time."""
    if os.WIFSIGNALED(status):
        return os.WTERMSIG(status) in (signal.SIGALRM, signal.SIGPROF)
    return os.WEXITSTATUS(status) == OUT_OF_TIME


def _set_clocks(parts: Parts, seconds: float) -> None:
    """The wall clock lets Python send what there is; CPU time ends even one endless C call."""
    signal.signal(signal.SIGALRM, lambda *_: parts.out_of_time())
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_PROF, seconds + GRACE_S)
    signal.setitimer(signal.ITIMER_REAL, seconds)
