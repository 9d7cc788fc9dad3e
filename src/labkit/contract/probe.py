"""Calling a learner's function on given arguments, in the notebook and in the sandbox alike.

A probe is a list of calls ``[method, args]``: method "" calls the object itself, "new" builds an
instance of a class for the calls that follow, any other name is a method of that instance.
Results leave in wire form; an exception becomes {"kind": "raised"} and the next call still runs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from labkit.contract.answer import Wire, decode_array, encode

Call = tuple[str, tuple[Any, ...]]


@dataclass(frozen=True, slots=True)
class Probe:
    """Calls to make on the answer to one exercise. Arguments are plain JSON or array messages."""

    exercise: str
    calls: tuple[Call, ...]

    def to_json(self) -> dict[str, Any]:
        """A JSON object that `from_json` reads back."""
        return {"id": self.exercise, "calls": [[m, list(args)] for m, args in self.calls]}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Probe:
        """A probe from what `to_json` wrote."""
        return cls(data["id"], tuple((m, tuple(args)) for m, args in data["calls"]))


def run_probe(answer: Callable[..., Any], probe: Probe) -> list[Wire]:
    """Make every call; one wire result each.

    Only `Exception` is caught: a KeyboardInterrupt or SystemExit goes to the caller.
    """
    results: list[Wire] = []
    target: Any = answer
    for method, args in probe.calls:
        plain = [_argument(arg) for arg in args]
        try:
            if method == "new":
                target = answer(*plain)
                results.append({"kind": "none"})
            else:
                function = target if method == "" else getattr(target, method)
                results.append(encode(function(*plain)))
        except Exception as error:  # noqa: BLE001  # a learner's function may raise anything
            results.append(raised(error))
    return results


def raised(error: BaseException) -> Wire:
    """The wire form of an exception: its type and a short message."""
    try:
        text = str(error)
    except Exception:  # noqa: BLE001  # __str__ is the learner's code too
        text = ""
    return {"kind": "raised", "ename": type(error).__name__[:80], "evalue": text[:500]}


def _argument(arg: Any) -> Any:
    """Array messages become NumPy arrays; everything else is passed as it is."""
    if isinstance(arg, dict) and arg.get("kind") == "array":
        return decode_array(arg).copy()
    return arg
