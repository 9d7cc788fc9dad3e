"""Lab 05's known mistakes as a learner types them: classes in full, and figures."""

from __future__ import annotations

import inspect

from labkit.contract import Code
from labkit.exercises import load
from labkit.exercises.lab05_batching import allocator_class, batcher_class
from labkit.exercises.lab05_batching.timeline import SOLUTION

_CLASSES = {"5.7": allocator_class.BlockAllocator, "5.6": batcher_class.Batcher}
_ROW_ZERO = "[(name, 0, start, end) for name, _, start, end in {spans}]"
_EARLY = """\
def too_early(lengths, slots):
    spans, start = [], 0
    for first in range(0, len(lengths), slots):
        batch = lengths[first : first + slots]
        for slot, tokens in enumerate(batch):
            spans.append((f"R{first + slot + 1}", slot, start, start + tokens))
        start += min(batch)
    return spans


"""
_CONTINUOUS, _STATIC = "continuous_spans(g.lengths, g.slots)", "static_spans(g.lengths, g.slots)"


def _class(number: str, wrong: type) -> str:
    """A class that is right but for one thing, and the name that the exercise asks for."""
    right = _CLASSES[number]
    source = f"{inspect.getsource(right)}\n\n{inspect.getsource(wrong)}"
    return f"{source}\n\n{right.__name__} = {wrong.__name__}"


TYPED: dict[tuple[str, Code], str] = {
    (number, mistake.code): _class(number, mistake.value({}))  # type: ignore[arg-type]
    for number in _CLASSES
    for mistake in load("05")[number].mistakes
} | {
    ("5.9", Code.IDLE_SLOT): SOLUTION.replace(_CONTINUOUS, _STATIC),
    ("5.9", Code.FINISHED_EARLY): _EARLY
    + SOLUTION.replace(_STATIC, "too_early(g.lengths, g.slots)"),
    ("5.9", Code.OTHER_QUANTITY): SOLUTION.replace(
        '(panels[0], "static"', '(panels[1], "static"'
    ).replace('(panels[1], "continuous"', '(panels[0], "continuous"'),
    ("5.9", Code.SLOTS_EXCEEDED): SOLUTION.replace(_STATIC, _ROW_ZERO.format(spans=_STATIC)),
    ("5.9", Code.AXIS_LABEL): f'{SOLUTION}\nfor panel in panels:\n    panel.set_xlabel("time")',
}
