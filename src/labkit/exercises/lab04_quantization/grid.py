"""Lab 04, exercise 4.12: the format that loses nothing, and why that says nothing."""

from __future__ import annotations

from labkit.contract.codes import Code
from labkit.contract.givens import Given, Givens
from labkit.exercises.kinds import Choice, Option
from labkit.exercises.lab04_quantization.objectives import LOSS
from labkit.exercises.lab04_quantization.reading import (
    REFERENCE,
    TRAP,
    is_original,
    label,
    losses,
    number,
)
from labkit.exercises.spec import Draw, Exercise, Mistake, Tier

_SHOWN = (REFERENCE, TRAP, "q4_0", "q8_0")


def _draw(draw: Draw) -> tuple[Given, ...]:
    record = draw.records["quantization"]
    pairs = zip(losses(record, REFERENCE), losses(record, TRAP), strict=True)
    said = "the published weights" if is_original(record) else "a Q4_1 file, turned back into FP32"
    return (
        *(
            Given(
                f"ppl_{key}",
                number(record, key, "perplexity"),
                "",
                f"{label(record, key)}: perplexity",
            )
            for key in _SHOWN
        ),
        Given(
            "largest_difference",
            max(abs(one - other) for one, other in pairs),
            "nats",
            "Q4_1 and the reference: largest difference in any window",
        ),
        Given("reference_from", said, "", "what the reference was made from", "your record"),
    )


def _right(g: Givens) -> str:
    return "differs" if "published" in str(g.reference_from) else "grid"


def _unless(key: str, g: Givens) -> str | None:
    return None if key == _right(g) else key


TRAP_EXERCISE = Exercise(
    id="4.12",
    title="Four bits without any loss?",
    objective=LOSS,
    points=1,
    tier=Tier.OWN,
    kind=Choice(
        (
            Option("lossless", "Q4_1 loses nothing: of the 4-bit formats it is the one to take"),
            Option("minimum", "Q4_1 stores a minimum beside the scale, and that saves the quality"),
            Option(
                "grid",
                "nothing about Q4_1's quality: the reference lay on its grid already, and rounding "
                "twice to one grid changes nothing",
            ),
            Option("noise", "the text is too short to see Q4_1's loss"),
            Option("differs", "Q4_1 loses a little here, as every 4-bit format does"),
        )
    ),
    statement=(
        "Your record holds a curious pair. Q4_1 and Q4_0 both have 4-bit integers in groups of 32. "
        "Q4_0 stores a scale per group, Q4_1 a scale and a minimum. Compare their perplexities "
        "with the reference's, and look at what the reference was made from.\n\n"
        "**What do these numbers say about Q4_1?**"
    ),
    answer_name="grid",
    draw=_draw,
    reference=_right,
    mistakes=(
        Mistake(
            Code.GRID_IGNORED,
            "Look at what the reference was made from. A number that is on the grid already is "
            "not moved by rounding it to the grid: any format would look perfect against its own "
            "copy. Against the original weights Q4_1 may lose as much as others.",
            lambda g: _unless("lossless", g),
        ),
        Mistake(
            Code.UNSUPPORTED_CAUSE,
            "A minimum may help, but it cannot bring the loss to nothing: 16 marks are 16 "
            "marks. This record cannot tell by how much it helps. Look at what the reference was "
            "made from.",
            lambda g: _unless("minimum", g),
        ),
        Mistake(
            Code.EXPECTATION_NOT_MEASUREMENT,
            "Every format read the same tokens, and Q4_0's loss is plain to see on them. A short "
            "text is not the reason.",
            lambda g: _unless("noise", g),
        ),
        Mistake(
            Code.CLOSE,
            "Not in your record: no window differs by more than a rounding error. Look at "
            "largest_difference.",
            lambda g: _unless("differs", g),
        ),
        Mistake(
            Code.OTHER,
            "In your record the reference has the published weights, which lie on no grid.",
            lambda g: _unless("grid", g),
        ),
    ),
    hints=(
        "A loss is always a loss against something. Against what here?",
        "Round 3.7 to whole numbers, then round the result again. How much does the second "
        "rounding change?",
        "round(round(w)) == round(w): compare reference_from with the format in question.",
    ),
    solution=('grid = "differs" if g.reference_from == "the published weights" else "grid"'),
    praise=(
        "So this record may compare Q4_0, NF4 and the rest with each other, as extra loss on top "
        "of the reference's own. It may not rank Q4_1."
    ),
    needs=("quantization",),
)
