"""The two pipes to the judge: answers leave by descriptor 3, probes come in by a hidden one.

Taking them over is the first thing a run does. Afterwards descriptors 0, 1 and 2 lead to
/dev/null: `input()` meets the end of the file at once, and printing costs nothing.
"""

from __future__ import annotations

import fcntl
import json
import os
from dataclasses import dataclass, field
from typing import Any

from labkit.contract.wire import FD_ANSWERS, WireError, dumps

_HIDDEN_FROM = 100


@dataclass(slots=True)
class Channel:
    """Lines to and from the judge. `owner` is the only process that may write."""

    answers: int
    control: int
    owner: int
    _rest: bytearray = field(default_factory=bytearray)

    def send(self, message: dict[str, Any]) -> None:
        """Write one message at once. From a process that the learner forked it is dropped.

        A message that breaks the wire's limits is replaced by a note that says so. When the pipe
        is gone (the learner closed it) there is nobody to tell: what was sent before counts.
        """
        if os.getpid() != self.owner:
            return
        try:
            line = dumps(message)
        except (WireError, MemoryError):
            line = dumps({"t": "toolong", "id": str(message.get("id", ""))[:20]})
        self.send_line(line)

    def send_line(self, line: bytes) -> None:
        """Write one line of JSON, newline included, that is already within the limits."""
        if os.getpid() != self.owner:
            return
        view = memoryview(line)
        while view:
            try:
                view = view[os.write(self.answers, view) :]
            except OSError:
                return

    def receive(self) -> dict[str, Any]:
        """The judge's next line. Raises EOFError when there will be none."""
        message = json.loads(self.receive_line())
        if not isinstance(message, dict):
            raise EOFError("the judge sent something else than an object")
        return message

    def receive_line(self) -> bytes:
        """The next line as bytes. Raises EOFError at the end."""
        while b"\n" not in self._rest:
            chunk = os.read(self.control, 1 << 16)
            if not chunk:
                raise EOFError("the judge has gone")
            self._rest += chunk
        line, _, rest = bytes(self._rest).partition(b"\n")
        self._rest = bytearray(rest)
        return line


def take_over() -> Channel:
    """Move the pipes away from stdin and stdout; leave stderr to the judge until `quiet()`."""
    control = fcntl.fcntl(0, fcntl.F_DUPFD_CLOEXEC, _HIDDEN_FROM)
    os.dup2(1, FD_ANSWERS, inheritable=False)
    os.closerange(FD_ANSWERS + 1, _HIDDEN_FROM)
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(null, 1)
    os.close(null)
    return Channel(FD_ANSWERS, control, os.getpid())


def quiet() -> None:
    """Send stderr to /dev/null as well: from here on it belongs to the learner."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 2)
    os.close(null)
