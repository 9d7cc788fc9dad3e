"""A function that the learner writes, judged by calling it on draws they have not seen.

Feedback names the case ("an array", "intensity 0"), never an argument or a result of a hidden
draw.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from labkit.contract.answer import Wire, is_blank
from labkit.contract.arrays import argument
from labkit.contract.codes import Code
from labkit.contract.givens import Givens
from labkit.contract.outcome import Outcome
from labkit.contract.probe import Call, Probe, results_of
from labkit.exercises.kinds.leaves import decoded, how_far, numbers, same
from labkit.exercises.kinds.outcomes import error, failed, not_attempted, passed, wrong_type
from labkit.exercises.spec import Exercise

Args = tuple[Any, ...]
# Looks at a call's arguments and its result, both with NumPy arrays; a remark, or None if content.
Property = Callable[[Args, Any], tuple[Code, str] | None]


@dataclass(frozen=True, slots=True)
class FunctionKind:
    """`signature` and `doc` make the stub; `arguments` names the givens passed, in order.

    `edges(givens)` adds calls that any right answer must survive; `describe(args)` says in words
    what a call is about, without its numbers; `special(args)` tells calls, such as those with an
    array, that are looked at only when all the others are right; `plain` names those others.
    `pack(givens)` makes the arguments where they are not givens one by one (a dict of them, an
    array message from `encode`, or a recipe from `contract.arrays.drawn`).

    Results may be numbers, arrays, and lists or tuples of these. Numbers lie within `rel_tol` of
    the reference's, or within `abs_tol`; arrays of integers are equal to the last bit.

    `properties` must hold of every result beside that, `kinds.arrays` has the usual ones. With
    `compare` False they alone decide, for exercises with many right answers; the reference is
    then only an example. `memory` limits what one call may take, in bytes: a call that takes more
    fails with Code.MEMORY_LIMIT, in the notebook (counted by tracemalloc) and in grading (an
    address-space limit). Choose a size where the wrong way needs several times as much, and the
    right one less than a quarter. `no_end` is what to look at where a call does not come back.
    """

    signature: str
    doc: str
    arguments: tuple[str, ...]
    edges: Callable[[Givens], tuple[Args, ...]] = lambda _g: ()
    describe: Callable[[Args], str] = lambda _a: "plain numbers"
    special: Callable[[Args], bool] = lambda args: any(isinstance(a, dict) for a in args)
    rel_tol: float = 0.005  # a rounded result is a right result
    plain: str = "plain numbers"
    pack: Callable[[Givens], Args] | None = None
    abs_tol: float = 1e-12
    properties: tuple[Property, ...] = ()
    compare: bool = True
    memory: int | None = None
    no_end: str = ""
    name: str = "function"

    def stub(self, exercise: Exercise) -> str:
        """The function with its docstring and `return ...`."""
        return f'def {self.signature}:\n    """{self.doc}"""\n    return ...'

    def probe(self, exercise: Exercise, givens: Sequence[Givens]) -> Probe:
        """One call per draw, then the edge cases of the first draw."""
        pack = self.pack or (lambda g: tuple(g[name] for name in self.arguments))
        calls: list[Call] = [("", pack(g)) for g in givens]
        calls += [("", args) for args in self.edges(givens[0])]
        return Probe(exercise.id, tuple(calls), memory=self.memory)

    def judge(
        self,
        exercise: Exercise,
        givens: Givens,
        answer: Wire,
        probe: Probe | None,
        results: Sequence[Wire] | None,
    ) -> Outcome:
        """Pass when every call is right; else say which mistake, or which kind of call fails."""
        if is_blank(answer):
            return not_attempted(exercise)
        if answer.get("kind") != "function":
            wanted = f"the function itself, `{exercise.answer_name}`, without brackets"
            return wrong_type(exercise, answer, wanted)
        if probe is None or results is None or len(results) != len(probe.calls):
            return error(exercise, "The function could not be called: no results came back.")
        if all(is_blank(result) for result in results):
            return not_attempted(exercise)
        trial = _Trial(self, exercise, givens, probe, results)
        if not trial.wrong:
            return passed(exercise, f"{len(results)} of {len(results)} calls right")
        code, says = trial.diagnose()
        tally = f"{len(results) - len(trial.wrong)} of {len(results)} calls right"
        return failed(exercise, code, says, tally)


class _Trial:
    """One answer's results beside the right ones. `wrong` are the numbers of the wrong calls."""

    def __init__(
        self,
        kind: FunctionKind,
        exercise: Exercise,
        givens: Givens,
        probe: Probe,
        results: Sequence[Wire],
    ) -> None:
        self.kind, self.exercise, self.givens, self.probe = kind, exercise, givens, probe
        self.results = results
        calls = range(len(probe.calls))
        self.right: list[Wire] | None = None
        if kind.compare:
            self.right = list(results_of(exercise.reference(givens), probe, measured=False))
        self.remarks = {i: found for i in calls if (found := self._properties(i)) is not None}
        self.wrong = [i for i in calls if i in self.remarks or not self._is_right(i)]

    def _is_right(self, i: int) -> bool:
        return self.right is None or self._same(self.results[i], self.right[i])

    def _same(self, left: Wire, right: Wire, *, wrong: bool = False) -> bool:
        return same(left, right, self.kind.rel_tol, self.kind.abs_tol, equal_nan=wrong)

    def _properties(self, i: int) -> tuple[Code, str] | None:
        """The first property that this call's result breaks."""
        if not self.kind.properties:
            return None
        kind = self.results[i].get("kind")
        if kind in ("raised", "memory", "blank", "none"):
            return None if self.right is not None else (Code.OTHER, "A call gives no result.")
        several = _several(self.right[i]) if self.right is not None else 0
        if several and several != _several(self.results[i]):
            return Code.TYPE, f"It must return a tuple of {several}, as the docstring says."
        args = tuple(argument(arg) for arg in self.probe.calls[i][1])
        result = decoded(self.results[i])
        for holds in self.kind.properties:
            try:
                found = holds(args, result)
            except (TypeError, ValueError, KeyError, IndexError, AttributeError, OverflowError):
                if self.right is not None and self._is_right(i):
                    continue  # the right numbers in a shape that the property does not know
                promised = self.kind.doc.removeprefix("→ ").rstrip(".")
                found = Code.TYPE, f"The result is not what the docstring promises: {promised}."
            if found is not None:
                return found
        return None

    def diagnose(self) -> tuple[Code, str]:
        """Plain calls first: an error on an array must not hide the mistake behind it."""
        special = self.kind.special
        plain = [i for i, (_, args) in enumerate(self.probe.calls) if not special(args)]
        among_plain = [i for i in self.wrong if i in plain]
        looked_at = plain if among_plain else list(range(len(self.probe.calls)))
        greedy = [i for i in self.wrong if self._took_too_much(i)]
        if greedy and len(greedy) == len(self.wrong):
            return self._memory(greedy[0])
        for mistake in self.exercise.mistakes:
            made = mistake.value(self.givens)
            if made is not None and self._made_by(made, looked_at):
                return mistake.code, mistake.says
        if among_plain:
            return self._remark(among_plain, len(self.wrong) == len(self.results))
        return self._special_remark()

    def _made_by(self, function: Callable[..., Any], looked_at: list[int]) -> bool:
        """Whether this wrong function gives the same results; stops at the first other one."""
        chosen = tuple(self.probe.calls[i] for i in looked_at)
        asked = Probe(self.probe.exercise, chosen, memory=self.probe.memory)
        theirs = results_of(function, asked)
        with warnings.catch_warnings():
            # An overflow is part of the mistake, even where warnings are errors.
            warnings.simplefilter("ignore")
            return all(self._same(self.results[i], next(theirs), wrong=True) for i in looked_at)

    def _took_too_much(self, i: int) -> bool:
        result = self.results[i]
        over = result.get("kind") == "memory" or result.get("ename") == "MemoryError"
        return self.kind.memory is not None and over

    def _memory(self, i: int) -> tuple[Code, str]:
        says = {m.code: m.says for m in self.exercise.mistakes}.get(Code.MEMORY_LIMIT)
        limit = (self.kind.memory or 0) / 2**20
        about = self.kind.describe(self.probe.calls[i][1])
        return Code.MEMORY_LIMIT, says or (
            f"On {about} one call takes more memory than the {limit:,.0f} MiB it may. "
            "Never hold the whole matrix: work through it in blocks."
        )

    def _special_remark(self) -> tuple[Code, str]:
        """The plain calls are right; an array or another special call is not."""
        first = self.wrong[0]
        about = self.kind.describe(self.probe.calls[first][1])
        bad = self.results[first]
        if first in self.remarks:
            return self.remarks[first]
        if bad.get("kind") != "raised":
            return Code.OTHER, f"Right on {self.kind.plain}, wrong on {about}."
        name, text = str(bad.get("ename"))[:60], str(bad.get("evalue"))[:160]
        if name == "TimeLimit":
            return self._no_end(about)
        if "array" in about:
            return Code.SCALAR_ONLY, (
                f"Right on {self.kind.plain}, but on {about} it raises {name}. "
                "`if` and min() decide once; np.minimum decides for each number of an array."
            )
        return Code.RAISES, f"Right on {self.kind.plain}, but on {about} it raises {name}: {text}"

    def _no_end(self, about: str) -> tuple[Code, str]:
        says = f"On {about} it had not come back when time was up. {self.kind.no_end}"
        return Code.NO_END, says.rstrip()

    def _remark(self, wrong: Sequence[int], everywhere: bool) -> tuple[Code, str]:
        """`wrong` are the plain calls that fail; `everywhere`: all the others fail as well."""
        results = self.results
        about = self.kind.describe(self.probe.calls[wrong[0]][1])
        kinds = {str(results[i].get("kind")) for i in wrong}
        if kinds == {"none"}:
            return Code.RETURNS_NONE, "The function returns None. Is a `return` missing?"
        if kinds == {"text"}:
            return Code.TYPE, "The function returns text. It must return a plain number."
        for i in wrong:
            if results[i].get("kind") == "raised":
                name, text = str(results[i].get("ename"))[:60], str(results[i].get("evalue"))[:160]
                where = self.kind.describe(self.probe.calls[i][1])
                if name == "TimeLimit":
                    return self._no_end(where)
                if everywhere and _all_alike(results):
                    return Code.RAISES, f"Every call raises {name}: {text}"
                return Code.RAISES, f"On {where} the function raises {name}: {text}"
        for i in wrong:
            if i in self.remarks:
                return self.remarks[i]
        if any(not math.isfinite(x) for i in wrong for x in numbers(results[i]) or ()):
            holds = [any(not math.isfinite(x) for x in numbers(r) or ()) for r in results]
            where = "every call" if all(holds) else about
            return Code.NOT_FINITE, f"On {where} the result holds NaN or infinity."
        if self._typed():
            return Code.TYPED_CONSTANT, (
                "The function returns the same number for every input. "
                "It must compute the answer from its arguments."
            )
        far = "" if self.right is None else how_far(results[wrong[0]], self.right[wrong[0]])
        if not everywhere:
            return Code.OTHER, f"Right on some calls, wrong on {about}. {far}"
        return Code.OTHER, f"Wrong on every call. {far}"

    def _typed(self) -> bool:
        """The same number, or the same numbers, for every call although the right ones differ."""
        given = [numbers(r) for r in self.results]
        got = [str(found) for found in given if found]
        good = [str(numbers(r)) for r in self.right or []]
        return len(got) > 2 and len(set(got)) == 1 and len(set(good)) > 1


def _all_alike(results: Sequence[Wire]) -> bool:
    """Whether all of them raised, and the same."""
    return (
        all(r.get("kind") == "raised" for r in results)
        and len({r.get("ename") for r in results}) == 1
    )


def _several(wire: Wire) -> int:
    """Of a tuple with an array in it the number of its items, else 0."""
    items = wire.get("items") if wire.get("kind") == "list" else None
    if not isinstance(items, list) or len(items) > 16:
        return 0
    arrays = any(isinstance(item, dict) and item.get("kind") == "array" for item in items)
    return len(items) if arrays else 0


__all__ = ["Args", "FunctionKind", "Property"]
