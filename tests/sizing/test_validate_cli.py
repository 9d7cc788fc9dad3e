"""`labkit validate` as a person or a script sees it."""

import csv
import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from labkit.cli.common import CommandError
from labkit.cli.csv_table import read_csv
from labkit.cli.main import main

DATA = Path(__file__).parents[2] / "benchmarks" / "data"
MEASUREMENTS = DATA / "measurements.csv"
LOGS = DATA / "kv-logs.csv"


@pytest.fixture
def run(capsys, monkeypatch):
    def call(*arguments: object, width: int = 100) -> tuple[int, str, str]:
        monkeypatch.setenv("COLUMNS", str(width))
        code = main(["validate", *map(str, arguments)])
        out, err = capsys.readouterr()
        return code, out, err

    return call


def test_json_has_a_row_for_each_row_and_a_summary(run):
    code, out, err = run(MEASUREMENTS, "--json")
    assert (code, err) == (0, "")
    found = json.loads(out)
    with MEASUREMENTS.open(encoding="utf-8", newline="") as handle:
        table = list(csv.DictReader(handle))
    assert found["schema"] == "measurements"
    assert [one["id"] for one in found["rows"]] == [row["id"] for row in table]
    for one, row in zip(found["rows"], table, strict=True):
        assert {"id", "metric", "measured", "low", "mid", "high", "status", "reason"} <= set(one)
        assert one["metric"] == row["metric"]
        assert one["measured"] == float(row["value"])
        assert one["status"] in {"ok", "unsupported", "suspect"}
        assert bool(one["reason"]) == (one["status"] != "ok")
    summary = found["summary"]
    assert summary["supported_share"] >= 0.9
    assert summary["scored"] == sum(one["status"] == "ok" for one in found["rows"])
    assert 0 < summary["median_error"] < 1
    assert set(summary["by"]) >= {"quantity", "metric", "accelerator", "engine", "weights"}


def test_the_logs_of_engines_are_known_too(run):
    code, out, _ = run(LOGS, "--json")
    assert code == 0
    found = json.loads(out)
    assert found["schema"] == "kv-logs"
    assert {one["metric"] for one in found["rows"]} == {"kv_gib", "kv_tokens"}
    assert len(found["rows"]) == 2 * 86


@pytest.mark.parametrize("width", [80, 100, 120])
@pytest.mark.parametrize("file", [MEASUREMENTS, LOGS])
def test_the_tables_fit_the_terminal(run, file, width):
    code, out, err = run(file, width=width)
    assert (code, err) == (0, "")
    assert max(len(line) for line in out.splitlines()) <= width
    assert "…" not in out
    for heading in ("By quantity", "By accelerator", "Farthest off", "Unsupported"):
        assert heading in out


def test_people_see_shares_counts_and_reasons(run):
    _, out, _ = run(MEASUREMENTS, "--worst", 3)
    assert "814 rows:" in out
    assert "23 suspect (not scored)" in out
    assert "beam search of width 4 is not modelled." in out
    farthest = out.partition("Farthest off")[2].partition("Unsupported")[0]
    assert sum(line.startswith("M") for line in farthest.splitlines()) == 3


def test_no_row_is_scored_and_the_figures_are_absent(run, tmp_path):
    file = tmp_path / "one.csv"
    columns = (
        "id,engine,model,weights_dtype,gpu,gpu_count,tensor_parallel,batch_or_concurrency,"
        "prompt_tokens,output_tokens,metric,value\n"
    )
    file.write_text(columns + "a,vLLM,Llama-3-8B,fp16,TPU,1,1,1,512,128,tpot_ms,20\n")
    code, out, _ = run(file)
    assert code == 0
    assert "1 row: 0 predicted (0%), 1 unsupported" in out
    assert "gpu 'TPU' is not in the catalogue" in out
    summary = json.loads(run(file, "--json")[1])["summary"]
    assert summary["median_error"] is None
    # A row that ends early, and one that goes on too long.
    file.write_text(columns + "a,vLLM\nb,vLLM,Llama-3-8B,fp16,L4,1,1,1,512,128,tpot_ms,70,x,y\n")
    rows = json.loads(run(file, "--json")[1])["rows"]
    assert [row["status"] for row in rows] == ["unsupported", "ok"]


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "is empty"),
        (b"\n \n", "is empty"),
        (b"id,engine\n", "has columns and no rows"),
        (b"a,b\n1,2\n", "neither measurements"),
        (b"a,b,a\n1,2,3\n", "has the column 'a' more than once"),
        (b"\x89PNG\r\n\x00\x00", "is a binary file"),
        (b"a,\xff\n1,2\n", "is not UTF-8 text: byte 2 is not"),
        (b'a,b\n"1,2\n', "is no CSV: line 2"),
        (
            b"id,engine,model,gpu,tp,util,weights_gib\n1,2,3,4,5,6,7\n",
            "The kv-logs table lacks the column kv_gib.",
        ),
        (
            b"id,engine,model,gpu,metric,value,prompt_tokens\n1,2,3,4,5,6,7\n",
            "The measurements table lacks the columns weights_dtype, gpu_count, tensor_parallel, "
            "batch_or_concurrency, output_tokens.",
        ),
    ],
)
def test_a_bad_file_is_one_sentence(run, tmp_path, content, says):
    file = tmp_path / "bad.csv"
    file.write_bytes(content)
    code, out, err = run(file)
    assert (code, out) == (2, "")
    assert says in err
    assert err.count("\n") == 1
    assert "Traceback" not in err


def test_a_file_that_is_not_there_or_no_file(run, tmp_path):
    code, _, err = run(tmp_path / "nothing.csv")
    assert code == 2
    assert "No such file" in err
    code, _, err = run(tmp_path)
    assert code == 2
    assert "Cannot read" in err


def test_a_file_with_a_byte_order_mark_and_old_line_ends(tmp_path):
    file = tmp_path / "windows.csv"
    file.write_bytes(b"\xef\xbb\xbfid,value\r\n1,2\r\n\r\n")
    table = read_csv(file)
    assert table.columns == ("id", "value")
    assert table.rows == [{"id": "1", "value": "2"}]


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=200))
def test_any_bytes_are_a_table_or_one_sentence(tmp_path, data):
    file = tmp_path / "any.csv"
    file.write_bytes(data)
    try:
        table = read_csv(file)
    except CommandError as error:
        table = None
        said = str(error)
    else:
        said = ""
    assert (table is None) == bool(said)
    assert "\n" not in said or b"\n" in str(file).encode()
