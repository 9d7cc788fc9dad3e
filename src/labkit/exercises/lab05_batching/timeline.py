"""Lab 05, exercise 5.9: who holds which slot when, under both schedulers, as one figure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from labkit.contract.codes import Code
from labkit.contract.givens import Given, Givens
from labkit.exercises.kinds import FigureKind
from labkit.exercises.kinds.axes import labelled, one_per_row, spans, timeline
from labkit.exercises.kinds.figure import Axes
from labkit.exercises.lab05_batching.queue import (
    SCHEDULING,
    Span,
    continuous_spans,
    queue_givens,
    static_spans,
    steps,
)
from labkit.exercises.spec import Draw, Exercise, Mistake, Tier

REQUESTS, SLOTS = 9, 3
Remark = tuple[Code, str] | None
Schedule = Callable[[Sequence[int], int], list[Span]]

NOBODY_JOINS = (
    "The lower panel is static as well: a slot that becomes free stays empty until the whole batch "
    "is done. Let the next request in at once."
)
OVERLAP = (
    "Two bars lie on top of each other: a slot serves one request at a time. The next one starts "
    "where the one before it ends."
)
TOO_MANY = "There are more rows with requests in them than slots: some must wait."
ALL_AT_ONCE = (
    "The upper panel starts a batch before the batch before it is done. It waits for the longest."
)
SWAPPED = "The panels are swapped. Static belongs above, continuous below."
NO_LABEL = "The x axis does not say steps: ax.set_xlabel(…)."


def _draw(draw: Draw) -> tuple[Given, ...]:
    """Lengths for which the two schedules differ clearly, and both take more than one batch."""
    while True:
        lengths = [5 * draw.rng.randint(2, 24) for _ in range(REQUESTS)]
        static, continuous = static_spans(lengths, SLOTS), continuous_spans(lengths, SLOTS)
        if steps(static) >= 1.2 * steps(continuous) and len(set(lengths)) >= REQUESTS - 2:
            return queue_givens(lengths, SLOTS, "drawn by your learner id")


def _ends(schedule: Schedule) -> Callable[[Givens], dict[str, tuple[float, float]]]:
    """(start, end) by the name of the request."""
    return lambda g: {
        span.name: (float(span.start), float(span.end)) for span in schedule(g.lengths, g.slots)
    }


def _too_early(lengths: Sequence[int], slots: int) -> list[Span]:
    """Every batch starts when the shortest of the one before it ends."""
    found: list[Span] = []
    start = 0
    for first in range(0, len(lengths), slots):
        batch = lengths[first : first + slots]
        found += [Span(first + i, i, start, start + n) for i, n in enumerate(batch)]
        start += min(batch)
    return found


# --- checks: each looks at all Axes of the figure, in reading order ---------------------------


def _two_panels(axes: list[Axes], _g: Givens) -> Remark:
    drawn = [ax for ax in axes if ax["bars"]]
    if len(drawn) == 2:
        return None
    count = {0: "No Axes holds", 1: "One Axes holds"}.get(len(drawn), "More than two Axes hold")
    return Code.SERIES_MISSING, (
        f"{count} bars. Two are asked: static above, continuous below. Hand in the Figure itself, "
        "not one of its Axes."
    )


def _named(ax: Axes, g: Givens) -> Axes:
    """The Axes with the bars of requests only; idle time may be drawn too, under another name."""
    names = set(_ends(static_spans)(g))
    return {**ax, "bars": [bar for bar in ax["bars"] if str(bar["label"]) in names]}


def _panel(place: int, schedule: Schedule, wrong: Code, other: Schedule, says: str) -> Any:
    right = timeline(_ends(schedule), wrong=((wrong, _ends(other)),), says={wrong: says})

    def check(axes: list[Axes], g: Givens) -> Remark:
        ax = _named([ax for ax in axes if ax["bars"]][place], g)
        found = right(ax, g)
        if found is not None:
            where = ("upper", "lower")[place]
            return found if found[0] is wrong else (found[0], f"The {where} panel: {found[1]}")
        if one_per_row()(ax, g) is not None:
            return Code.SLOTS_EXCEEDED, OVERLAP
        if len({span.row for span in spans(ax)}) > g.slots:
            return Code.SLOTS_EXCEEDED, TOO_MANY
        return None

    return check


def _right_way_up(axes: list[Axes], g: Givens) -> Remark:
    above, below = (_named(ax, g) for ax in axes if ax["bars"])
    swapped = timeline(_ends(continuous_spans))(above, g) is None
    if swapped and timeline(_ends(static_spans))(below, g) is None:
        return Code.OTHER_QUANTITY, SWAPPED
    return None


def _says_steps(axes: list[Axes], g: Givens) -> Remark:
    says_steps = labelled("x", r"step", "steps")
    if all(says_steps(ax, g) is not None for ax in axes):
        return Code.AXIS_LABEL, NO_LABEL
    return None


CHECKS = (
    _two_panels,
    _right_way_up,
    _panel(0, static_spans, Code.FINISHED_EARLY, _too_early, ALL_AT_ONCE),
    _panel(1, continuous_spans, Code.IDLE_SLOT, static_spans, NOBODY_JOINS),
    _says_steps,
)


# --- the figure, right and wrong -------------------------------------------------------------


def plot(
    g: Givens,
    *,
    above: Schedule = static_spans,
    below: Schedule = continuous_spans,
    label: str = "engine steps",
    row: Callable[[Span], int] = lambda span: span.slot,
) -> Any:
    """The figure; the keywords make the known mistakes."""
    from matplotlib.figure import Figure

    fig = Figure(figsize=(8, 4))
    for ax, schedule in zip(fig.subplots(2, 1, sharex=True), (above, below), strict=True):
        for span in schedule(g.lengths, g.slots):
            ax.barh([row(span)], [span.end - span.start], left=span.start, label=span.name)
        ax.set_xlabel(label)
    return fig


SOLUTION = """\
def continuous_spans(lengths, slots):
    free, spans = [0] * slots, []
    for request, tokens in enumerate(lengths):
        slot = free.index(min(free))
        spans.append((f"R{request + 1}", slot, free[slot], free[slot] + tokens))
        free[slot] += tokens
    return spans


slot_figure, panels = plt.subplots(2, 1, figsize=(8, 3.6), sharex=True)
for panel, name, spans in (
    (panels[0], "static", static_spans(g.lengths, g.slots)),
    (panels[1], "continuous", continuous_spans(g.lengths, g.slots)),
):
    draw_slots(panel, spans)
    panel.set_title(f"{name}: {max(end for *_, end in spans)} steps", loc="left")
slot_figure.tight_layout()"""

TIMELINE = Exercise(
    id="5.9",
    title="Your queue, twice",
    objective=SCHEDULING,
    points=2,
    tier=Tier.PERSONAL,
    kind=FigureKind(
        signature="slot_figure",
        doc=(
            "A Figure with two Axes: static above, continuous below. One bar per request,\n"
            'labelled "R1", "R2", …, from its first step to its last, in the row of its slot.\n'
            "You may use static_spans() and draw_slots() of the cell above."
        ),
        panels=CHECKS,
    ),
    statement=(
        f"Your learner id has drawn {REQUESTS} requests; there are {SLOTS} slots. Draw both "
        "schedules of **this** queue in one figure with two Axes: static above, continuous "
        "below.\n\n"
        "- one bar per request (`ax.barh` with `left=`), labelled `R1`, `R2`, … in order of "
        "arrival\n"
        "- it runs from the step in which the request joins to the step in which its last token "
        "is written\n"
        "- one row per slot: which slot a request gets is up to you\n\n"
        "The functions above do the static half. Hand in the figure, not the Axes. Bars without a "
        "request's name are ignored."
    ),
    answer_name="slot_figure",
    draw=_draw,
    reference=plot,
    mistakes=(
        Mistake(Code.IDLE_SLOT, NOBODY_JOINS, lambda g: plot(g, below=static_spans)),
        Mistake(Code.FINISHED_EARLY, ALL_AT_ONCE, lambda g: plot(g, above=_too_early)),
        Mistake(
            Code.OTHER_QUANTITY,
            SWAPPED,
            lambda g: plot(g, above=continuous_spans, below=static_spans),
        ),
        Mistake(Code.SLOTS_EXCEEDED, OVERLAP, lambda g: plot(g, row=lambda _span: 0)),
        Mistake(Code.AXIS_LABEL, NO_LABEL, lambda g: plot(g, label="time")),
    ),
    hints=(
        "You need the list of spans for the continuous half: for each request its slot, its start "
        "and its end.",
        "Keep one number per slot: the step at which it becomes free. Each request takes the slot "
        "with the smallest one, starts there, and raises it by its tokens.",
        "slot = free.index(min(free)); start = free[slot]; free[slot] = end = start + tokens",
    ),
    solution=SOLUTION,
    praise=(
        "The gaps in the upper panel are what continuous batching sells. You pay for them by the "
        "hour."
    ),
    claim="E076",
)
