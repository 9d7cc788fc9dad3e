"""A figure, judged by the data in it: scales, labels, lines and points, never pixels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from labkit.contract.answer import Wire, is_blank
from labkit.contract.codes import Code
from labkit.contract.givens import Givens
from labkit.contract.outcome import Outcome
from labkit.contract.probe import Probe
from labkit.exercises.kinds.outcomes import failed, not_attempted, passed, wrong_type
from labkit.exercises.spec import Exercise

# A check looks at one Axes (wire form) and the givens; it returns a remark, or None if content.
Axes = dict[str, Any]
Check = Callable[[Axes, Givens], tuple[Code, str] | None]
Panels = Callable[[list[Axes], Givens], tuple[Code, str] | None]


@dataclass(frozen=True, slots=True)
class FigureKind:
    """`doc` describes the figure for the stub; `checks` run in order, the first remark counts.

    A check gets one Axes in wire form (`contract.figure`); `kinds.axes` has the usual ones, for
    log axes, labels, bars, timelines, error bars and annotations. The Axes is the fullest one.
    `panels` looks at all of them, in reading order, before `checks`: for a figure of several
    Axes, of which `checks` then look at none.
    """

    signature: str
    doc: str
    checks: tuple[Check, ...] = ()
    panels: tuple[Panels, ...] = ()
    name: str = "figure"

    def stub(self, exercise: Exercise) -> str:
        """A blank with the description above it."""
        lines = [f"# {line}" for line in self.doc.splitlines()]
        return "\n".join([*lines, f"{exercise.answer_name} = ..."])

    def probe(self, exercise: Exercise, givens: Sequence[Givens]) -> Probe | None:
        """No calls: the figure's own data decide."""
        return None

    def judge(
        self,
        exercise: Exercise,
        givens: Givens,
        answer: Wire,
        probe: Probe | None,
        results: Sequence[Wire] | None,
    ) -> Outcome:
        """Pass when every check is content with the fullest Axes."""
        if is_blank(answer):
            return not_attempted(exercise)
        wanted = "the Matplotlib Axes that holds the plot"
        if self.panels:
            wanted = "the Matplotlib Figure that holds the plots"
        axes = answer.get("axes")
        if answer.get("kind") != "figure" or not isinstance(axes, list):
            return wrong_type(exercise, answer, wanted)
        drawn = [ax for ax in axes if isinstance(ax, dict)]
        if not drawn:
            return failed(exercise, Code.SERIES_MISSING, "The figure holds no Axes.")
        fullest = max(drawn, key=_artists)
        shown = _shown(fullest) if not self.panels else " | ".join(map(_shown, drawn[:4]))
        looks = [*(partial(look, drawn) for look in self.panels)]
        looks += [partial(look, fullest) for look in self.checks]
        for look in looks:
            try:
                found = look(givens)
            except (KeyError, TypeError, ValueError, IndexError, AttributeError, ArithmeticError):
                # Only a forged figure message lacks the fields that `encode_figure` writes.
                return failed(exercise, Code.TYPE, "The figure's data cannot be read.", shown)
            if found is not None:
                return failed(exercise, found[0], found[1], shown)
        return passed(exercise, shown)


def _shown(ax: Axes) -> str:
    names = {"lines": "line", "points": "scatter", "bars": "bar", "errors": "error bar"}
    counts = [(len(_list(ax, kind)), name) for kind, name in names.items()]
    found = " and ".join(f"{n} {name}{'' if n == 1 else 's'}" for n, name in counts if n)
    return f"Axes with {found or 'nothing in it'}"


def _artists(ax: Axes) -> int:
    return sum(len(_list(ax, key)) for key in ("lines", "points", "bars", "errors"))


def _list(ax: Axes, key: str) -> list[Any]:
    value = ax.get(key)
    return value if isinstance(value, list) else []
