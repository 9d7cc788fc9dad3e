"""What the jobs make of modes and answers: ratios, agreement, replayed parts, tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from labkit.bench import records
from labkit.bench.engine import environment
from labkit.bench.engine.crowd import ask_all
from labkit.bench.engine.launch import Server
from labkit.bench.engine.modes import Mode, Run, Spent
from labkit.bench.engine.registry import ENGINES, chosen_engines, find_engine
from labkit.bench.engine.replayed import from_recording
from labkit.bench.engine.requests import SENTENCES, Request, mixed_requests, rounds_of
from labkit.bench.engine.scenes import LONG, PROMPT, Prompts, long_prompt, shared_prefix, staircase
from labkit.bench.engine.served import Remote
from labkit.bench.engine.summary import engines_summary, load_summary
from labkit.bench.jobs import load as load_job
from labkit.bench.jobs.engines import run_rounds, summarise
from labkit.bench.registry import BENCHES
from labkit.bench.session import Session
from labkit.contract import LabkitError, Record, Series
from tests.bench.engines.fakes import fake

WORDS = [[1000 * n + i for i in range(12)] for n in range(len(SENTENCES))]
ROUNDS = 5


class Toy:
    """A mode that says what it should, `pace` tokens per CPU-second, and errs now and then."""

    def __init__(self, pace: float, alone: float, wrong_from: int = 10**6) -> None:
        self.by_wall = False
        self._pace, self._alone, self._wrong_from = pace, alone, wrong_from

    def __enter__(self) -> Toy:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def memory_bytes(self) -> int:
        return 7

    def run(self, requests: Sequence[Request]) -> Run:
        return self._at(self._pace, requests)

    def run_alone(self, requests: Sequence[Request]) -> Run:
        return self._at(self._alone, requests)

    def _at(self, pace: float, requests: Sequence[Request]) -> Run:
        outputs = {
            r.id: [-1 if n >= self._wrong_from else r.id + n for n in range(r.output_tokens)]
            for r in requests
        }
        each = {r.id: Spent(r.output_tokens / pace, 2 * r.output_tokens / pace) for r in requests}
        total = sum(spent.cpu_s for spent in each.values())
        return Run(outputs, Spent(total, 2 * total), each)


def session() -> Session:
    return Session(device="cpu", quick=False, threads=1, report=lambda _: None)


def measured(**modes: Mode) -> Any:
    engines = [ENGINES[name] for name in modes]
    groups = rounds_of(mixed_requests(32, WORDS), ROUNDS)
    return summarise(run_rounds(session(), engines, modes, groups), wall=False)


def as_record(found: Any, name: str = "engines", **facts: Any) -> Record:
    return Record(
        id=name,
        title=BENCHES[name].title,
        live=True,
        made_on="2026-01-01",
        hardware={"summary": "a machine"},
        versions={},
        series=tuple(found.series),
        facts={**found.facts, "missing": {}, "slots": 8, "rounds": ROUNDS, **facts},
        notes=tuple(found.notes),
    )


def test_ratios_are_paired_and_useful_tokens_count() -> None:
    found = measured(sequential=Toy(10, 10), static=Toy(20, 0), continuous=Toy(30, 11))
    modes = found.facts["modes"]
    assert modes["sequential"]["cpu_rate"] == [10.0] * ROUNDS
    assert modes["sequential"]["speedup"] == modes["sequential"]["alone"] == []
    assert modes["static"]["speedup"] == [2.0] * ROUNDS
    assert modes["static"]["alone"] == []
    assert modes["continuous"]["speedup"] == [3.0] * ROUNDS
    assert modes["continuous"]["alone"] == pytest.approx([1.1] * ROUNDS)
    assert modes["continuous"]["rate"] == [15.0] * ROUNDS
    assert modes["continuous"]["memory_bytes"] == 7
    total = sum(r.output_tokens for r in mixed_requests(32, WORDS))
    assert modes["continuous"]["useful_tokens"] == total
    assert modes["continuous"]["positions"] == ROUNDS * total
    assert modes["sequential"]["positions"] == total  # each request once over all rounds
    assert all(mode["agreement"] == 1.0 and mode["counts"] for mode in modes.values())
    assert all(mode["origin"] == "" for mode in modes.values())
    assert [s.name for s in found.series if "continuous" in s.name] == [
        f"engines.continuous.{key}" for key in ("cpu_rate", "rate", "speedup", "alone")
    ]
    # CPU shares judge wall-clock series only, and those never refuse a record.
    assert set(found.cpu_share) <= set(BENCHES["engines"].indicative)


class Slowing(Toy):
    """A mode on a machine that gets slower with everything that is served on it, by whomever."""

    def __init__(self, pace: float, alone: float, served: list[int]) -> None:
        super().__init__(pace, alone)
        self._served = served

    def _at(self, pace: float, requests: Sequence[Request]) -> Run:
        self._served += [r.id for r in requests]
        return super()._at(pace / (1 + len(self._served) / 100), requests)


def test_at_concurrency_1_a_request_meets_all_modes_on_the_same_machine() -> None:
    served: list[int] = []
    modes = {"sequential": Slowing(10, 10, served), "continuous": Slowing(30, 11, served)}
    found = measured(**modes)
    assert len(served) > 150  # by the end it took more than twice as long
    assert found.facts["modes"]["continuous"]["alone"] == pytest.approx([1.1] * ROUNDS, rel=0.02)
    total = sum(r.output_tokens for r in mixed_requests(32, WORDS))
    assert found.facts["modes"]["sequential"]["positions"] == total  # still each request once


def test_a_fast_engine_that_says_something_else_does_not_count() -> None:
    """The attack: answer quickly with anything."""
    found = measured(sequential=Toy(10, 10), continuous=Toy(90, 90, wrong_from=3))
    mode = found.facts["modes"]["continuous"]
    assert mode["agreement"] < 0.5
    assert mode["counts"] is False
    assert "so its speed-up does not count" in found.notes[0]
    text = engines_summary(as_record(found, requests={"output_tokens": [2, 9]}))
    assert "does not count" in text
    assert "9.00 (" not in text


def test_a_rare_late_difference_still_counts() -> None:
    found = measured(sequential=Toy(10, 10), continuous=Toy(30, 10, wrong_from=50))
    mode = found.facts["modes"]["continuous"]
    assert 0.95 <= mode["agreement"] < 1
    assert mode["counts"] is True


def test_the_table_shows_intervals_and_marks_what_is_replayed() -> None:
    found = measured(sequential=Toy(10, 10), continuous=Toy(30, 11))
    there = found.facts["modes"]["continuous"]
    found.facts["modes"]["vllm"] = {**there, "origin": "REPLAYED, not your machine: elsewhere"}
    record = as_record(
        found,
        requests={"output_tokens": [2, 9]},
        missing={"vllm": "vLLM is not installed: `labkit engine install vllm`."},
    )
    text = engines_summary(record)
    assert "3.00 (3.00 to 3.00)" in text
    assert "vllm*" in text
    assert "* vllm: REPLAYED, not your machine: elsewhere" in text
    assert "vllm: vLLM is not installed: `labkit engine install vllm`." in text
    assert max(len(line) for line in text.splitlines()[:6]) <= 80


def test_choosing_engines() -> None:
    assert [e.id for e in chosen_engines([])] == ["sequential", "static", "continuous", "vllm"]
    assert [e.id for e in chosen_engines(["vllm", "vllm"])] == ["sequential", "vllm"]
    with pytest.raises(LabkitError, match="at least one engine beside 'sequential'"):
        chosen_engines(["sequential"])
    with pytest.raises(LabkitError, match=r"Unknown engine 'vlm': did you mean vllm\?"):
        chosen_engines(["vlm"])


def test_what_is_missing_names_its_remedy(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("LABKIT_CACHE", str(tmp_path))
    monkeypatch.delenv("LABKIT_ENGINES", raising=False)
    assert "`labkit engine install vllm`" in find_engine("vllm").missing()
    assert 'bench.engines(url="http://…/v1")' in find_engine("url").missing()
    assert find_engine("url").missing({"url": "http://127.0.0.1:1/v1"}) == ""
    assert find_engine("sequential").missing() == ""
    assert environment.find_environment("vllm") is None


def shipped(monkeypatch: pytest.MonkeyPatch, folder: Path, record: Record) -> None:
    monkeypatch.setattr(records, "recordings_dir", lambda: folder)
    records.write(record, folder / f"{record.id}.json")


def test_replayed_parts_carry_their_machine_and_are_never_copied_twice(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert from_recording("engines", "modes", "nothing") is None
    found = measured(sequential=Toy(10, 10), continuous=Toy(30, 11))
    record = replace(as_record(found), live=False)
    record.facts["modes"]["copied"] = {
        **record.facts["modes"]["continuous"],
        "origin": "REPLAYED, from a third machine",
    }
    shipped(monkeypatch, tmp_path, record)
    entry = from_recording("engines", "modes", "continuous")
    assert entry is not None
    assert entry["origin"] == ("REPLAYED, not your machine: recorded on a machine, 2026-01-01")
    assert entry["speedup"] == [3.0] * ROUNDS
    assert from_recording("engines", "modes", "copied") is None
    assert from_recording("engines", "modes", "vllm") is None


def test_scenes_against_a_real_server() -> None:
    with Server(fake("good")) as server:
        prompts = Prompts(WORDS)
        stairs = staircase(server.endpoint, prompts, 4)
        pairs = shared_prefix(server.endpoint, prompts, 2)
        late = long_prompt(server.endpoint, prompts, 2, 64)
        assert ask_all(server.endpoint, [Request(0, (3,), 1)])[0].token_ids == [3]
    assert len(stairs["ttft_ms"]) == len(stairs["e2e_ms"]) == 4
    assert stairs["ttft_ms"] == sorted(stairs["ttft_ms"])
    assert min(stairs["ttft_ms"]) > 0
    assert stairs["tok_per_s"] > 0
    assert len(pairs["cold_ms"]) == len(pairs["warm_ms"]) == 2
    assert len(late["itl_ms"]) == 31
    assert len(late["worst_ms"]) == len(late["long_ttft_ms"]) == 2
    assert late["tokens_per_step"] == 64
    assert 0 <= late["arrived_at"] < 31


def test_prompts_are_never_used_twice() -> None:
    prompts = Prompts(WORDS)
    seen = [prompts.new(PROMPT)[0] for _ in SENTENCES]
    assert len(set(seen)) == len(SENTENCES)
    with pytest.raises(IndexError, match="begun a prompt already"):
        prompts.new(LONG)
    # The whole plan of one server fits.
    used = sum(load_job.USERS) + 3 + 3 * 3
    assert used <= len(SENTENCES)


def test_only_what_was_measured_here_becomes_a_series() -> None:
    part = {"label": "x", "origin": "", "cold_ms": [3.0, 4.0], "warm_ms": [1.0, 1.0]}
    facts: dict[str, Any] = {
        "staircase": {
            "plain": {
                "label": "x",
                "origin": "",
                "levels": {"1": {"ttft_ms": [5.0], "tok_per_s": 3.0}},
            }
        },
        "prefix": {
            "plain": {**part, "shared_tokens": 9},
            "vllm": {**part, "shared_tokens": 9, "origin": "REPLAYED, elsewhere"},
        },
        "chunked": {},
    }
    series = load_job._series(facts)
    assert [s.name for s in series] == [
        "load.plain.c1.ttft",
        "load.prefix.plain.cold",
        "load.prefix.plain.warm",
    ]
    assert {s.name for s in series} <= set(BENCHES["load"].indicative)
    record = Record(
        id="load", title="t", live=True, made_on="2026-01-01", hardware={}, versions={},
        series=tuple(series) or (Series("x", "ms", (1.0,)),), facts={**facts, "missing": {}},
    )  # fmt: skip
    text = load_summary(record)
    assert "vllm*" in text
    assert "0.01" in text


def test_unknown_servers_are_named() -> None:
    with pytest.raises(LabkitError, match=r"Unknown server 'plan': did you mean plain\?"):
        load_job._wanted(["plan"])
    assert load_job._wanted(["vllm", "plain"]) == ["plain", "vllm"]


def test_a_server_of_somebody_elses_is_compared_by_wall_time() -> None:
    """Its CPU is out of sight. Where it tells no ids, its text is tokenised."""
    with Server(fake("good")) as server:
        remote = Remote(server.endpoint, lambda text: [ord(letter) for letter in text])
        run = remote.run([Request(0, (3,), 2), Request(1, (9,), 2)])
        alone = remote.run_alone([Request(1, (9,), 2)])
    assert remote.by_wall
    assert run.outputs == {0: [3, 4], 1: [9, 10]}
    assert alone.outputs == {1: [9, 10]}
    assert run.spent.wall_s > 0
    found = measured(sequential=Toy(10, 10), url=Slow())
    mode = found.facts["modes"]["url"]
    # The baseline's 10 tokens per CPU-second are 5 per wall second.
    assert mode["speedup"] == pytest.approx([4.0] * ROUNDS)
    assert mode["cpu_rate"] == mode["rate"] == pytest.approx([20.0] * ROUNDS)


class Slow(Toy):
    """A mode whose CPU seconds are not seen: 20 tokens per wall second."""

    def __init__(self) -> None:
        super().__init__(40, 40)
        self.by_wall = True


def test_an_engine_that_goes_away_meanwhile_is_told_with_what_to_do(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(load_job, "find_environment", lambda _engine: None)
    with pytest.raises(environment.EngineUnavailable, match=r"`labkit engine list`.*again"):
        load_job._spec("vllm", tmp_path, step_tokens=load_job.PIECE)
