"""Lab 06, exercise 6.15: speed-up against draft length for three α, with the measured points."""

from __future__ import annotations

import math
import re
from typing import Any

from labkit.bench.drafting.acceptance import expected_speedup
from labkit.contract.codes import Code
from labkit.contract.givens import Given, Givens
from labkit.exercises.kinds import FigureKind
from labkit.exercises.kinds.axes import has_points, labelled
from labkit.exercises.lab06_attention.objectives import SPECULATION
from labkit.exercises.lab06_attention.records import COPY, number, of_run, own, runs, unusable
from labkit.exercises.spec import Draw, Exercise, Mistake, Tier

ALPHAS = (0.3, 0.6, 0.9)
LONGEST = 10
MODEL = "layers"  # the drafter made of the target's first layers, whose cost is large enough to see

Remark = tuple[Code, str] | None


def _draw(draw: Draw) -> tuple[Given, ...]:
    record = draw.records["speculation"]
    here = runs(record, COPY)
    name = next((n for n in here if n.startswith(MODEL)), "")
    if not name:
        raise unusable(record, f"run with a {MODEL!r} drafter")
    points = [here[name], *(run for n, run in here.items() if n.startswith("lookup"))]
    return (
        Given("alphas", list(ALPHAS), "", "α of the three curves", "assumed"),
        Given("longest", LONGEST, "tokens", "largest γ of the curves", "assumed"),
        of_run(record, here[name], "c", f"cost of the drafter {name}: one token ÷ one step"),
        Given(
            "measured_gamma",
            [number(record, "gamma", run.get("gamma")) for run in points],
            "tokens",
            f"γ of your runs on the copy prompt: {name}, then prompt lookup",
            own(record),
        ),
        Given(
            "measured_speedup",
            [number(record, "speedup", run.get("speedup")) for run in points],
            "x",
            "their speed-ups, in the same order",
            own(record),
        ),
    )


def measured(g: Givens) -> list[tuple[float, float]]:
    """(γ, speed-up) of each drafter of the record on the copy prompt."""
    return list(zip(g.measured_gamma, g.measured_speedup, strict=True))


# --- checks: each looks at one Axes in wire form ---------------------------------------------


def curves(ax: dict[str, Any], g: Givens) -> Remark:
    """A curve for each α: the formula with the given c, for γ from 1 to 10."""
    for alpha in g.alphas:
        word = re.compile(rf"(?<![0-9.]){re.escape(f'{alpha:g}')}0*(?![0-9])")
        lines = [_points(line) for line in ax["lines"] if word.search(line["label"])]
        line = max(lines, key=len, default=[])
        if len(line) < 5:
            return Code.SERIES_MISSING, (
                f'There is no curve for α = {alpha:g}: draw a line with label="α = {alpha:g}".'
            )
        if min(x for x, _ in line) > 1 or max(x for x, _ in line) < g.longest:
            return Code.SERIES_MISSING, (
                f"The curve for α = {alpha:g} does not go from γ = 1 to γ = {g.longest}."
            )
        remark = _one_curve(line, alpha, g.c)
        if remark is not None:
            return remark
    return None


def _tokens(alpha: float, gamma: float) -> float:
    """1 + α + … + α^γ, for draft lengths between whole numbers too."""
    return float((1 - alpha ** (gamma + 1)) / (1 - alpha))


def _one_curve(line: list[tuple[float, float]], alpha: float, c: float) -> Remark:
    shapes = (
        (lambda x: _tokens(alpha, x) / (x * c + 1), None, ""),
        (
            lambda x: _tokens(alpha, x),
            Code.FREE_DRAFT,
            "never falls: drafting costs γ · c, and c is given",
        ),
        (
            lambda x: _tokens(alpha, x - 1) / (x * c + 1),
            Code.BONUS_FORGOTTEN,
            "lacks the target's own token: the exponent is γ + 1",
        ),
        (
            lambda x: _tokens(alpha, x) / (c + 1),
            Code.COST_ONCE,
            "pays for one draft only: γ · c + 1",
        ),
    )
    for rule, code, says in shapes:
        if all(math.isclose(y, rule(x), rel_tol=0.02) for x, y in line):
            return None if code is None else (code, f"The curve for α = {alpha:g} {says}.")
    return Code.OTHER, (f"The curve for α = {alpha:g} is not (1 − α^(γ+1)) / ((1 − α)(γ·c + 1)).")


def _points(line: dict[str, Any]) -> list[tuple[float, float]]:
    return [
        (float(x), float(y))
        for x, y in zip(line["x"], line["y"], strict=False)
        if x is not None and y is not None and x > 0
    ]


# --- the figure, right and wrong -------------------------------------------------------------


def plot(g: Givens, *, rule: str = "", points: bool = True, labels: bool = True) -> Any:
    """The figure; the keywords make the known mistakes."""
    from matplotlib.figure import Figure

    ax = Figure(figsize=(8, 4)).add_subplot()
    gammas = list(range(1, int(g.longest) + 1))
    for alpha in g.alphas:
        if rule == "free":
            y = [_tokens(alpha, n) for n in gammas]
        elif rule == "no bonus":
            y = [_tokens(alpha, n - 1) / (n * g.c + 1) for n in gammas]
        elif rule == "once":
            y = [_tokens(alpha, n) / (g.c + 1) for n in gammas]
        else:
            y = [expected_speedup(alpha, n, g.c) for n in gammas]
        ax.plot(gammas, y, label=f"α = {alpha:g}")
    if points:
        ax.plot(g.measured_gamma, g.measured_speedup, "o", label="measured")
    if labels:
        ax.set_xlabel("γ, drafted tokens per round")
        ax.set_ylabel("speed-up")
    return ax


def _first_curve(code: Code, says: str, rule: str) -> Mistake:
    words = f"The curve for α = {ALPHAS[0]:g} {says}."
    return Mistake(code, words, lambda g: plot(g, rule=rule))


SOLUTION = """\
fig, ax = plt.subplots(figsize=(8, 4))
gammas = list(range(1, g.longest + 1))
for alpha, style in zip(g.alphas, ("-", "--", "-.")):
    y = [sum(alpha**i for i in range(n + 1)) / (n * g.c + 1) for n in gammas]
    ax.plot(gammas, y, style, lw=2, label=f"α = {alpha}")
ax.plot(g.measured_gamma[:1], g.measured_speedup[:1], "k^", ms=8, label="measured: model drafter")
ax.plot(g.measured_gamma[1:], g.measured_speedup[1:], "ko", ms=7, label="measured: lookup")
ax.axhline(1, color="black", lw=1)
ax.set_xlabel("γ, drafted tokens per round")
ax.set_ylabel("speed-up")
ax.set_ylim(0)
ax.legend(frameon=False)
ax.spines[["top", "right"]].set_visible(False)
fig.tight_layout()"""

FIGURE = Exercise(
    id="6.15",
    title="Theory and your machine in one figure",
    objective=SPECULATION,
    points=2,
    tier=Tier.OWN,
    kind=FigureKind(
        signature="ax",
        doc=(
            "Speed-up against γ from 1 to 10: one labelled curve for each α of g.alphas,\n"
            "and your measured points. Both axes labelled."
        ),
        checks=(
            labelled("x", r"γ|gamma|draft|token", "what it shows (γ, drafted tokens)"),
            labelled("y", r"speed.?-?up|faster|gain", "what it shows (speed-up)"),
            curves,
            has_points(measured, "one for each entry of g.measured_gamma and g.measured_speedup"),
        ),
    ),
    statement=(
        "Draw the speed-up against γ, for γ = 1 … 10:\n\n"
        "- one curve for each α of `g.alphas`, by the published formula, with the `c` of the model "
        'drafter that you measured. Labels: `"α = 0.3"` and so on.\n'
        "- your measured points on the copy prompt: `g.measured_gamma` and `g.measured_speedup`. "
        "The first is that model drafter; the others are prompt lookup, which is nearly free.\n\n"
        "Label both axes. The checker reads the data, not the picture, so style it as you like."
    ),
    answer_name="ax",
    draw=_draw,
    reference=plot,
    mistakes=(
        _first_curve(Code.FREE_DRAFT, "never falls: drafting costs γ · c, and c is given", "free"),
        _first_curve(
            Code.BONUS_FORGOTTEN, "lacks the target's own token: the exponent is γ + 1", "no bonus"
        ),
        _first_curve(Code.COST_ONCE, "pays for one draft only: γ · c + 1", "once"),
        Mistake(
            Code.SERIES_MISSING,
            "A point is missing or misplaced: one for each entry of g.measured_gamma and "
            "g.measured_speedup.",
            lambda g: plot(g, points=False),
        ),
        Mistake(
            Code.AXIS_LABEL,
            "The x axis does not say what it shows (γ, drafted tokens): ax.set_xlabel(…).",
            lambda g: plot(g, labels=False),
        ),
    ),
    hints=(
        "Three calls of ax.plot for the curves, one for the points.",
        "For each α a list of ten speed-ups; the points from the two lists.",
        "sum(alpha**i for i in range(n + 1)) / (n * g.c + 1) for n = 1 … 10",
    ),
    solution=SOLUTION,
    praise=(
        "A dear drafter has its best γ early; behind it every further draft costs more than it "
        "gives. Points below a speed-up of 1 are slower than no drafter."
    ),
    claim="E121",
    needs=("speculation",),
)
