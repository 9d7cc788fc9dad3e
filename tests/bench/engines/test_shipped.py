"""The shipped recordings of engines and load: the relations that the lab teaches."""

from __future__ import annotations

import json
import statistics

import pytest

from labkit.bench.engine.interval import ratio_interval
from labkit.bench.engine.scenes import LONG
from labkit.bench.engine.summary import engines_summary, load_summary
from labkit.bench.jobs.load import PIECE, USERS, WHOLE
from labkit.bench.records import recording
from labkit.cli.main import main
from labkit.contract import Record

GIB = 1 << 30


@pytest.fixture
def engines() -> Record:
    return recording("engines")


@pytest.fixture
def load() -> Record:
    return recording("load")


def test_everything_was_measured_there(engines: Record, load: Record) -> None:
    assert list(engines.facts["modes"]) == ["sequential", "static", "continuous", "vllm"]
    assert engines.facts["missing"] == load.facts["missing"] == {}
    for part in ("staircase", "prefix", "chunked"):
        assert all(entry["origin"] == "" for entry in load.facts[part].values())
    assert all(mode["origin"] == "" for mode in engines.facts["modes"].values())


def test_outputs_agree(engines: Record) -> None:
    for mode in engines.facts["modes"].values():
        assert mode["agreement"] >= engines.facts["agreement_needed"] == 0.95
        assert mode["counts"]


def test_order_and_intervals(engines: Record) -> None:
    modes = engines.facts["modes"]
    rates = [statistics.median(modes[m]["cpu_rate"]) for m in modes]
    assert rates == sorted(rates)  # sequential < static < continuous < vLLM
    for name in ("static", "continuous", "vllm"):
        interval = ratio_interval(modes[name]["speedup"])
        assert interval.pairs >= 5
        assert interval.low > 1


def test_alone_nobody_is_much_faster(engines: Record) -> None:
    for name in ("continuous", "vllm"):
        alone = statistics.median(engines.facts["modes"][name]["alone"])
        assert 0.8 <= alone <= 1.3
        assert alone < 0.6 * statistics.median(engines.facts["modes"][name]["speedup"])


def test_the_published_ratio_needs_uneven_answers(engines: Record) -> None:
    """Static wastes what the longest of each batch makes the others wait."""
    outputs = engines.facts["requests"]["output_tokens"]
    slots = engines.facts["slots"]
    rows = sum(slots * max(outputs[i : i + slots]) for i in range(0, len(outputs), slots))
    assert sum(outputs) / rows < 0.4


def test_memory_stays_within_the_bound(engines: Record, load: Record) -> None:
    modes = engines.facts["modes"]
    worker = max(modes[m]["memory_bytes"] for m in ("sequential", "static", "continuous"))
    assert worker + modes["vllm"]["memory_bytes"] < 6 * GIB
    assert all(server["memory_bytes"] < 5 * GIB for server in load.facts["servers"].values())


def test_the_staircase(load: Record) -> None:
    stairs = load.facts["staircase"]
    assert all(list(server["levels"]) == [str(u) for u in USERS] for server in stairs.values())
    plain = stairs["plain"]["levels"]["8"]["ttft_ms"]
    assert plain[7] > 5 * plain[0]
    for name in ("continuous", "vllm"):
        assert stairs[name]["levels"]["8"]["ttft_ms"][7] < 0.5 * plain[7]
        throughput = [stairs[name]["levels"][str(u)]["tok_per_s"] for u in USERS]
        assert throughput[2] > 1.5 * throughput[0]


def test_a_shared_beginning_is_read_once(load: Record) -> None:
    for name, entry in load.facts["prefix"].items():
        ratio = statistics.median(entry["warm_ms"]) / statistics.median(entry["cold_ms"])
        assert (ratio > 0.5) if name == "plain" else (ratio < 0.5)


def test_pieces_flatten_the_spike(load: Record) -> None:
    for entry in load.facts["chunked"].values():
        whole, pieces = entry["whole"], entry["chunked"]
        assert (whole["tokens_per_step"], pieces["tokens_per_step"]) == (WHOLE, PIECE)
        assert entry["long_prompt_tokens"] == LONG
        assert statistics.median(whole["worst_ms"]) > 4 * whole["usual_ms"]
        assert statistics.median(pieces["worst_ms"]) < 0.6 * statistics.median(whole["worst_ms"])
        at = whole["arrived_at"]
        assert max(whole["itl_ms"]) == max(whole["itl_ms"][at:])


def test_nobody_is_named(engines: Record, load: Record) -> None:
    for record in (engines, load):
        text = json.dumps(record.to_json())
        assert not any(word in text for word in ("/root", "/home", "/tmp", "127.0.0.1"))


def test_the_tables(capsys: pytest.CaptureFixture[str], engines: Record, load: Record) -> None:
    for record, write in ((engines, engines_summary), (load, load_summary)):
        assert main(["bench", record.id, "--replay"]) == 0
        assert capsys.readouterr().out == write(record) + "\n"
        table = write(record).split("\n\n", maxsplit=1)[0]
        assert all(len(line) <= 100 for line in table.splitlines()[:-1])
