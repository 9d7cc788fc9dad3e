"""Reading the trace of a class: the watcher that knows the rules, and the first rule broken."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NoReturn

from labkit.contract.answer import Wire
from labkit.contract.codes import Code
from labkit.contract.probe import Call

SHOWN_CALLS = 8
SHOWN = 180


class Breach(Exception):  # noqa: N818  names what it is: a rule was broken
    """A rule broken at the operation that is being watched.

    `says` is used where the exercise has no mistake with this code.
    """

    def __init__(self, code: Code, says: str) -> None:
        super().__init__(says)
        self.code = code
        self.says = says


def expect(holds: bool, code: Code, says: str) -> None:
    """Raise `Breach(code, says)` unless the rule holds."""
    if not holds:
        raise Breach(code, says)


@dataclass(frozen=True, slots=True)
class Raised:
    """An exception that a method raised, handed to watchers that list the method in `raising`."""

    ename: str


class Watcher:
    """Base of watchers. One method per method of the watched class: result first, then arguments.

    Results are plain Python: None, True, numbers, text, lists (also for tuples and sets) and dicts
    with text keys. They come from a stranger: test the type before you count on it. `raising`
    names the methods that may raise; their result may be a `Raised`. A method that the watcher
    does not have is not looked at.
    """

    raising: ClassVar[frozenset[str]] = frozenset()

    def see(self, method: str, args: tuple[Any, ...], result: Any) -> None:
        """One operation. Raises Breach."""
        watch = getattr(self, method, None)
        if watch is not None:
            watch(result, *args)

    def end(self) -> None:
        """After the last operation of a script: what must hold then. Raises Breach."""


@dataclass(frozen=True, slots=True)
class Broken:
    """Rule `code` was broken at operation `at` (1 is the first after the constructor; 0 is it).

    `calls` is the shortest prefix of the script that shows it, constructor first.
    """

    code: Code
    says: str
    at: int
    of: int
    calls: tuple[Call, ...]
    got: str
    stopped: bool = False  # nothing came back from here on, in later scripts neither

    def shown(self, *, hidden: bool) -> str:
        """Where it broke, in one line; without arguments and results for a hidden script."""
        method = self.calls[-1][0]
        place = "the constructor"
        if self.at:
            place = f"operation {self.at:,} of {self.of:,}, {method}()"
        if hidden:
            return f"breaks at {place}"
        told = [_told(call) for call in self.calls[-SHOWN_CALLS:]]
        before = "… " if len(self.calls) > SHOWN_CALLS else ""
        return f"breaks at {place}: {before}{' · '.join(told)} → {self.got}"


def first_breach(
    make: Callable[..., Watcher], script: Sequence[Call], came: Sequence[Wire]
) -> Broken | None:
    """The first operation of a script at which a rule is broken; None where none is.

    `script` begins with ("new", args); `came` has one wire result per call. Never raises for what
    the results hold: a watcher that trips over a strange value is a breach at that operation.
    """
    watcher = make(*script[0][1])
    for i, ((method, args), wire) in enumerate(zip(script, came, strict=True)):
        try:
            value = _value(wire, method, watcher.raising)
            if method != "new":
                watcher.see(method, args, value)
            if i == len(script) - 1:
                watcher.end()
        except Breach as breach:
            return _broken(breach.code, breach.says, i, script, wire)
        except (TypeError, ValueError, KeyError, IndexError, AttributeError, OverflowError):
            says = f"What {method}() returns is not what its docstring promises."
            return _broken(Code.TYPE, says, i, script, wire)
    return None


def _value(wire: Wire, method: str, raising: frozenset[str]) -> Any:
    """The plain value of an entry. Raises Breach for what is none."""
    kind = wire.get("kind")
    if kind == "plain":
        return wire.get("value")
    if kind == "new":
        return None
    if kind == "raised":
        name = str(wire.get("ename"))[:60]
        if method in raising and name not in _STOPS:
            return Raised(name)
        _stopped(method, name, str(wire.get("evalue"))[:160])
    if kind == "blank":
        says = f"{_called(method)} still returns its blank, `...`: it is not written yet."
        raise Breach(Code.TYPE, says)
    what = _ODD.get(str(kind), f"an object of type {str(wire.get('type', '?'))[:40]}")
    raise Breach(Code.TYPE, f"{_called(method)} returns {what}. It must return plain values.")


def _stopped(method: str, name: str, text: str) -> NoReturn:
    code, says = _STOPS.get(name, (Code.RAISES, "{method} raises {name}: {text}"))
    raise Breach(code, says.format(method=_called(method), name=name, text=text))


def _called(method: str) -> str:
    return "The constructor" if method == "new" else f"{method}()"


_NO_MORE = ("TimeLimit", "ProcessLimit", "Crash")
_STOPS = {
    "TimeLimit": (Code.NO_END, "{method} had not come back when time was up. Does it end?"),
    "ProcessLimit": (Code.RAISES, "There were too many processes to try it."),
    "Crash": (Code.RAISES, "Python ended during {method}."),
    "MemoryError": (Code.MEMORY_LIMIT, "{method} asked for more memory than there is."),
}
_ODD = {
    "not-finite": "NaN or infinity",
    "too-large": "more than a trace holds",
    "memory": "too much: it took more memory than allowed",
}


def _broken(code: Code, says: str, i: int, script: Sequence[Call], wire: Wire) -> Broken:
    got = repr(wire.get("value")) if wire.get("kind") == "plain" else str(wire.get("kind"))
    stopped = wire.get("kind") == "raised" and wire.get("ename") in _NO_MORE
    return Broken(code, says, i, len(script) - 1, tuple(script[: i + 1]), got[:SHOWN], stopped)


def _told(call: Call) -> str:
    method, args = call
    return f"{'' if method == 'new' else method}({', '.join(repr(arg) for arg in args)})"
