"""What is still on its way to this environment: torch and the model weights.

`make lab` opens JupyterLab on the light packages and lets the two heavy things arrive behind it.
The fetching process writes one small JSON file; `make lab` prints a progress line from it, and a
notebook cell that needs torch waits on it instead of failing::

    wait_for_arrival("torch")     # prints "torch: 43 % of 192 MB" now and then; returns when ready

The file is ``<cache>/arrivals/<environment>.json``, where the environment is the first twelve hex
digits of the SHA-256 of ``sys.prefix``: a kernel sees the arrivals of its own environment only,
although several clones may share a cache. It holds one object::

    {"schema": 1, "pid": 4711, "updated": 1767225600.0,
     "items": [{"name": "torch", "state": "fetching", "done_bytes": 82700000,
                "total_bytes": 192000000, "detail": ""}]}

`state` is one of waiting, fetching, installing, ready, failed. `total_bytes` is null where the
size is unknown. `detail` is one sentence: why it failed and the remedy. The writer replaces the
file as a whole and rewrites it twice a second, so a reader never sees half a file and can tell
a slow fetch from a dead one.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from pathlib import Path
from types import TracebackType

from labkit.bench.cache import cache_dir
from labkit.contract import LabkitError
from labkit.contract.remedies import set_up_again

SCHEMA = 1
BEAT_S = 0.5
SAY_EVERY_S = 2.0
WRITER_SAYS_EVERY_S = 5.0
# A few missed beats would do; a swapping laptop is given a hundred times as long.
STALE_S = 60.0


class ArrivalError(LabkitError):
    """What was waited for will not come; the message says why and what to do."""


class State(StrEnum):
    """How far one item has come."""

    WAITING = "waiting"
    FETCHING = "fetching"
    INSTALLING = "installing"
    READY = "ready"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Item:
    """One thing that is on its way; sizes in bytes, `total_bytes` None where unknown."""

    name: str
    state: State = State.WAITING
    done_bytes: int = 0
    total_bytes: int | None = None
    detail: str = ""

    def line(self) -> str:
        """A few words for a progress line: "torch: 43 % of 192 MB" (MB = 1e6 bytes)."""
        if self.state is not State.FETCHING:
            return f"{self.name}: {self.state.value}"
        if not self.total_bytes:
            return f"{self.name}: {self.done_bytes / 1e6:.0f} MB so far"
        percent = min(100, 100 * self.done_bytes // self.total_bytes)
        return f"{self.name}: {percent} % of {self.total_bytes / 1e6:.0f} MB"


@dataclass(frozen=True, slots=True)
class Arrival:
    """All items of one set-up run, as last written by process `pid` at Unix time `updated`."""

    items: tuple[Item, ...]
    pid: int
    updated: float

    def item(self, name: str) -> Item | None:
        """The item of this name, or None if this run does not fetch it."""
        return next((item for item in self.items if item.name == name), None)

    @property
    def finished(self) -> bool:
        """Whether every item is ready or failed."""
        return all(item.state in (State.READY, State.FAILED) for item in self.items)

    def stopped(self, now: float | None = None) -> bool:
        """Whether the writer is gone although not everything has arrived."""
        if self.finished:
            return False
        age = (time.time() if now is None else now) - self.updated
        return age > STALE_S or not _alive(self.pid)

    def line(self) -> str:
        """The progress line: every item, separated by dots."""
        return " · ".join(item.line() for item in self.items)


def arrival_file(prefix: str | None = None, cache: Path | None = None) -> Path:
    """Where the arrivals of the environment at `prefix` (default: this one) are written."""
    key = hashlib.sha256((prefix or sys.prefix).encode()).hexdigest()[:12]
    return (cache or cache_dir()) / "arrivals" / f"{key}.json"


def read_arrival(path: Path | None = None) -> Arrival | None:
    """The latest word on this environment's arrivals, or None where none was ever written.

    Raises ArrivalError if the file there is not one of ours.
    """
    path = path or arrival_file()
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    try:
        raw = json.loads(text)
        if raw["schema"] != SCHEMA:
            return None  # written by another version of labkit; its `make lab` will rewrite it
        items = tuple(Item(**{**item, "state": State(item["state"])}) for item in raw["items"])
        return Arrival(items=items, pid=int(raw["pid"]), updated=float(raw["updated"]))
    except (ValueError, KeyError, TypeError) as error:
        raise ArrivalError(
            f"{path} is not a labkit arrival file: delete it and run {_again()} again."
        ) from error


def wait_for_arrival(
    name: str,
    *,
    say: Callable[[str], None] = print,
    path: Path | None = None,
    poll_s: float = 0.5,
    timeout_s: float | None = None,
) -> None:
    """Return once `name` is ready, or at once when nobody is fetching it.

    A line goes to `say` when it changes, at most every two seconds. Raises ArrivalError when the
    fetch failed, its process is gone, or `timeout_s` has passed.
    """
    begun = time.monotonic()
    said_at, said = float("-inf"), ""
    while True:
        arrival = read_arrival(path)
        item = arrival.item(name) if arrival else None
        if arrival is None or item is None or item.state is State.READY:
            return
        if item.state is State.FAILED:
            raise ArrivalError(item.detail or f"{name} did not arrive: run {_again()} again.")
        if arrival.stopped():
            raise ArrivalError(
                f"The set-up stopped before {name} arrived: run {_again()} again; it resumes."
            )
        now = time.monotonic()
        if timeout_s is not None and now - begun > timeout_s:
            raise ArrivalError(
                f"{name} has not arrived after {timeout_s:g} s ({item.line()}): wait and try again."
            )
        if item.line() != said and now - said_at >= SAY_EVERY_S:
            said, said_at = item.line(), now
            say(said)
        time.sleep(poll_s)


class ArrivalWriter:
    """Writes the arrival file while things are fetched; a context manager with a heartbeat.

    `say`, where given, is also told the progress line when it changes, every few seconds.
    """

    def __init__(
        self,
        names: Iterable[str],
        path: Path | None = None,
        say: Callable[[str], None] | None = None,
    ) -> None:
        self._path = path or arrival_file()
        self._say = say
        self._said = ""
        self._items = {name: Item(name) for name in names}
        self._lock = threading.Lock()
        self._done = threading.Event()
        self._beat = threading.Thread(target=self._heartbeat, name="arrival", daemon=True)

    def __enter__(self) -> ArrivalWriter:
        self._write()
        self._beat.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._done.set()
        self._beat.join()
        self._write()
        self._tell()

    def update(
        self,
        name: str,
        state: State,
        *,
        done_bytes: int = 0,
        total_bytes: int | None = None,
        detail: str = "",
    ) -> None:
        """Set one item; a change of state is written at once, mere progress with the next beat."""
        with self._lock:
            before = self._items[name]
            self._items[name] = replace(
                before,
                state=state,
                done_bytes=done_bytes,
                total_bytes=total_bytes,
                detail=detail,
            )
        if before.state is not state:
            self._write()

    def _heartbeat(self) -> None:
        beats = 0
        while not self._done.wait(BEAT_S):
            self._write()
            beats += 1
            if beats % round(WRITER_SAYS_EVERY_S / BEAT_S) == 0:
                self._tell()

    def _tell(self) -> None:
        with self._lock:
            line = " · ".join(item.line() for item in self._items.values())
        if self._say and line != self._said:
            self._said = line
            self._say(line)

    def _write(self) -> None:
        with self._lock:
            body = {
                "schema": SCHEMA,
                "pid": os.getpid(),
                "updated": time.time(),
                "items": [asdict(item) for item in self._items.values()],
            }
            self._path.parent.mkdir(parents=True, exist_ok=True)
            part = self._path.with_suffix(".part")
            part.write_text(json.dumps(body) + "\n", encoding="utf-8")
            part.replace(self._path)


def _again() -> str:
    return set_up_again("the set-up")


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True  # it exists and belongs to somebody else
    return True
