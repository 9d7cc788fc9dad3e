"""A class with state that the learner writes, judged by what must hold of a long run of it.

The judge makes a fixed script of method calls: it builds an instance and then calls its methods,
thousands of times. What came back is a trace. A *watcher* of ours reads the trace from its start
and says at which operation which rule was broken; it never asks how the learner did it, so any
right implementation passes. Calls must not depend on results: callers name their own ids.

    class AllocatorWatcher(Watcher):
        def __init__(self, blocks, block_size):        # the arguments of "new"
            self.free, self.size, self.held = blocks, block_size, {}

        def alloc(self, result, seq, tokens):          # a method's result, then its arguments
            needed = -(-tokens // self.size)
            expect(result is not None or needed > self.free, Code.REFUSED, "It had room.")
            ...

        def end(self): ...                             # after the last call of the script

Feedback names the operation. Its arguments are shown in the notebook, never of a hidden script.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from labkit.contract.answer import Wire, is_blank
from labkit.contract.givens import Givens
from labkit.contract.outcome import Outcome
from labkit.contract.probe import Call, Probe
from labkit.exercises.kinds.outcomes import error, failed, not_attempted, passed, wrong_type
from labkit.exercises.kinds.trace import Broken, Watcher, first_breach
from labkit.exercises.spec import Exercise

Script = tuple[Call, ...]


@dataclass(frozen=True, slots=True)
class MachineKind:
    """`source` is the stub: the class with its docstrings, each method ending in `return ...`.

    `script(givens)` is one draw's run, beginning with ``("new", args)``. `edges(givens)` are short
    runs tried first, in this order, each made to show one mistake: the first of them that breaks
    a rule decides what is said. Of the drawn runs the one with the shortest breaking prefix does.
    `watcher(*args)` builds what reads a trace, from the arguments of "new".

    `reference(givens)` is a right class, each known mistake's value a wrong one. A mistake is told
    by its code: a watcher that raises `Breach(code, …)` gets the sentence of the mistake with this
    code, else its own.
    """

    source: str
    script: Callable[[Givens], Script]
    watcher: Callable[..., Watcher]
    edges: Callable[[Givens], tuple[Script, ...]] = lambda _g: ()
    name: str = "machine"

    def stub(self, exercise: Exercise) -> str:
        """The class with its docstrings and `return ...` in each method."""
        return self.source

    def probe(self, exercise: Exercise, givens: Sequence[Givens]) -> Probe:
        """All edge scripts, then one script per draw, as one probe with compact results."""
        scripts = [*self.edges(givens[0]), *(self.script(g) for g in givens)]
        return Probe(exercise.id, tuple(call for script in scripts for call in script), plain=True)

    def judge(
        self,
        exercise: Exercise,
        givens: Givens,
        answer: Wire,
        probe: Probe | None,
        results: Sequence[Wire] | None,
    ) -> Outcome:
        """Pass when no script breaks a rule; else say which rule, at which operation."""
        if is_blank(answer):
            return not_attempted(exercise)
        if answer.get("kind") != "function":
            wanted = f"the class itself, `{exercise.answer_name}`, without brackets"
            return wrong_type(exercise, answer, wanted)
        if probe is None or results is None or len(results) != len(probe.calls):
            return error(exercise, "The class could not be tried: no results came back.")
        if _untouched(results):
            return not_attempted(exercise)
        fixed = len(self.edges(givens))
        broken = self._broken(list(_runs(probe, results)), fixed)
        if broken is None:
            return passed(exercise, f"{len(results):,} of {len(results):,} operations right")
        says = {m.code: m.says for m in exercise.mistakes}.get(broken.code, broken.says)
        return failed(exercise, broken.code, says, broken.shown(hidden=probe.hidden))

    def _broken(self, runs: list[tuple[Script, Sequence[Wire]]], fixed: int) -> Broken | None:
        """The first edge script that breaks, else the shortest prefix of a drawn one."""
        for script, came in runs[:fixed]:
            found = first_breach(self.watcher, script, came)
            if found is not None:
                return found
        drawn: list[Broken] = []
        for script, came in runs[fixed:]:
            found = first_breach(self.watcher, script, came)
            if found is not None:
                drawn.append(found)
                if found.stopped:
                    break
        return min(drawn, key=lambda b: b.at, default=None)


def _untouched(results: Sequence[Wire]) -> bool:
    """Only blanks came back, beside instances."""
    kinds = {str(result.get("kind")) for result in results}
    return "blank" in kinds and kinds <= {"blank", "new"}


def _runs(probe: Probe, results: Sequence[Wire]) -> Iterator[tuple[Script, Sequence[Wire]]]:
    """Each script, from its "new" to the next, with what came back."""
    starts = [i for i, (method, _) in enumerate(probe.calls) if method == "new"]
    for start, stop in zip(starts, [*starts[1:], len(probe.calls)], strict=True):
        yield probe.calls[start:stop], results[start:stop]
