"""A function that the learner writes, judged by calling it on draws they have not seen.

Feedback names the case ("an array", "intensity 0"), never an argument or a result of a hidden
draw.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from labkit.contract.answer import Wire, decode_array, is_blank
from labkit.contract.codes import Code
from labkit.contract.givens import Givens
from labkit.contract.outcome import Outcome
from labkit.contract.probe import Call, Probe, run_probe
from labkit.exercises.kinds.outcomes import error, failed, not_attempted, passed, wrong_type
from labkit.exercises.spec import Exercise

Args = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class FunctionKind:
    """`signature` and `doc` make the stub; `arguments` names the givens passed, in order.

    `edges(givens)` adds calls that any right answer must survive; `describe(args)` says in words
    what a call is about, without its numbers; `special(args)` tells calls, such as those with an
    array, that are looked at only when all the others are right; `plain` names those others.
    `pack(givens)` makes the arguments where they are not givens one by one (a dict of them).
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
    name: str = "function"

    def stub(self, exercise: Exercise) -> str:
        """The function with its docstring and `return ...`."""
        return f'def {self.signature}:\n    """{self.doc}"""\n    return ...'

    def probe(self, exercise: Exercise, givens: Sequence[Givens]) -> Probe:
        """One call per draw, then the edge cases of the first draw."""
        pack = self.pack or (lambda g: tuple(g[name] for name in self.arguments))
        calls: list[Call] = [("", pack(g)) for g in givens]
        calls += [("", args) for args in self.edges(givens[0])]
        return Probe(exercise.id, tuple(calls))

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
        right = run_probe(exercise.reference(givens), probe)
        wrong = [
            i
            for i, (result, good) in enumerate(zip(results, right, strict=True))
            if not self._same(result, good)
        ]
        if not wrong:
            return passed(exercise, f"{len(right)} of {len(right)} calls right")
        code, says = self._diagnose(exercise, givens, probe, results, right, wrong)
        tally = f"{len(right) - len(wrong)} of {len(right)} calls right"
        return failed(exercise, code, says, tally)

    def _diagnose(
        self,
        exercise: Exercise,
        givens: Givens,
        probe: Probe,
        results: Sequence[Wire],
        right: Sequence[Wire],
        wrong: Sequence[int],
    ) -> tuple[Code, str]:
        """Plain numbers first: an error on an array must not hide the mistake behind it."""
        plain = [i for i, (_, args) in enumerate(probe.calls) if not self.special(args)]
        among_plain = [i for i in wrong if i in plain]
        looked_at = plain if among_plain else range(len(probe.calls))
        for mistake in exercise.mistakes:
            theirs = run_probe(mistake.value(givens), probe)
            if all(self._same(results[i], theirs[i]) for i in looked_at):
                return mistake.code, mistake.says
        if among_plain:
            return self._remark(probe, results, right, among_plain, len(wrong) == len(results))
        return self._special_remark(probe, results, wrong)

    def _special_remark(
        self, probe: Probe, results: Sequence[Wire], wrong: Sequence[int]
    ) -> tuple[Code, str]:
        """The plain calls are right; an array or another special call is not."""
        about = self.describe(probe.calls[wrong[0]][1])
        bad = results[wrong[0]]
        if bad.get("kind") != "raised":
            return Code.OTHER, f"Right on {self.plain}, wrong on {about}."
        name, text = str(bad.get("ename"))[:60], str(bad.get("evalue"))[:160]
        if "array" in about:
            return Code.SCALAR_ONLY, (
                f"Right on {self.plain}, but on {about} it raises {name}. "
                "`if` and min() decide once; np.minimum decides for each number of an array."
            )
        return Code.RAISES, f"Right on {self.plain}, but on {about} it raises {name}: {text}"

    def _remark(
        self,
        probe: Probe,
        results: Sequence[Wire],
        right: Sequence[Wire],
        wrong: Sequence[int],
        everywhere: bool,
    ) -> tuple[Code, str]:
        """`wrong` are the plain calls that fail; `everywhere`: all the others fail as well."""
        first = wrong[0]
        about = self.describe(probe.calls[first][1])
        kinds = {str(results[i].get("kind")) for i in wrong}
        if kinds == {"none"}:
            return Code.RETURNS_NONE, "The function returns None. Is a `return` missing?"
        if kinds == {"text"}:
            return Code.TYPE, "The function returns text. It must return a plain number."
        for i in wrong:
            if results[i].get("kind") == "raised":
                name, text = str(results[i].get("ename"))[:60], str(results[i].get("evalue"))[:160]
                where = self.describe(probe.calls[i][1])
                return Code.RAISES, f"On {where} the function raises {name}: {text}"
        numbers = [r.get("number") for r in results if r.get("kind") == "quantity"]
        if len(numbers) > 2 and len(set(map(str, numbers))) == 1 and not _constant(right):
            return Code.TYPED_CONSTANT, (
                "The function returns the same number for every input. "
                "It must compute the answer from its arguments."
            )
        far = _how_far(results[first], right[first])
        if not everywhere:
            return Code.OTHER, f"Right on some calls, wrong on {about}. {far}"
        return Code.OTHER, f"Wrong on every call. {far}"

    def _same(self, left: Wire, right: Wire) -> bool:
        if left.get("kind") == "raised" or right.get("kind") == "raised":
            return left.get("kind") == right.get("kind") and left.get("ename") == right.get("ename")
        a, b = _values(left), _values(right)
        if a is None or b is None:
            return a is b and left.get("kind") == right.get("kind")
        return len(a) == len(b) and all(
            math.isclose(x, y, rel_tol=self.rel_tol, abs_tol=1e-12)
            for x, y in zip(a, b, strict=True)
        )


def _values(wire: Wire) -> list[float] | None:
    """The numbers of a result, flattened; None where it holds something else."""
    kind = wire.get("kind")
    if kind == "quantity" and isinstance(wire.get("number"), (int, float)):
        return [float(wire["number"])]
    if kind == "array":
        array = decode_array(wire)
        return None if array is None else [float(x) for x in array.ravel()]
    if kind == "list" and isinstance(wire.get("items"), list):
        flat: list[float] = []
        for item in wire["items"]:
            inner = _values(item) if isinstance(item, dict) else None
            if inner is None:
                return None
            flat += inner
        return flat
    return None


def _constant(results: Sequence[Wire]) -> bool:
    return len({str(r.get("number")) for r in results if r.get("kind") == "quantity"}) <= 1


def _how_far(result: Wire, right: Wire) -> str:
    """How far off a result is, as a factor only: the right number stays hidden."""
    got, good = _values(result), _values(right)
    if not got or not good or len(got) != len(good) or good[0] == 0 or got[0] == 0:
        return "Check what it returns, and in which unit."
    ratio = got[0] / good[0]
    if ratio < 0:
        return "The sign is wrong."
    if 2 / 3 <= ratio <= 1.5:
        side = "large" if ratio > 1 else "small"
        off = abs(ratio - 1)
        if off < 0.0005:
            return "The result is close but not exact: something small is missing, or too much."
        if off < 0.05:
            return f"The result is {off:.1%} too {side}: is it rounded?"
        return f"The result is {off:.0%} too {side}."
    times = ratio if ratio > 1 else 1 / ratio
    side = "large" if ratio > 1 else "small"
    if times > 1e4:
        return f"The result is about {times:.0e} times too {side}: check the units."
    return f"The result is about {times:.2g} times too {side}."
