"""The whole of docs/accuracy.md, as text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.accuracy import classes, folds, kv_logs, left_out, ordering, tables, worst
from benchmarks.accuracy.frame import Frame, frame
from benchmarks.accuracy.statistics import Scored
from benchmarks.peers.registry import PEERS
from benchmarks.peers.run import newest
from benchmarks.rows import read

TARGET = Path(__file__).parents[2] / "docs" / "accuracy.md"
HOW = "python -m benchmarks.accuracy"
TIMES = ("TPOT, batch 1", "TPOT, batch > 1", "throughput", "TTFT", "prompt rate", "request time")

OPENING = """\
<!-- Written by `{how}`: do not edit. -->
# How far the numbers are off

The sizing engine is checked on {total} published measurements that nobody here made
([benchmarks/data](../benchmarks/data/README.md)). It is fitted on some sources and only checked on
others: **fitted** and **unseen** rows below. Unseen is what to expect of a new set-up.

- *error*: |predicted ÷ measured − 1| of the band's middle value.
- *in band*: how often the measurement lies between low and high. Aim: 80 to 95 %.
- *half-width*: half the band ÷ its middle, the median. Aim: at most 45 %.
- *naive*: bytes ÷ bandwidth for decode, FLOPs ÷ peak for prefill.
- A rate at batch 1 is scored as TPOT = 1000 ÷ rate: half the time and twice the rate are not the
  same error.

## May I trust a number?

- **Capacity and cost**: plan on the slow end of the band. Measure one machine before you buy ten.
- **Which of two is faster**: see the second table. Where the middle values differ by less than
  20 %, do not choose by them.
- **Memory**: yes, to a few percent ([below](#memory)).
- **Where a result says `prior`**: nothing like it was measured. It is an order of magnitude.

{goals}

How often the engine puts two unseen set-ups in the right order, by how much they differ (TPOT at
batch 1; a class is one family of engines on one kind of card):

{ordering}
"""


def report() -> str:
    """The document. Raises ValueError where a kept file is older than what it was made from."""
    known = frame()
    timed = [row for row in known.scored if row.quantity in TIMES]
    parts = [
        OPENING.format(
            how=HOW,
            total=known.total,
            goals=tables.goals(timed),
            ordering=ordering.section([r for r in timed if r.purpose == tables.VALIDATION]),
        ),
        "## By class\n",
        _by_class(known.scored, timed),
        _beside(known),
        "## Each source left out in turn\n\n"
        "Here a row is predicted by a fit on all other sources, unseen ones included. `left out`: "
        "other sources speak of the same kind of engine, so the fit could do without this one. "
        "`in-sample`: none does; the figure only says that the formula can hold these rows. Times "
        "and rates, without the rows that contradict their own source.\n",
        folds.section(timed, folds.mark(known.results)) + "\n",
        "## What is calibrated, and what is a prior\n\n"
        "The factors are the band: time ÷ predicted time, 5th to 95th percentile. Formats and "
        "accelerators of one class share them.\n",
        classes.section() + "\n",
        "## Memory\n",
        kv_logs.section() + "\n",
        "## What is left out\n",
        left_out.section(known) + "\n",
        "## The worst rows\n",
        worst.section(known.scored) + "\n",
        _again(),
    ]
    return "\n".join(parts)


def _by_class(scored: Sequence[Scored], timed: Sequence[Scored]) -> str:
    cuts = (
        ("quantity", scored, lambda row: row.quantity),
        ("accelerator", timed, lambda row: row.accelerator),
        ("engines", timed, lambda row: row.family),
        ("weights", timed, lambda row: row.weights),
        ("batch", timed, lambda row: "1" if row.batch == 1 else "> 1"),
        ("tensor parallel", timed, lambda row: str(row.devices)),
        ("source", timed, lambda row: row.source),
    )
    texts = [f"### By {name}\n\n{tables.by_class(rows, name, key)}\n" for name, rows, key in cuts]
    return (
        "Times and rates; memory only in the first table. Engines: `compiled` replay CUDA graphs "
        "or compiled programs (vLLM, TensorRT-LLM, LMDeploy, TGI 2, gpt-fast), `launched` start "
        "kernels one by one (TGI 1, AutoAWQ), `eager` is transformers.\n\n" + "\n".join(texts)
    )


def _beside(known: Frame) -> str:
    file = newest()
    versions = {record["peer"]: record["version"] for record in read(file)}
    day = file.stem.removeprefix("peers-")
    lines = [
        "## Beside other tools\n",
        f"Each tool was asked about every row it supports, on {day}; its answers are kept in "
        f"[{file.name}](../benchmarks/data/{file.name}). A row it does not model stays "
        "unsupported. Medians are over the rows that the tool and labkit both predict, where "
        f"there are at least {tables.FEWEST_SHARED}. labkit was fitted on the *fitted* rows and "
        "the tools were not: look at the unseen ones.\n",
        tables.beside(known.scored, list(PEERS)),
        "\nThe same by kind of engine, all rows together:\n",
        tables.beside_by_family(
            [row for row in known.scored if row.quantity in TIMES], list(PEERS)
        ),
        "\n" + _verdict(known.scored),
        "\nNot asked: simulators that first need a profile of the very card (vidur, BLIS), and "
        "aiconfigurator, whose calls take 5 to 20 s each.\n",
        "How a row is put to each tool:\n",
        *[_translation(name, versions) for name in PEERS],
        "",
    ]
    return "\n".join(lines)


def _verdict(scored: Sequence[Scored]) -> str:
    """Where another tool is nearer than labkit, in words: by quantity, engines, card, weights."""
    many = tables.lost(scored, list(PEERS), tables.FEWEST_SHARED, len(scored))
    few = tables.lost(scored, list(PEERS), 1, tables.FEWEST_SHARED - 1)
    said = [
        "**Where another tool is nearer.** By quantity, engines, accelerator and weights, fitted "
        "and unseen rows apart, on ten shared rows or more: "
        + ("; ".join(many) if many else "nowhere")
        + "."
    ]
    if few:
        said.append("With fewer rows, where chance decides much: " + "; ".join(few) + ".")
    return " ".join(said)


def _translation(name: str, versions: Mapping[str, str]) -> str:
    peer = PEERS[name]
    return f"- **{name}** ({versions[name]}; {peer.home}): {peer.load().TRANSLATION}"


def _again() -> str:
    return (
        "## Make it again\n\n"
        "```\n"
        "python -m benchmarks.peers.environment  # the other tools, in their own environment\n"
        "python -m benchmarks.peers.run          # their answers, as a dated CSV\n"
        "python -m benchmarks.calibrate          # the fit, which writes the shipped parameters\n"
        "python -m benchmarks.accuracy.folds     # each source left out in turn\n"
        f"{HOW:<39} # this page\n"
        "```\n"
    )
