"""Lab 02, exercise 2.12: a real model's cache, counted, against the formula."""

from __future__ import annotations

from typing import Any

from labkit.contract.codes import Code
from labkit.contract.errors import LabkitError
from labkit.contract.record import Record
from labkit.exercises.kinds import MeasurementKind
from labkit.exercises.lab02_memory.cache_function import kv_bytes_per_token
from labkit.exercises.lab02_memory.shapes import CACHE
from labkit.exercises.spec import Exercise, Tier

BITS = {"fp32": 32, "bf16": 16}

Remark = tuple[Code, str] | None


def growth(record: Record, dtype: str) -> tuple[list[int], list[int]]:
    """Cached tokens and the bytes counted at each. Raises LabkitError where they are missing."""
    kv = record.facts.get("kv")
    entry = kv.get(dtype) if isinstance(kv, dict) else None
    entry = entry if isinstance(entry, dict) else {}
    tokens, counted = _counts(entry.get("tokens")), _counts(entry.get("bytes"))
    if len(tokens) != len(counted) or len(tokens) < 2:
        raise LabkitError(f"The record has no growth of the {dtype.upper()} cache: run it again.")
    return tokens, counted


def _counts(value: Any) -> list[int]:
    """A list of positive whole numbers; empty where it is anything else."""
    good = isinstance(value, list) and all(type(x) is int and x > 0 for x in value)
    return value if good else []


def _shape(record: Record) -> dict[str, int]:
    config = record.facts.get("config")
    names = ("num_hidden_layers", "num_attention_heads", "num_key_value_heads", "head_dim")
    if not isinstance(config, dict) or not all(_counts([config.get(name)]) for name in names):
        raise LabkitError("The record does not say the model's shape: run it again.")
    return {**{name: config[name] for name in names}, "hidden_size": 1}


def _to_the_byte(record: Record) -> Remark:
    shape = _shape(record)
    for dtype, bits in BITS.items():
        each = kv_bytes_per_token(shape, bits)
        for tokens, counted in zip(*growth(record, dtype), strict=True):
            if counted != tokens * each:
                return Code.UNPLAUSIBLE, (
                    f"At {tokens} tokens the {dtype.upper()} cache is not what this model's shape "
                    "allows. Byte counts do not depend on the machine: run the bench again."
                )
    return None


MEASURE = Exercise(
    id="2.12",
    title="Count a real cache",
    objective=CACHE,
    points=1,
    tier=Tier.OWN,
    kind=MeasurementKind(
        bench="memory",
        series=("kv.build",),
        checks=(_to_the_byte,),
        signed=("rss.growth",),
    ),
    statement=(
        "`bench.memory()` lets SmolLM2-135M read up to 512 tokens on your machine and adds up the "
        "bytes of every K and V tensor it then holds, once in FP32 and once in BF16. It also "
        "counts the parameters of some models as the library `transformers` builds them, without "
        "their weights. It takes up to a minute; the first time the model is fetched (about "
        "100 MB).\n\n"
        "**Hand in the record.** In a hurry, or without a network, take the recording, "
        "`bench.memory(replay=True)`: it earns the same."
    ),
    answer_name="memory",
    draw=lambda _draw: (),
    reference=lambda _g: None,
    mistakes=(),
    hints=(
        "The answer is what bench.memory() returns, not a number taken from it.",
        "memory = bench.memory(), then hand `memory` to the check.",
        "Without a network or in a hurry: memory = bench.memory(replay=True)",
    ),
    solution="memory = bench.memory()\nmemory",
    praise="Counted, not estimated. Now hold your formula against it.",
)
