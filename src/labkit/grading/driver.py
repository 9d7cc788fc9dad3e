"""Talks to one run until it ends or must be ended: sends the job, reads answers, serves probes."""

from __future__ import annotations

import json
import os
import selectors
import signal
import subprocess
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import IO

from labkit.contract.probe import Probe
from labkit.contract.wire import WireError, loads
from labkit.grading.lines import Lines
from labkit.grading.transcript import End, Scribe, Transcript
from labkit.grading.watch import usage
from labkit.runner.job import Job, Limits

GRACE_S = 5.0
TICK_S = 0.2
MAX_STDERR = 8192
MAX_PROBES = 200


def drive(process: subprocess.Popen[bytes], job: Job, probes: Mapping[str, Probe]) -> Transcript:
    """Run the dialogue with a started process and end the process. Never raises for its doings."""
    dialogue = _Dialogue(process, job, probes)
    try:
        end = dialogue.run()
    finally:
        _kill(process)
    return dialogue.scribe.transcript(end, dialogue.stderr.decode("utf-8", "replace").strip())


class _Dialogue:
    def __init__(
        self, process: subprocess.Popen[bytes], job: Job, probes: Mapping[str, Probe]
    ) -> None:
        self.scribe = Scribe(frozenset(job.givens))
        self.stderr = b""
        self._process = process
        self._limits = job.limits
        self._probes = probes
        self._served = 0
        self._lines = Lines()
        self._outbox = bytearray(job.to_line())
        self._clock = _Clock(job.limits)
        self._selector = selectors.DefaultSelector()

    def run(self) -> End:
        """Until the run says it is done, closes its pipe, or uses up a limit."""
        stdin, stdout, stderr = _pipes(self._process)
        for pipe in (stdin, stdout, stderr):
            os.set_blocking(pipe.fileno(), False)
        with self._selector:
            self._selector.register(stdin, selectors.EVENT_WRITE)
            self._selector.register(stdout, selectors.EVENT_READ)
            self._selector.register(stderr, selectors.EVENT_READ)
            next_look = 0.0
            while True:
                for key, _ in self._selector.select(TICK_S):
                    if key.fileobj is stdin:
                        self._write(stdin)
                    elif key.fileobj is stderr:
                        self._read_stderr(stderr)
                    elif not self._read(stdout):
                        return self._ended()
                self._offer(stdin)
                if self.scribe.done:
                    return End.TIMEOUT if self.scribe.out_of_time else End.DONE
                if self._lines.flooded:
                    return End.FLOODED
                if self._clock.over(self.scribe):
                    return End.TIMEOUT if self.scribe.started else End.NOT_STARTED
                if time.monotonic() >= next_look:
                    next_look = time.monotonic() + TICK_S
                    excess = self._excess()
                    if excess is not None:
                        return excess

    def _ended(self) -> End:
        """The pipe is closed: the run is over, or the learner closed it."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(GRACE_S)
        self._read_stderr(_pipes(self._process)[2])
        return End.CRASHED if self.scribe.started else End.NOT_STARTED

    def _read(self, pipe: IO[bytes]) -> bool:
        """Take what there is; False at the end of the stream."""
        data = os.read(pipe.fileno(), 1 << 16)
        for line in self._lines.feed(data):
            try:
                message = loads(line)
            except WireError:
                self.scribe.note("The notebook sent messages that are no JSON; they are ignored.")
                continue
            if message.get("t") == "ask":
                self._serve(message)
            else:
                self.scribe.take(message)
                self._clock.heard(message.get("t"))
        if self._lines.too_long:
            self.scribe.note("The notebook sent a line of more than 1 MiB; it is ignored.")
        return bool(data)

    def _read_stderr(self, pipe: IO[bytes]) -> None:
        try:
            data = os.read(pipe.fileno(), MAX_STDERR)
        except BlockingIOError:
            return
        if not data:
            with suppress(KeyError):
                self._selector.unregister(pipe)
        elif not self.scribe.started:  # afterwards stderr is the learner's
            self.stderr = (self.stderr + data)[-MAX_STDERR:]

    def _serve(self, message: dict[str, object]) -> None:
        """Put the probe that was asked for into the outbox, or word that there is none."""
        self._served += 1
        exercise, number = message.get("id"), message.get("n")
        if not isinstance(number, int) or self._served > MAX_PROBES:
            return
        probe = self._probes.get(exercise) if isinstance(exercise, str) else None
        reply = {"n": number, "probe": None if probe is None else probe.to_json()}
        self._outbox += json.dumps(reply, separators=(",", ":")).encode("ascii") + b"\n"

    def _offer(self, stdin: IO[bytes]) -> None:
        """Watch the pipe for room only while there is something to say."""
        watched = stdin in self._selector.get_map()
        if self._outbox and not watched and not stdin.closed:
            self._selector.register(stdin, selectors.EVENT_WRITE)

    def _write(self, stdin: IO[bytes]) -> None:
        try:
            sent = os.write(stdin.fileno(), self._outbox[: 1 << 16])
            del self._outbox[:sent]
        except BlockingIOError:
            return
        except OSError:  # the run reads no more: it has ended, or the learner closed the pipe
            self._outbox.clear()
        if not self._outbox:
            self._selector.unregister(stdin)

    def _excess(self) -> End | None:
        now = usage(self._process.pid)
        if now.memory > self._limits.memory_total:
            return End.MEMORY
        # Twice the limit: where the kernel itself counts processes, this is never reached.
        if now.processes > 2 * self._limits.processes:
            return End.PROCESSES
        return None


class _Clock:
    """Knows when a run has had its time: to start, for a cell, in all."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._launched = self._started = self._cell = time.monotonic()

    def heard(self, kind: object) -> None:
        """The run is ready, or begins its next cell."""
        if kind == "ready":
            self._started = self._cell = time.monotonic()
        elif kind == "cell":
            self._cell = time.monotonic()

    def over(self, scribe: Scribe) -> bool:
        """Whether time is up. The run itself stops a cell in time; this is for those that do not
        let it."""
        now = time.monotonic()
        if not scribe.started:
            return now - self._launched > self._limits.start_s
        return (
            now - self._started > self._limits.total_s + GRACE_S
            or now - self._cell > self._limits.cell_s + GRACE_S
        )


def _pipes(process: subprocess.Popen[bytes]) -> tuple[IO[bytes], IO[bytes], IO[bytes]]:
    if process.stdin is None or process.stdout is None or process.stderr is None:
        raise ValueError("the run must be started with three pipes")
    return process.stdin, process.stdout, process.stderr


def _kill(process: subprocess.Popen[bytes]) -> None:
    """End the run and everything in it. Killing bwrap ends its process namespace with it."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    for pipe in _pipes(process):
        with suppress(OSError):
            pipe.close()
