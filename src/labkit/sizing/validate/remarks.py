"""What a row's notes say about its number: is prefill inside, is it per GPU, is it doubtful.

The same metric does not include the same things in every source, and the notes are where a row
says so. Where they are silent the usual meaning holds: a total rate over the whole request, TPOT
and rates per user over decode alone.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_OUTSIDE = re.compile(
    r"decode only|decode-only|prefill (?:removed|excluded|not inside)|(?:excludes?|without) "
    r"(?:the )?(?:prefill|ttft)|\btg from empty|from empty context",
    re.IGNORECASE,
)
_INSIDE = re.compile(
    r"prefill(?: of [\d,]+ tokens)?(?: \([^)]*\))? (?:is )?(?:inside|included)|ttft (?:is )?inside|"
    r"includ(?:es|ing) (?:the )?(?:prefill|ttft)|whole generate|end.to.end",
    re.IGNORECASE,
)
_PER_DEVICE = re.compile(
    r"tok(?:en)?s?/s/gpu|per gpu|per-gpu|multiply by tp|/s per (?:gpu|device)", re.IGNORECASE
)
_ONE_BY_ONE = re.compile(r"prefill one after another|waiting for (?:the )?other p", re.IGNORECASE)
_BEAMS = re.compile(r"\bbeams?(?: search)?(?: width)?\s*(?:=|of)?\s*(\d{1,2})\b", re.IGNORECASE)
_STATIC = re.compile(r"static batch|one forward of|batch prefill latency", re.IGNORECASE)
_CONTINUOUS = re.compile(
    r"continuous batching|in-?flight batching|benchmark_serving|\bconcurren(?:cy|t)\b|"
    r"\b(?:all )?users\b|\bVU\b",
    re.IGNORECASE,
)
_LAYERS = re.compile(
    r"layer split|pipeline parallel|\bPP ?\d|no tensor parallel|device_map", re.IGNORECASE
)
_SUSPECT = re.compile(r"\bSUSPECT\b")
_SATURATED = re.compile(r"saturated", re.IGNORECASE)
_CORES = re.compile(r"\b(?:(\d{1,3}) of )?(\d{1,3}) (?:[A-Z]{2,4} )?(?:cores|threads)\b")


@dataclass(frozen=True, slots=True)
class Remarks:
    """What the notes say; None where they say nothing.

    prefill_inside: the rate or TPOT is over the whole request. per_device: a rate divided by the
    number of GPUs. one_by_one: TTFT is a mean over prompts of the batch that are prefilled one
    after another. static: all sequences start together (False: they come and go). layer_split:
    several devices hold layers in turn instead of sharing each. cores: CPU cores or threads used.
    """

    prefill_inside: bool | None = None
    per_device: bool = False
    one_by_one: bool = False
    beams: int = 1
    static: bool | None = None
    layer_split: bool = False
    saturated: bool = False
    suspect: bool = False
    cores: int | None = None


def remarks_of(notes: str) -> Remarks:
    """Read a row's notes; never raises."""
    inside: bool | None = None
    if _OUTSIDE.search(notes):
        inside = False
    elif _INSIDE.search(notes):
        inside = True
    static: bool | None = None
    if _STATIC.search(notes):
        static = True
    elif _CONTINUOUS.search(notes):
        static = False
    beams = _BEAMS.search(notes)
    cores = _CORES.search(notes)
    return Remarks(
        prefill_inside=inside,
        per_device=_PER_DEVICE.search(notes) is not None,
        one_by_one=_ONE_BY_ONE.search(notes) is not None,
        beams=max(1, int(beams[1])) if beams else 1,
        static=static,
        layer_split=_LAYERS.search(notes) is not None,
        saturated=_SATURATED.search(notes) is not None,
        suspect=_SUSPECT.search(notes) is not None,
        cores=(int(cores[1] or cores[2]) or None) if cores else None,
    )
