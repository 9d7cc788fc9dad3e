"""The KV cache of a real model, counted; what a GPU says is tried on fakes."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from labkit import bench
from labkit.bench.jobs.memory import TOKENS, cache_bytes, device_memory, shape_of
from labkit.bench.jobs.meta import MODELS
from labkit.bench.noise import complaints
from labkit.bench.process import run_job
from labkit.bench.records import recording
from labkit.catalog import Catalog
from labkit.contract import Record, Series
from labkit.sizing import kv_bytes_per_token

PER_TOKEN = {"fp32": 46_080, "bf16": 23_040}
WILD = (1.0, 90.0, 0.0, 250.0, -3.0)


@pytest.fixture
def shipped() -> Record:
    return recording("memory")


def obeys_theory(facts: Any) -> None:
    """To the byte: 2 (K and V) · layers · KV heads · head size · bytes, for each token."""
    config = facts["config"]
    elements = 2 * config["num_hidden_layers"] * config["num_key_value_heads"] * config["head_dim"]
    for dtype, size in (("fp32", 4), ("bf16", 2)):
        kv = facts["kv"][dtype]
        assert kv["bytes"] == [tokens * elements * size for tokens in kv["tokens"]]


def test_the_recording_equals_theory_to_the_byte(shipped: Record) -> None:
    obeys_theory(shipped.facts)
    for dtype, per_token in PER_TOKEN.items():
        kv = shipped.facts["kv"][dtype]
        assert kv["tokens"] == list(TOKENS) == [1, 16, 64, 128, 256, 512]
        assert kv["bytes"] == [per_token * tokens for tokens in TOKENS]


def test_the_engine_counts_the_same_cache(shipped: Record) -> None:
    catalog = Catalog.load()
    model = catalog.model("smollm2-135m")
    for dtype, format_name in (("fp32", "fp32"), ("bf16", "bf16")):
        kv = shipped.facts["kv"][dtype]
        engine = kv_bytes_per_token(model, catalog.format(format_name))
        assert kv["bytes"] == [engine * tokens for tokens in kv["tokens"]]


def test_the_config_is_the_models(shipped: Record) -> None:
    assert shipped.facts["config"] == {
        "num_hidden_layers": 30,
        "num_attention_heads": 9,
        "num_key_value_heads": 3,
        "head_dim": 64,
        "hidden_size": 576,
    }


def test_meta_counts_are_the_catalogues(shipped: Record) -> None:
    catalog = Catalog.load()
    counted = shipped.facts["meta_parameters"]
    assert set(counted) == set(MODELS)
    assert counted == {name: catalog.model(name).params.total for name in MODELS}
    assert counted["smollm2-135m"] == 134_515_008


def test_resident_memory_grows_by_at_least_the_cache(shipped: Record) -> None:
    """The recording's machine had room: what grew is the cache and what the allocator kept."""
    assert shipped.facts["built_tokens"] == 512
    assert shipped["rss.growth"].unit == "MB"
    assert 0.9 * 23.6 < shipped.median("rss.growth") < 4 * 23.6
    assert shipped.median("kv.build") > 0


def test_a_busy_machine_does_not_refuse_exact_counts(shipped: Record) -> None:
    busy = replace(
        shipped,
        series=tuple(Series(s.name, s.unit, WILD, s.label) for s in shipped.series),
        facts={**shipped.facts, "cpu_share": {"kv.build": 0.3}},
    )
    assert complaints(busy) == []
    # The same samples under another measurement's name are refused.
    assert {c.series for c in complaints(replace(busy, id="decode"))} == {"rss.growth", "kv.build"}


@pytest.mark.quiet
def test_live(monkeypatch: pytest.MonkeyPatch, tmp_path: Any, steps_told: list[int]) -> None:
    for name in ("LABKIT_RECORDS", "LABKIT_REPLAY", "LABKIT_RUNNER"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / ".labkit").mkdir()
    monkeypatch.setenv("LABKIT_WORKSPACE", str(tmp_path))
    record = bench.measure("memory", quick=True, device="cpu")
    assert record.live
    assert steps_told == [1, 2, 3, 4, 5]
    assert record.facts["kv"] == recording("memory").facts["kv"]
    assert record.facts["meta_parameters"] == recording("memory").facts["meta_parameters"]
    assert "cuda" not in record.facts
    assert bench.last("memory") == record


@pytest.mark.usefixtures("worker_path")
@pytest.mark.parametrize("kv_heads", [1, 2, 4])
def test_any_grouping_of_heads(kv_heads: int) -> None:
    found = run_job("tests.bench.worker_jobs:tiny_memory", {"kv_heads": kv_heads}, timeout_s=120)
    facts = found["facts"]
    obeys_theory(facts)
    assert facts["config"]["num_key_value_heads"] == kv_heads
    assert facts["kv"]["fp32"]["bytes"][0] == 2 * 2 * kv_heads * 16 * 4
    assert len(found["series"]["rss.growth"]) == len(found["series"]["kv.build"]) == 3


def test_a_config_without_head_dim() -> None:
    config = SimpleNamespace(
        num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, hidden_size=64
    )
    assert shape_of(config)["head_dim"] == 16


class FakeTensor:
    """Elements and bytes, with more reserved behind it."""

    def __init__(self, count: int, size: int, pointer: int = 0) -> None:
        self.count, self.size, self.pointer = count, size, pointer
        self.reserved = 2 * count * size

    def numel(self) -> int:
        return self.count

    def element_size(self) -> int:
        return self.size

    def data_ptr(self) -> int:
        return self.pointer


def test_what_was_reserved_is_not_counted() -> None:
    layer = SimpleNamespace(keys=FakeTensor(10, 2), values=FakeTensor(6, 2))
    assert cache_bytes(SimpleNamespace(layers=[layer, layer])) == 2 * (20 + 12)


def test_a_gpus_word_stands_beside_the_count() -> None:
    """On a fake: tied weights count once, the budget is 90 % of all memory."""
    cuda = SimpleNamespace(
        mem_get_info=lambda: (20 * 2**30, 24 * 2**30),
        memory_allocated=lambda: 570_000_000,
        max_memory_allocated=lambda: 600_000_000,
    )
    tied = FakeTensor(100, 4, pointer=1)
    model = SimpleNamespace(parameters=lambda: [tied, tied, FakeTensor(10, 4, pointer=2)])
    found = device_memory(cuda, model, kv_bytes=23_592_960)
    assert found["budget_bytes"] == int(0.9 * 24 * 2**30)
    assert found["weights_bytes"] == 440
    assert found["kv_bytes"] == 23_592_960
    assert found["weights_bytes"] + found["kv_bytes"] < found["allocated_bytes"]
    assert found["allocated_bytes"] <= found["max_allocated_bytes"] < found["budget_bytes"]
