"""Calling a learner's function on given arguments, in the notebook and in the sandbox alike.

A probe is a list of calls ``[method, args]``: method "" calls the object itself, "new" builds an
instance of a class for the calls that follow, any other name is a method of that instance.
Results leave in wire form; an exception becomes {"kind": "raised"} and the next call still runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from labkit.contract.answer import Wire, encode
from labkit.contract.arrays import argument
from labkit.contract.heap import peak_of
from labkit.contract.plain import encode_plain

Call = tuple[str, tuple[Any, ...]]
MAX_TRACE = 2_000_000  # parts of all results of a trace together


@dataclass(frozen=True, slots=True)
class Probe:
    """Calls to make on the answer to one exercise.

    Arguments are plain JSON, array messages, or recipes of arrays (`contract.arrays.drawn`).
    `plain` asks for the compact results of a long trace (`contract.plain`). `memory` is the number
    of bytes that a single call may take beyond what stood before it. `hidden` probes come from
    grading: what their calls are about must not show in any feedback; it does not travel.
    """

    exercise: str
    calls: tuple[Call, ...]
    plain: bool = False
    memory: int | None = None
    hidden: bool = False

    def to_json(self) -> dict[str, Any]:
        """A JSON object that `from_json` reads back."""
        return {
            "id": self.exercise,
            "calls": [[m, list(args)] for m, args in self.calls],
            "plain": self.plain,
            "memory": self.memory,
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Probe:
        """A probe from what `to_json` wrote."""
        calls = tuple((m, tuple(args)) for m, args in data["calls"])
        return cls(data["id"], calls, bool(data.get("plain")), data.get("memory"))


def run_probe(answer: Callable[..., Any], probe: Probe) -> list[Wire]:
    """Make every call; one wire result each. Where memory is limited its use is measured.

    Only `Exception` is caught: a KeyboardInterrupt or SystemExit goes to the caller.
    """
    return list(results_of(answer, probe))


def results_of(
    answer: Callable[..., Any], probe: Probe, *, measured: bool = True
) -> Iterator[Wire]:
    """The results one by one, each made when it is asked for.

    `measured` False leaves the memory limit to the operating system, as the sandbox does. A call
    that took more than the limit is {"kind": "memory"}; "new" gives {"kind": "new"}.
    """
    limit = probe.memory if measured else None
    left = MAX_TRACE
    target: Any = answer
    for method, args in probe.calls:
        if method == "new":
            target = None
        if left <= 0:
            yield {"kind": "too-large"}
            continue
        try:
            made, peak = peak_of(partial(_call, answer, target, method, args), limit)
            if method == "new":
                target = made
            if limit is not None and peak > limit:
                result: Wire = {"kind": "memory"}
            elif method == "new":
                result = {"kind": "new"}
            else:
                result = encode_plain(made) if probe.plain else encode(made)
        except Exception as error:  # noqa: BLE001  # a learner's function may raise anything
            result = raised(error)
        left -= _parts(result)
        yield result


def _call(answer: Callable[..., Any], target: Any, method: str, args: tuple[Any, ...]) -> Any:
    given = [argument(arg) for arg in args]
    if method == "new":
        return answer(*given)
    if target is None:
        raise RuntimeError("no instance was built")
    return (target if method == "" else getattr(target, method))(*given)


def _parts(result: Wire) -> int:
    """How much of a trace this result fills, in parts of about ten bytes."""
    value = result.get("value")
    if isinstance(value, (list, dict)):
        return 3 + sum(
            1 + (len(item) if isinstance(item, (list, dict, str)) else 0)
            for item in (value.values() if isinstance(value, dict) else value)
        )
    return 3 + (len(value) // 10 if isinstance(value, str) else 0)


def raised(error: BaseException) -> Wire:
    """The wire form of an exception: its type and a short message."""
    try:
        text = str(error)
    except Exception:  # noqa: BLE001  # __str__ is the learner's code too
        text = ""
    # NumPy raises a MemoryError of its own; it is told by the name that everybody knows.
    name = "MemoryError" if isinstance(error, MemoryError) else type(error).__name__
    return {"kind": "raised", "ename": name[:80], "evalue": text[:500]}
