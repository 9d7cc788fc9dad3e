"""Where records come from and go to."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from labkit import bench
from labkit.bench import records
from labkit.bench.front import measure
from labkit.bench.records import NoRecord, keep, last, recording, recordings_dir, write
from labkit.contract import LabkitError, Record, Series
from labkit.contract.errors import UnknownNameError


def record(name: str = "machine", *, quick: bool = False, value: float = 1.0) -> Record:
    return Record(
        id=name,
        title="t",
        live=True,
        made_on="2026-01-02",
        hardware={"summary": "my laptop"},
        versions={"python": "3.12.1"},
        series=(Series("bandwidth.read", "GB/s", (value, value), "Read"),),
        facts={"quick": quick, "sweep": {"fp32": {"batches": [1]}}},
        wall_s=1.5,
        cpu_s=1.25,
        notes=("a note",),
    )


@pytest.fixture
def clear(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No variable of ours, and no workspace above the working folder."""
    for name in ("LABKIT_RECORDS", "LABKIT_REPLAY", "LABKIT_RUNNER", "LABKIT_WORKSPACE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def workspace(clear: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    (tmp_path / "work" / ".labkit").mkdir(parents=True)
    monkeypatch.setenv("LABKIT_WORKSPACE", str(tmp_path / "work"))
    return tmp_path / "work"


def test_a_record_survives_the_disk(tmp_path: Path) -> None:
    write(record(), tmp_path / "r.json")
    assert Record.from_json(json.loads((tmp_path / "r.json").read_text())) == record()
    assert [path.name for path in tmp_path.iterdir()] == ["r.json"]


@pytest.mark.usefixtures("clear")
def test_one_sample_has_no_spread() -> None:
    once = Series("ttft", "ms", (3.0,), "Once")
    twice = Series("itl", "ms", (3.0, 3.0), "Twice")
    lines = repr(replace(record(), series=(once, twice))).splitlines()
    rows = [line.split() for line in lines if line.startswith(("Once", "Twice"))]
    shown = {label: rest for label, _, _, *rest in rows}
    assert shown == {"Once": ["–", "1"], "Twice": ["0.0", "%", "2"]}


@pytest.mark.parametrize("name", ["machine", "decode"])
def test_a_replay_is_labelled_with_its_machine(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    by_argument = measure(name, replay=True)
    monkeypatch.setenv("LABKIT_REPLAY", "1")
    by_environment = measure(name)
    assert by_argument == by_environment
    assert by_argument.live is False
    for text in (repr(by_argument), by_argument._repr_mimebundle_()["text/html"]):
        assert "REPLAYED, not your machine" in text
        assert by_argument.machine() in text
        assert by_argument.made_on in text


@pytest.mark.usefixtures("clear")
def test_a_recording_that_calls_itself_live_is_not_believed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(record(), tmp_path / "machine.json")
    monkeypatch.setattr(records, "recordings_dir", lambda: tmp_path)
    assert recording("machine").live is False


@pytest.mark.usefixtures("clear")
def test_a_missing_recording_names_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(records, "recordings_dir", lambda: tmp_path)
    with pytest.raises(NoRecord, match=r"`labkit bench machine --record` makes one"):
        bench.machine(replay=True)


def test_an_unknown_measurement_is_named() -> None:
    with pytest.raises(UnknownNameError, match=r"Unknown measurement 'machin': did you mean mach"):
        recording("machin")


@pytest.mark.usefixtures("clear")
def test_grading_returns_the_learners_own_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    carried = tmp_path / "records.json"
    carried.write_text(json.dumps({"machine": record(value=7.0).to_json()}))
    monkeypatch.setenv("LABKIT_RECORDS", str(carried))
    assert bench.machine() == record(value=7.0)
    assert bench.machine(replay=False, quick=True) == record(value=7.0)
    assert last("machine") == record(value=7.0)
    assert bench.decode().live is False  # not carried: the recording


@pytest.mark.usefixtures("clear")
def test_the_runner_never_measures(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LABKIT_RUNNER", "1")
    assert bench.machine(replay=False).live is False


@pytest.mark.usefixtures("clear")
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "is not JSON"),
        ("[]", "must name a JSON object"),
        ('{"machine": {"schema": 99}}', "schema 99"),
        (json.dumps({"machine": record("decode").to_json()}), "calls itself 'decode'"),
    ],
)
def test_a_bad_file_of_records_is_one_sentence(
    text: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "records.json"
    path.write_text(text)
    monkeypatch.setenv("LABKIT_RECORDS", str(path))
    with pytest.raises(LabkitError, match=message):
        bench.machine()


def test_the_workspace_keeps_the_latest(workspace: Path) -> None:
    path = keep(record(value=2.0))
    assert path == workspace / ".labkit" / "records" / "machine.json"
    keep(record(value=3.0))
    assert last("machine").median("bandwidth.read") == 3.0


@pytest.mark.usefixtures("workspace")
def test_a_quick_record_does_not_replace_a_full_one() -> None:
    keep(record(quick=True, value=1.0))
    assert last("machine").median("bandwidth.read") == 1.0
    keep(record(value=2.0))
    assert keep(record(quick=True, value=9.0)) is None
    assert last("machine").median("bandwidth.read") == 2.0


@pytest.mark.usefixtures("workspace")
def test_nothing_measured_yet_says_what_to_run() -> None:
    with pytest.raises(NoRecord, match=r"run bench\.decode\(\) first"):
        last("decode")


@pytest.mark.usefixtures("clear")
def test_without_a_workspace_nothing_is_kept_and_that_is_said() -> None:
    assert keep(record()) is None
    with pytest.raises(NoRecord, match="no workspace"):
        last("machine")


@pytest.mark.usefixtures("workspace")
def test_replay_wins_over_the_workspace_when_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    keep(record(value=2.0))
    monkeypatch.setenv("LABKIT_REPLAY", "1")
    assert last("machine") == recording("machine")


def test_the_recordings_lie_in_the_package() -> None:
    assert recordings_dir().name == "recordings"
    assert replace(recording("machine"), live=True) != recording("machine")
