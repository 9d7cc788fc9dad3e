"""Rows that are off by more than half, by what we think is the reason. Guesses are called so."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from benchmarks.accuracy.markdown import number, table
from benchmarks.accuracy.statistics import Scored

FAR = 0.5


@dataclass(frozen=True, slots=True)
class Reason:
    """A sentence, and the rows that it speaks of."""

    sentence: str
    holds_for: Callable[[Scored], bool]


REASONS = (
    Reason(
        "The source contradicts itself: beside these rates it prints GB/s that only a model ten "
        "times as large would read. Not used in the fit.",
        lambda r: r.id in {"M0733", "M0734", "M0737"},
    ),
    Reason(
        "TGI 1.0.3 runs GPTQ weights on several GPUs far slower than on one (20 users: 73 ms on "
        "one A10G, 342 ms on four). Not used in the fit; newer versions have other kernels.",
        lambda r: r.source == "S01" and r.weights == "4 bit" and r.devices > 1,
    ),
    Reason(
        "The source has two files for the same set-up, one far slower (8 × A10G, 20 users: 413 ms "
        "beside 70). Guess: the slow one is GPTQ under the plain model's name.",
        lambda r: r.source == "S01" and r.devices == 8 and r.model == "llama-2-7b",
    ),
    Reason(
        "bitsandbytes unpacks weights anew for every product, which prefill pays in full; the fit "
        "has one such table.",
        lambda r: r.source == "S04" and r.weights != "16 bit",
    ),
    Reason(
        "Transformers that grows its KV cache by copying it at every step: at long answers and "
        "batch 16 the copies outweigh the weights.",
        lambda r: r.source == "S04",
    ),
    Reason(
        "ExLlama's 4-bit kernels are made for one sequence; from about 8 on the engine unpacks to "
        "16 bit and multiplies those. The step is not modelled.",
        lambda r: r.source == "S03" and r.weights == "4 bit",
    ),
    Reason(
        "llama.cpp prompts over several cards in turn, or on H100: how far the pieces overlap and "
        "how well its own kernels use the card differs by card and format.",
        lambda r: r.source == "S12" and r.quantity == "prompt rate",
    ),
    Reason(
        "A one-token prompt at batch 32 and 64: the number is scheduling, not prefill.",
        lambda r: r.id in {"M0476", "M0486"},
    ),
    Reason(
        "TTFT of a burst or of many users is the wait for the others' prompts, and depends on the "
        "scheduler's settings, which the source does not give.",
        lambda r: r.quantity == "TTFT" and r.batch > 1 and r.source in {"S05", "S27"},
    ),
    Reason(
        "ShareGPT, all requests at once. Guess: answers average 43 tokens in this run and 198 in "
        "the source's others, so prefill decides, and a mean prompt of 215 hides the long ones.",
        lambda r: r.source == "S18" and r.accelerator == "A10G",
    ),
    Reason(
        "A CPU table from one contributor: memory speed, sockets used and threads are not stated.",
        lambda r: r.source == "S20",
    ),
    Reason(
        "CTranslate2's 8-bit path was slower than its own 16 bit here (45 against 68 tokens/s). "
        "The model takes it that fewer bytes are faster.",
        lambda r: r.source == "S09" and r.engine == "ctranslate",
    ),
    Reason(
        "AutoAWQ runs fused layers: less host time than the eager transformers it is read as.",
        lambda r: r.source == "S09" and r.engine == "AutoAWQ",
    ),
    Reason(
        "Neuron's short prompts carry a fixed cost per call that varies with the compiled bucket.",
        lambda r: r.source == "S02" and r.quantity == "TTFT",
    ),
    Reason(
        "A vendor's preliminary figure at batch 512; in-flight limits are not stated.",
        lambda r: r.source == "S07",
    ),
)
UNEXPLAINED = "Not explained."


def reason_of(row: Scored) -> str:
    """The first reason that speaks of the row."""
    return next((r.sentence for r in REASONS if r.holds_for(row)), UNEXPLAINED)


def section(rows: Sequence[Scored]) -> str:
    """The far rows by reason, most rows first, each with its worst example."""
    far = [row for row in rows if row.error > FAR]
    groups: dict[str, list[Scored]] = {}
    for row in far:
        groups.setdefault(reason_of(row), []).append(row)
    lines = []
    for sentence, mine in sorted(groups.items(), key=lambda item: -len(item[1])):
        worst = max(mine, key=_distance)
        sources = ", ".join(sorted({row.source for row in mine}))
        example = (
            f"{worst.id}: {worst.model}, {worst.devices} × {worst.accelerator}, batch "
            f"{worst.batch}, {worst.quantity}: measured {number(worst.measured)}, "
            f"labkit {number(worst.mid)}"
        )
        lines.append([f"{len(mine)}", sources, sentence, example])
    head = ["rows", "source", "what we think", "the furthest"]
    said = f"{len(far)} of {len(rows)} scored rows are off by more than {FAR * 100:.0f} %."
    return f"{said}\n\n{table(head, lines, numbers_from=len(head))}"


def _distance(row: Scored) -> float:
    return max(row.mid / row.measured, row.measured / row.mid)
