"""`labkit catalog` as a person or a script sees it."""

import json
import re

import pytest

from labkit.catalog import Catalog
from labkit.catalog.interruptions import interruptions
from labkit.cli.main import main

TABLES = ["instances", "accelerators", "cpus", "models", "prices", "formats"]
DAY = ["--on", "2026-11-30"]


@pytest.fixture
def run(capsys, monkeypatch):
    def call(*arguments: str, width: int = 100) -> tuple[int, str, str]:
        monkeypatch.setenv("COLUMNS", str(width))
        code = main(["catalog", *arguments])
        out, err = capsys.readouterr()
        return code, out, err

    return call


@pytest.mark.parametrize("width", [80, 100, 120])
@pytest.mark.parametrize("table", TABLES)
def test_tables_fit_the_terminal_without_cut_words(run, table, width):
    code, out, err = run("show", table, *DAY, width=width)
    assert (code, err) == (0, "")
    assert max(len(line) for line in out.splitlines()) <= width
    assert "…" not in out


@pytest.mark.parametrize("width", [80, 100])
def test_no_price_without_its_age(run, width):
    for arguments in (["instances"], ["prices"], ["g5.xlarge"]):
        _, out, _ = run("show", *arguments, *DAY, width=width)
        # A heading with a price column has an age column.
        assert "age: of the price's source" in " ".join(out.split())
        priced = [line for line in out.splitlines() if re.search(r"\d\.\d{4} ", line)]
        assert priced
        for line in priced:
            assert re.search(r"(≥ )?\d+ d( \*)?", line), line


def test_a_stale_price_carries_a_star_and_an_undated_one_says_at_least(run):
    _, fresh, _ = run("show", "prices", "g5.xlarge", "--on", "2026-10-01")
    _, late, _ = run("show", "prices", "g5.xlarge", "--on", "2027-06-01")
    assert not re.search(r"\d d \*", fresh)
    assert len(re.findall(r"\d d \*", late)) == 3
    assert re.search(r"≥ \d+ d", late)


def test_low_confidence_is_said(run):
    _, out, _ = run("show", "accelerators", *DAY)
    assert "Low confidence: RTX PRO 4500." in out
    _, out, _ = run("show", "RTX PRO 4500", *DAY)
    assert "confidence low" in out
    assert "Bandwidth unresolved" in out


def test_one_thing_in_full(run):
    _, out, _ = run("show", "meta-llama/Llama-2-13b-hf", *DAY)
    assert "parameters: 13,015,864,320" in out
    _, out, _ = run("show", "ml.g5.xlarge", *DAY)
    assert "17.18 GB (16.00 GiB)" in out
    assert "Source: " in out
    _, out, _ = run("show", "int4-g32")
    assert "4.625" in out


def test_filters(run):
    _, out, _ = run("show", "instances", "--family", "inf2", "--json")
    assert [row["name"] for row in json.loads(out)] == [
        "inf2.xlarge",
        "inf2.8xlarge",
        "inf2.24xlarge",
        "inf2.48xlarge",
    ]
    _, out, _ = run("show", "prices", "--kind", "spot", "--region", "us-west-2", "--json")
    rows = json.loads(out)
    assert rows
    assert {(row["kind"], row["region"]) for row in rows} == {("spot", "us-west-2")}


@pytest.mark.parametrize("what", [*TABLES, "g5.xlarge", "A10G", "resnet-50", "int4"])
def test_json_is_json(run, what):
    code, out, _ = run("show", what, "--json", *DAY)
    assert code == 0
    assert json.loads(out)


def test_json_prices_have_age_source_and_date(run):
    _, out, _ = run("show", "prices", "--json", *DAY)
    for row in json.loads(out):
        assert row["age_days"] >= 0
        assert isinstance(row["stale"], bool)
        assert row["provenance"]["source"]
        assert re.fullmatch(r"\d{4}-\d\d-\d\d", row["provenance"]["as_of"])


def test_overview(run):
    code, out, _ = run()
    assert code == 0
    assert "instances      198" in out
    _, out, _ = run("show", "--json", *DAY)
    assert json.loads(out)["tables"]["instances"] == 198


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["show", "g5.xlage"], "'g5.xlage': did you mean g5.xlarge"),
        (["show", "instances", "--family", "g9"], "Unknown instance family 'g9'"),
        (["show", "instances", "--kind", "tpu"], "Unknown instance kind 'tpu'"),
        (["show", "instances", "zzz"], "No instances with 'zzz' in the name."),
        (["show", "prices", "--kind", "spott"], "Unknown price kind 'spott': use spot."),
        (["show", "prices", "--region", "mars"], "'mars': use eu-west-1"),
        (["show", "--snapshot", "2020-01-01"], "Unknown catalogue snapshot '2020-01-01'"),
        (["check", "--on", "tomorrow"], "'tomorrow' is not a date: write YYYY-MM-DD"),
    ],
)
def test_bad_input_is_one_sentence_and_exit_2(run, arguments, says):
    code, out, err = run(*arguments)
    assert code == 2
    assert out == ""
    assert says in err
    assert err.count("\n") == 1


def test_check_lists_and_strict_fails(run):
    code, out, _ = run("check", "--on", "2027-06-01")
    assert code == 0
    assert "0 without a source." in out
    catalog = Catalog.load()
    expired = len(list(catalog.prices())) + len(interruptions(catalog.snapshot))
    assert f"{expired} stale:" in out
    assert "interruption us-east-1: " in out
    assert run("check", "--strict", "--on", "2027-06-01")[0] == 1
    assert run("check", "--strict", "--on", "2025-01-26")[0] == 0
    _, out, _ = run("check", "--json", "--on", "2027-06-01")
    report = json.loads(out)
    assert report["unsourced"] == []
    assert len(report["stale"]) == expired
    assert report["stale"][0]["provenance"]["expires"] == "2025-04-26"
