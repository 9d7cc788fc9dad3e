"""The run of one submission, as the notebook's `Lab` sees it: givens in, answers out.

One process runs one submission, so there is one session; `Lab` finds it in `current()`.
"""

from __future__ import annotations

import os
import signal
import warnings
from collections.abc import Mapping
from contextvars import ContextVar
from typing import Any

from labkit.contract.answer import Wire, encode, is_blank
from labkit.contract.carried import value_of
from labkit.contract.errors import LabkitError
from labkit.contract.givens import Givens
from labkit.runner.channel import Channel
from labkit.runner.job import Job
from labkit.runner.serving import serve, timed_out

_UNREADABLE: Wire = {"kind": "other", "type": "unreadable object"}


class Session:
    """Records answers the moment they are checked and has functions probed on the spot."""

    def __init__(self, job: Job, channel: Channel) -> None:
        self.job = job
        self.cell = ""
        self._channel = channel
        self._asked = 0
        self._answers: dict[str, Any] = {}

    def givens(self, exercise: str) -> Givens:
        """What the exercise gives this learner. Raises LabkitError where it gives nothing."""
        data: Mapping[str, Any] | None = self.job.givens.get(exercise)
        if data is None:
            raise LabkitError(f"Lab {self.job.lab} gives nothing for exercise {exercise!r}.")
        return Givens.from_json(data)

    def record(self, exercise: str, answer: object) -> None:
        """Encode the answer as it is now and send it; probe it where it is a function."""
        wire = _encode(answer)
        if not is_blank(wire):
            self._answers[exercise] = answer
        self._channel.send({"t": "answer", "id": exercise, "cell": self.cell, "answer": wire})
        if exercise in self.job.probed and wire.get("kind") == "function":
            self._probe(exercise, answer)

    def last_answer(self, exercise: str) -> Any:
        """What was last checked for this exercise, else what the notebook brought along of it.

        Raises LabkitError where there is neither.
        """
        if exercise in self._answers:
            return self._answers[exercise]
        if exercise in self.job.carried:
            return value_of(exercise, self.job.carried[exercise])
        raise LabkitError(
            f"Nothing to carry from exercise {exercise!r}: this notebook neither checks it nor "
            "brings it along. Run the cell with lab.carry, save and hand in again."
        )

    def _probe(self, exercise: str, function: Any) -> None:
        """Have the judge's calls made in a fork of this very state.

        In a fork a function that crashes, hangs or calls os._exit costs its own exercise only,
        and no hidden argument stays behind in the memory that the next cells see.
        """
        self._asked += 1
        try:
            with warnings.catch_warnings():
                # Newer Pythons warn about forks beside threads; the learner may raise on warnings.
                warnings.simplefilter("ignore")
                child = os.fork()
        except OSError:
            self._channel.send({"t": "stopped", "id": exercise, "n": self._asked, "how": "fork"})
            return
        if child == 0:
            serve(self._channel, exercise, function, self._asked, self.job.limits.probe_s)
        try:
            _, status = os.waitpid(child, 0)
        except ChildProcessError:
            return  # the learner's own code waited for it
        except BaseException:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            raise
        if status:
            how = "time" if timed_out(status) else "crash"
            self._channel.send({"t": "stopped", "id": exercise, "n": self._asked, "how": how})


def _encode(answer: object) -> Wire:
    """`encode`, and a wire form even for an object whose own methods raise."""
    try:
        return encode(answer)
    except Exception:  # noqa: BLE001  # properties and __float__ of the answer are learner's code
        return dict(_UNREADABLE)


_current: ContextVar[Session | None] = ContextVar("labkit_session", default=None)


def open_session(session: Session) -> None:
    """Make this the session that `Lab` records to."""
    _current.set(session)


def current() -> Session:
    """The running session. Raises LabkitError outside of a grading run."""
    session = _current.get()
    if session is None:
        raise LabkitError("labkit.runner.Lab records answers while grading; there is no run here.")
    return session
