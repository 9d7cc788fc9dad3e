"""Records of machines that do not exist, to try the exercises about one's own machine on."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from labkit.contract.record import Record, Series
from labkit.exercises import Facts

SWEEP = (1, 2, 4, 8, 16, 32, 64)
WEIGHT_BYTES = 4 * 4 * 4096 * 4096
STREAMED = 538_060_032


def three(name: str, unit: str, value: float) -> Series:
    return Series(name, unit, (value * 0.99, value, value * 1.01))


def machine_record(
    read: float = 27.0,
    peak: float = 95.0,
    growth: dict[int, float] | None = None,
    efficiency: float = 0.7,
) -> Record:
    """A machine with `read` GB/s and `peak` GFLOP/s; `growth` multiplies batch 1's time."""
    first = 1e3 * WEIGHT_BYTES / (read * 1e9 * efficiency)
    weights = WEIGHT_BYTES / 4

    def milliseconds(batch: int) -> float:
        floor = 1.05e3 * 2 * batch * weights / (peak * 1e9)
        return max(first * (growth or {}).get(batch, 1.0), floor)

    return Record(
        id="machine",
        title="This machine",
        live=True,
        made_on="2026-11-30",
        hardware={"summary": "an invented machine", "device": "cpu"},
        versions={"torch": "2.13.0"},
        series=(
            three("bandwidth.read", "GB/s", read),
            three("bandwidth.copy", "GB/s", read * 0.9),
            three("gemm.fp32", "GFLOP/s", peak),
            three("gemm.bf16", "GFLOP/s", peak * 2),
            *(three(f"sweep.fp32.b{b}", "ms", milliseconds(b)) for b in SWEEP),
        ),
        facts={"sweep": {"fp32": {"weight_bytes": WEIGHT_BYTES, "batches": list(SWEEP)}}},
    )


def decode_record(read: float = 27.0, products: float = 0.6, rest: float = 0.5) -> Record:
    """A decode whose products reach `products` of memory, and whose step `rest` of the products."""
    ideal = 1e3 * STREAMED / (read * 1e9)
    step = ideal / products / rest
    return Record(
        id="decode",
        title="SmolLM2",
        live=True,
        made_on="2026-11-30",
        hardware={"summary": "an invented machine", "device": "cpu"},
        versions={},
        series=(
            three("decode.step", "ms", step),
            three("decode.rate", "tok/s", 1e3 / step),
            three("decode.products", "ms", ideal / products),
            three("decode.read", "ms", ideal),
        ),
        facts={"streamed_bytes_per_token": STREAMED},
    )


TOKENS = (1, 16, 64, 128, 256, 512)
SHAPE = {
    "num_hidden_layers": 30,
    "num_attention_heads": 9,
    "num_key_value_heads": 3,
    "head_dim": 64,
    "hidden_size": 576,
}


def memory_record(extra_bytes: int = 0, growth: float = 23.6) -> Record:
    """A cache counted on SmolLM2's shape; `extra_bytes` too many at the last count."""
    each = 2 * SHAPE["num_hidden_layers"] * SHAPE["num_key_value_heads"] * SHAPE["head_dim"]
    kv = {
        name: {"tokens": list(TOKENS), "bytes": [n * each * width for n in TOKENS]}
        for name, width in (("fp32", 4), ("bf16", 2))
    }
    kv["bf16"]["bytes"][-1] += extra_bytes
    return Record(
        id="memory",
        title="SmolLM2: its cache",
        live=True,
        made_on="2026-11-30",
        hardware={"summary": "an invented machine", "device": "cpu"},
        versions={},
        series=(three("kv.build", "ms", 900.0), three("rss.growth", "MB", growth)),
        facts={"kv": kv, "config": dict(SHAPE), "meta_parameters": {"smollm2-135m": 134_515_008}},
    )


@pytest.fixture(scope="session")
def facts() -> Facts:
    return Facts.load()


@pytest.fixture(scope="session")
def records() -> dict[str, Record]:
    return {"machine": machine_record(), "decode": decode_record(), "memory": memory_record()}


@pytest.fixture(scope="session")
def make_machine() -> Callable[..., Record]:
    return machine_record


@pytest.fixture(scope="session")
def make_decode() -> Callable[..., Record]:
    return decode_record


@pytest.fixture(scope="session")
def make_memory() -> Callable[..., Record]:
    return memory_record
