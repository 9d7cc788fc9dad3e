"""`labkit size` as it is typed: JSON contract, human output at two widths, bad input, reports.

What a person types and sees::

    labkit size llama-3-8b --rate 10 --prompt 512 --output 256 --ttft-ms 500 --tpot-ms 100

The question in one sentence, then the answer in two: what to run, what it costs, how fast it is and
how busy. A table of candidates, cheapest fleet first: count x instance, weights, TP, sequences in
flight, TTFT and TPOT with their ranges, utilisation, price age, USD per hour, month and 1M output
tokens; `*` marks the Pareto front. What less latency costs. Why not the others: by refusal code,
with the nearest set-up and its number. What to buy: on demand, Spot with range and interruption
band, Savings Plans as "your rate needed". The quota to request, load times, what the ranges mean.

Lengths may be distributions (`--prompt lognormal:mean=300,p95=900`). Bad input is exit 2 and one
sentence. Where nothing holds, the exit code stays 0 and the nearest misses are shown with the
numbers behind them. `--report md|html [--out FILE]` is a page to forward, `--json` for programs.
"""

from __future__ import annotations

import json

import pytest

from labkit.cli.main import main

FEW = ["--instances", "g5.*,g6e.*,g4dn.*,inf1.*"]
EXAMPLE = [
    "size", "llama-3-8b", "--rate", "10", "--prompt", "512", "--output", "256",
    "--ttft-ms", "500", "--tpot-ms", "100", *FEW,
]  # fmt: skip
NOTHING = ["size", "llama-3-70b", "--rate", "1", "--ttft-ms", "5", "--instances", "g5.*,g4dn.*"]


def answer(capsys, *arguments: str) -> dict:
    assert main([*arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


@pytest.fixture(scope="module")
def example() -> dict:
    """The example's JSON, asked once."""
    import contextlib
    import io

    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        assert main([*EXAMPLE, "--json"]) == 0
    return json.loads(out.getvalue())


def test_every_deployment_holds_the_promise_and_carries_the_rate(example):
    assert example["model"] == "llama-3-8b"
    assert example["workload"]["slo"] == {"ttft_ms": 500, "tpot_ms": 100, "percentile": 95}
    assert example["deployments"]
    for found in example["deployments"]:
        assert found["served_tpot_ms"]["mid"] <= 100
        assert found["ttft_ms"]["mid"] <= 500
        fleet = found["fleet"]
        assert fleet["capacity_requests_per_s"] >= 10
        assert 0 < fleet["utilisation"] <= 1
        for key in ("ttft_ms", "tpot_ms", "served_tpot_ms", "e2e_ms", "requests_per_s"):
            assert 0 < found[key]["low"] <= found[key]["mid"] <= found[key]["high"]


def test_ranks_costs_and_prices_agree(example):
    found = example["deployments"]
    assert [d["rank"] for d in found] == list(range(1, len(found) + 1))
    for d in found:
        fleet, price = d["fleet"], d["price"]["usd_per_hour"]
        hourly = fleet["usd_per_hour"]["mid"]
        assert hourly == pytest.approx(price * fleet["instances"])
        assert fleet["usd_per_month"]["mid"] == pytest.approx(730 * hourly)
        tokens = 10 * 256 * 3600
        per_million = fleet["usd_per_million_output_tokens"]["mid"]
        assert per_million == pytest.approx(hourly / tokens * 1e6)
        assert d["price"]["age_days"] >= 0


def test_the_front_is_one_and_the_best_is_on_it(example):
    front = example["front"]["deployments"]
    assert example["deployments"][0]["pareto"] is True
    pairs = [(d["fleet"]["usd_per_hour"]["mid"], d["e2e_ms"]["mid"]) for d in front]
    assert pairs == sorted(pairs)
    assert [ms for _, ms in pairs] == sorted((ms for _, ms in pairs), reverse=True)


def test_what_follows_from_taking_the_best(example):
    best, first = example["best"], example["deployments"][0]
    assert best["instance"] == first["instance"]
    assert best["fleet_size"] == first["fleet"]["instances"]
    assert best["quota"]["name"] == "Running On-Demand G and VT instances"
    options = {option["option"]: option for option in best["purchase_options"]}
    on_demand = options["on-demand"]["usd_per_month"]["mid"]
    assert on_demand == pytest.approx(first["fleet"]["usd_per_month"]["mid"])
    assert options["spot"]["usd_per_month"]["low"] < options["spot"]["usd_per_month"]["high"]
    assert options["spot"]["interruptions_per_month"]
    assert options["compute-savings-plan"]["refusal"]["code"] == "UNKNOWN_PRICE"
    assert best["load_seconds"]["ebs"]["mid"] > best["load_seconds"]["nvme"]["low"] > 0


def test_refusals_count_every_loser(example, capsys):
    losers = answer(capsys, *EXAMPLE, "--all")["losers"]
    assert sum(group["setups"] for group in example["refusals"]) == len(losers)
    assert example["considered"] == len(losers) + len(example["deployments"])
    placed = {d["instance"] for d in example["deployments"]}
    assert not placed & {loser["instance"] for loser in example["nearest"]}
    for group in example["refusals"]:
        nearest = group["nearest"]
        assert group["code"] in [miss["code"] for miss in nearest["misses"]]
        assert all(miss["detail"].endswith((".", ")")) for miss in nearest["misses"])


@pytest.mark.parametrize("width", [80, 120])
@pytest.mark.parametrize("every", [[], ["--all"]], ids=["short", "all"])
def test_the_example_for_people(width, every, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setenv("NO_COLOR", "1")
    assert main([*EXAMPLE, *every]) == 0
    captured = capsys.readouterr()
    out = " ".join(captured.out.replace("│", " ").split())
    assert captured.err == ""
    assert "\x1b" not in captured.out
    assert max(map(len, captured.out.splitlines())) <= width
    assert "…" not in captured.out  # nothing is cut off
    assert "Promised to 95% of requests: TTFT of at most 500 ms and TPOT of at most 100 ms." in out
    for words in (
        " × g6e.xlarge with vllm,",
        "1* ",
        "USD per 1M",
        "What less latency costs: the Pareto front",
        "Why not the others:",
        "What to buy:",
        "your rate needed: --rates",
        "interrupted a month",
        "Quota to request: Running On-Demand G and VT instances (L-DB2E81BA):",
        "of weights takes",
        "as of 2026-",
        "docs/accuracy.md",
    ):
        assert words in out, words


@pytest.mark.parametrize("width", [80, 120])
def test_nothing_holds_shows_the_nearest_misses(width, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(width))
    assert main(NOTHING) == 0
    captured = capsys.readouterr()
    out = " ".join(captured.out.replace("│", " ").split())
    assert max(map(len, captured.out.splitlines())) <= width
    assert "Nothing holds this:" in out
    assert "The nearest is g5." in out
    assert "asked: 5.0 ms" in out  # the number, and what it should have been
    assert "Instance types without a set-up that holds, nearest first" in out
    assert "WEIGHTS" in out
    assert "What to buy" not in out


def test_nothing_holds_as_json(capsys):
    found = answer(capsys, *NOTHING)
    assert found["deployments"] == []
    assert found["best"] is None
    first = found["nearest"][0]
    slow = [miss for miss in first["misses"] if miss["code"] == "SLO_TTFT"]
    assert slow[0]["value"] > slow[0]["limit"] == 5
    assert slow[0]["over"] == pytest.approx(slow[0]["value"] / 5)


def test_without_a_rate_one_instance_is_priced_at_full_load(capsys):
    found = answer(capsys, "size", "llama-3-8b", *FEW)
    assert found["workload"]["requests_per_second"] is None
    assert found["deployments"][0]["fleet"]["rate"] is None
    assert main(["size", "llama-3-8b", *FEW]) == 0
    assert "as many requests as it can" in " ".join(capsys.readouterr().out.split())


def test_lengths_may_be_distributions(capsys):
    arguments = [*EXAMPLE, "--prompt", "lognormal:mean=300,p95=900", "--output", "uniform:1-400"]
    found = answer(capsys, *arguments)
    assert found["workload"]["prompt_tokens"] == 300
    assert main(arguments) == 0
    out = " ".join(capsys.readouterr().out.replace("│", " ").split())
    assert "300 (95% below 900) prompt tokens" in out


def test_formats_engines_and_prices_are_chosen(capsys):
    found = answer(capsys, *EXAMPLE, "--weights", "int4, fp8", "--price", "sagemaker")
    assert {d["weights"] for d in found["deployments"]} <= {"int4", "fp8"}
    assert {d["price"]["kind"] for d in found["deployments"]} == {"sagemaker"}
    assert found["best"]["quota"]["unit"] == "instances"
    found = answer(capsys, *EXAMPLE, "--engine", "sglang")
    assert {d["engine"] for d in found["deployments"]} == {"sglang"}


def test_a_loader_that_needs_less_host_memory_opens_a_machine(capsys):
    arguments = [
        "size",
        "llama-3-8b",
        "--rate",
        "1",
        "--weights",
        "bf16",
        "--instances",
        "inf2.xlarge",
    ]
    found = answer(capsys, *arguments)
    assert found["best"] is None
    assert "HOST_RAM" in [miss["code"] for miss in found["nearest"][0]["misses"]]
    best = answer(capsys, *arguments, "--loader", "presharded")["best"]
    assert best["host_memory_bytes"]["needed"] <= best["host_memory_bytes"]["there"]


def test_the_users_own_rates_become_ways_to_pay(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    file = tmp_path / "rates.csv"
    file.write_text(
        "option,subject,value,unit,source,as_of,region,label\n"
        "compute-savings-plan,g6e.xlarge,1.2,USD/h,my contract,2026-11-01,us-east-1,1 year\n",
        encoding="utf-8",
    )
    arguments = [*EXAMPLE, "--instances", "g6e.xlarge", "--rates", str(file)]
    options = answer(capsys, *arguments)["best"]["purchase_options"]
    own = next(option for option in options if option["option"] == "compute-savings-plan")
    assert own["usd_per_instance_hour"]["mid"] == 1.2
    assert own["price_source"] == "given by the user: my contract"
    assert main(arguments) == 0
    assert "Compute Savings Plan (1" in " ".join(capsys.readouterr().out.split())


def test_a_markdown_page_and_its_picture(tmp_path, capsys):
    page = tmp_path / "page.md"
    assert main([*EXAMPLE, "--report", "md", "--out", str(page)]) == 0
    text = page.read_text(encoding="utf-8")
    assert text.startswith("# Serving llama-3-8b on AWS\n")
    assert "](cost-against-latency.svg)" in text
    picture = (tmp_path / "cost-against-latency.svg").read_text(encoding="utf-8")
    assert picture.startswith("<svg")
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "Written:" in captured.err


def test_a_page_on_the_screen(capsys):
    assert main([*EXAMPLE, "--report", "html"]) == 0
    assert capsys.readouterr().out.startswith("<!doctype html>")
    assert main([*EXAMPLE, "--report", "md"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("# Serving")
    assert ".svg" not in out  # no link to a file that was not written


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["llama-3-9b"], "Unknown model 'llama-3-9b': did you mean llama-3"),
        (["llama-3-8b", "--rate", "0"], "requests_per_second must be a number above 0"),
        (["llama-3-8b", "--rate", "nan"], "requests_per_second must be a number above 0"),
        (["llama-3-8b", "--rate", "ten"], "Invalid value for '--rate'"),
        (["llama-3-8b", "--prompt", "lots"], "Cannot read the token length 'lots'"),
        (["llama-3-8b", "--prompt", "normal:mean=3"], "Unknown kind of token length 'normal'"),
        (
            ["llama-3-8b", "--output", "0"],
            "A fixed length must be a whole number of at least 1, not 0.",
        ),
        (["llama-3-8b", "--ttft-ms", "-1"], "ttft_ms must be a number above 0"),
        (["llama-3-8b", "--ttft-ms", "9", "--percentile", "100"], "percentile must lie between"),
        (["llama-3-8b", "--prefix-hit-rate", "2"], "prefix_hit_rate must be at least 0"),
        (["llama-3-8b", "--headroom", "1.5"], "headroom must be at least 0"),
        (["llama-3-8b", "--weights", "int5"], "Unknown number format 'int5': did you mean int"),
        (["llama-3-8b", "--weights", ","], "--weights names nothing: ','."),
        (["llama-3-8b", "--engine", "vlm"], "Unknown engine 'vlm': did you mean vllm"),
        (
            ["llama-3-8b", "--instances", "g55.*"],
            "No instance type is called 'g55.*': did you mean",
        ),
        (["llama-3-8b", "--instances", "zzz"], "No instance type is called 'zzz': write them like"),
        (["llama-3-8b", "--price", "free"], "Unknown price 'free': use "),
        (["llama-3-8b", "--region", "mars-1"], "Unknown region 'mars-1': "),
        (["llama-3-8b", "--top", "0"], "--top must be a whole number of at least 1, not 0."),
        (["llama-3-8b", "--report", "pdf"], "Unknown report 'pdf': use "),
        (["llama-3-8b", "--report", "md", "--json"], "--report and --json are two answers"),
        (["llama-3-8b", "--out", "x.md"], "--out is the file of a report"),
        (["llama-3-8b", "--rates", "nowhere.csv"], "Cannot read the rates nowhere.csv: "),
        (
            ["llama-3-8b", "--spares", "-1"],
            "--spares must be a whole number of at least 0, not -1.",
        ),
    ],
    ids=lambda value: "" if isinstance(value, str) else " ".join(value),
)
def test_bad_input_is_exit_2_and_one_sentence(arguments, words, capsys):
    assert main(["size", *arguments]) == 2
    captured = capsys.readouterr()
    assert captured.err.startswith(words), captured.err
    assert captured.err.count("\n") == 1
    assert captured.out == ""


def test_a_report_that_cannot_be_written_is_one_sentence(tmp_path, capsys):
    target = tmp_path / "nowhere" / "page.html"
    assert main([*EXAMPLE, "--report", "html", "--out", str(target)]) == 2
    assert capsys.readouterr().err.startswith("Cannot write the report to ")


def test_a_report_needs_nothing_beyond_a_core_install():
    """The page and its picture are made without matplotlib, IPython, ipywidgets or torch."""
    import subprocess
    import sys

    code = (
        "import sys\n"
        "from labkit.cli.main import main\n"
        "for name in ('matplotlib', 'IPython', 'ipywidgets', 'torch', 'transformers', 'jinja2'):\n"
        "    sys.modules[name] = None  # an import of it fails, as where it is not installed\n"
        f"raise SystemExit(main({[*EXAMPLE, '--report', 'html']!r}))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], check=False, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("<!doctype html>")
    assert "<svg" in done.stdout
