"""One definition of each metric for every tool."""

from __future__ import annotations

import pytest

from benchmarks.peers.ask import NotInstalledError, ask
from benchmarks.peers.metrics import UNITS, Reading, in_metric
from benchmarks.peers.naive import answer as naive
from benchmarks.peers.question import Question, Times, Unsupported
from benchmarks.peers.registry import PEERS
from benchmarks.peers.translate import example, question_of
from benchmarks.peers.worker import main, reply
from labkit.catalog import Catalog


def asked(*, batch: int = 1, n: int = 1, static: bool = True, output: int = 11) -> Question:
    catalog = Catalog.load()
    return question_of(
        "x",
        catalog.model("llama-2-7b"),
        catalog.accelerator("A10G"),
        engine="vllm",
        family="serving",
        weights="fp16",
        tensor_parallel=n,
        batch=batch,
        prompt_tokens=100,
        output_tokens=output,
        static=static,
    )


TIMES = Times(prefill_ms=50.0, step_ms=10.0, memory_gb=3.0)


@pytest.mark.parametrize(
    ("reading", "question", "value"),
    [
        (Reading("tpot_ms"), asked(), 10.0),
        # 50 ms + 10 steps of 10 ms for 11 tokens
        (Reading("tpot_ms", prefill_inside=True), asked(), 150 / 11),
        (Reading("decode_tok_s_per_user"), asked(batch=4), 100.0),
        (Reading("decode_tok_s_total"), asked(batch=4), 400.0),
        (Reading("decode_tok_s_total", prefill_inside=True), asked(batch=4), 4 * 11 / 0.150),
        (Reading("decode_tok_s_total", per_gpu=True), asked(batch=4, n=2), 200.0),
        # Four users come and go: three others' prefills (of 50 / 4 ms each) stall the 11 tokens.
        (Reading("tpot_ms"), asked(batch=4, static=False), (110 + 37.5) / 11),
        (Reading("req_s"), asked(batch=4), 400 / 11),
        (Reading("ttft_ms_p50"), asked(batch=4), 50.0),
        (Reading("ttft_ms_p50", one_by_one=True), asked(batch=4), 50 * 5 / 8),
        (Reading("ttft_ms_p50"), asked(batch=4, static=False), 12.5),
        (Reading("prefill_tok_s"), asked(batch=4), 8000.0),
        (Reading("latency_s"), asked(), 0.150),
        (Reading("vram_gb"), asked(), 3.0),
    ],
)
def test_each_metric_is_what_its_source_printed(
    reading: Reading, question: Question, value: float
) -> None:
    assert in_metric(TIMES, question, reading) == pytest.approx(value)


def test_a_steady_step_already_carries_the_prefills() -> None:
    steady = Times(prefill_ms=50.0, step_ms=10.0, steady=True)
    question = asked(batch=4, static=False)
    rate = Reading("decode_tok_s_total", prefill_inside=True)
    assert in_metric(steady, question, rate) == pytest.approx(400.0)
    assert in_metric(steady, question, Reading("ttft_ms_p50")) == 50.0


@pytest.mark.parametrize("metric", ["prefill_tok_s", "ttft_ms_p50", "latency_s"])
def test_a_metric_without_its_time_is_not_supported(metric: str) -> None:
    with pytest.raises(Unsupported, match="no TTFT"):
        in_metric(Times(step_ms=10.0), asked(), Reading(metric))


def test_a_metric_that_nobody_defined_is_not_supported() -> None:
    with pytest.raises(Unsupported, match="joules"):
        in_metric(TIMES, asked(), Reading("joules"))
    assert "joules" not in UNITS


def test_the_naive_formula_is_bytes_over_bandwidth_and_flops_over_peak() -> None:
    question = asked(batch=2, n=2)
    times = naive(question)
    assert times.step_ms == pytest.approx(6_738_415_616 * 2 / (2 * 600e9) * 1e3)
    assert times.prefill_ms == pytest.approx(2 * 6_738_415_616 * 200 / (2 * 70e12) * 1e3)


def test_the_naive_formula_needs_a_bandwidth() -> None:
    catalog = Catalog.load()
    question = question_of(
        "x",
        catalog.model("llama-2-7b"),
        None,
        engine="llama.cpp",
        family="llama.cpp",
        weights="q4_0",
        prompt_tokens=10,
        output_tokens=10,
    )
    assert reply(naive, question) == {"unsupported": "no bandwidth of CPU is known"}


def test_questions_travel_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    question = example()
    assert Question.from_json(question.as_json()) == question
    assert main(["naive"], [question.as_json()]) == 0
    version, answer = capsys.readouterr().out.splitlines()
    assert version == '{"version": "textbook"}'
    assert '"step_ms": 18.58' in answer


def test_a_tool_that_is_not_installed_says_how_to_install_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: object
) -> None:
    monkeypatch.setenv("LABKIT_CACHE", str(tmp_path))
    with pytest.raises(NotInstalledError, match=r"python -m benchmarks\.peers\.environment"):
        ask(PEERS["servcalc"], [example()])


@pytest.mark.parametrize("peer", PEERS.values(), ids=str)
def test_every_tool_says_how_a_row_is_put_to_it(peer: object) -> None:
    module = peer.load()
    assert len(module.TRANSLATION) > 100
    assert callable(module.answer)
    assert hasattr(module, "DISTRIBUTION" if peer.installed else "VERSION")
