"""`labkit bench` and `labkit doctor`, through the program's own entry."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from labkit.bench import front, hardware, records
from labkit.bench.hardware import Memory
from labkit.bench.process import WorkerFailed
from labkit.cli import bench as bench_command
from labkit.cli import doctor_checks
from labkit.cli.doctor_checks import CHECKS, Finding, Status, examine
from labkit.cli.main import main
from labkit.contract import Record, Series
from labkit.grading import isolation
from labkit.grading.isolation import Isolation
from labkit.grading.profile import Level

Output = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def clear(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("LABKIT_RECORDS", "LABKIT_REPLAY", "LABKIT_RUNNER", "LABKIT_WORKSPACE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)


def test_replay_prints_the_record_and_its_machine(capsys: Output) -> None:
    assert main(["bench", "machine", "--replay"]) == 0
    out = capsys.readouterr().out
    assert "Read bandwidth" in out
    assert "REPLAYED, not your machine" in out


def test_json_is_a_record(capsys: Output) -> None:
    assert main(["bench", "decode", "--replay", "--json"]) == 0
    record = Record.from_json(json.loads(capsys.readouterr().out))
    assert record == records.recording("decode")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["bench", "machin"], "Unknown measurement 'machin': did you mean machine?"),
        (["bench", "machine", "--record", "--quick"], "--record needs a full live measurement"),
        (["bench", "machine", "--record", "--replay"], "--record needs a full live measurement"),
        (["bench", "big_decode", "--replay"], "`labkit bench big_decode --record` makes one"),
    ],
)
def test_bad_input_is_one_sentence(arguments: list[str], message: str, capsys: Output) -> None:
    assert main(arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert message in captured.err
    assert captured.err.count("\n") == 1


def test_recording_writes_a_replayed_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Output
) -> None:
    measured = replace(records.recording("machine"), live=True)
    monkeypatch.setattr(bench_command, "measure", lambda *_, **__: measured)
    monkeypatch.setattr(records, "recordings_dir", lambda: tmp_path)
    assert main(["bench", "machine", "--record"]) == 0
    assert json.loads((tmp_path / "machine.json").read_text())["live"] is False
    assert "REPLAYED" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "way_out"),
    [
        (["machine"], " and run it again, or take a recording: labkit bench machine --replay\n"),
        (["machine", "--record"], " and run it again.\n"),
        (["big_decode"], " and run it again.\n"),  # none ships
    ],
)
def test_a_noisy_measurement_is_told_in_the_words_of_a_terminal(
    arguments: list[str], way_out: str, monkeypatch: pytest.MonkeyPatch, capsys: Output
) -> None:
    quiet = records.recording("machine")
    wild = Series("bandwidth.read", "GB/s", (10.0, 20.0, 10.0, 20.0), "Read bandwidth")
    noisy = replace(quiet, id=arguments[0], series=(wild,), live=True)
    monkeypatch.setattr(front, "_live", lambda *_: noisy)
    assert main(["bench", *arguments]) == 2
    said = capsys.readouterr().err
    assert said.startswith('This measurement is too noisy to keep: "Read bandwidth" scattered by ')
    assert said.endswith(way_out)
    assert "cell" not in said
    assert said.count("\n") == 1


def test_an_interrupt_in_a_terminal_is_one_word(
    monkeypatch: pytest.MonkeyPatch, capsys: Output
) -> None:
    def press(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(front, "_live", press)
    assert main(["bench", "machine"]) == 130
    assert capsys.readouterr().err == "Interrupted.\n"


def test_recording_a_replay_is_refused(monkeypatch: pytest.MonkeyPatch, capsys: Output) -> None:
    monkeypatch.setenv("LABKIT_REPLAY", "1")
    assert main(["bench", "machine", "--record"]) == 2
    assert "LABKIT_REPLAY" in capsys.readouterr().err


def test_doctor_reports_every_check_in_words(capsys: Output) -> None:
    assert main(["doctor", "--json"]) == 0
    findings = json.loads(capsys.readouterr().out)["findings"]
    assert [f["name"] for f in findings] == [
        "Python",
        "System",
        "CPU",
        "Memory",
        "Disk",
        "torch",
        "Weights",
        "JupyterLab",
        "Workspace",
        "Grading",
        "Browser test",
    ]
    assert len(findings) == len(CHECKS)
    for finding in findings:
        assert finding["status"] in {"ok", "attention", "missing"}
        assert finding["text"]
        assert finding["status"] == "ok" or finding["remedy"]


def test_doctor_for_people_does_not_rely_on_colour(
    monkeypatch: pytest.MonkeyPatch, capsys: Output
) -> None:
    monkeypatch.setattr(
        "labkit.cli.doctor.examine",
        lambda: [
            Finding("One", Status.OK, "fine"),
            Finding("Two", Status.MISSING, "not here", "Get it."),
        ],
    )
    assert main(["doctor"]) == 0
    out = capsys.readouterr().out
    assert "✓ ok" in out
    assert "✗ missing" in out
    assert "→ Get it." in out
    assert "1 ok, 0 attention, 1 missing" in out


def run(check: Any) -> Finding:
    return examine([check])[0]


def test_without_torch_doctor_says_make_lab(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise WorkerFailed("Measuring needs torch")

    monkeypatch.setattr(doctor_checks, "run_job", fail)
    found = run(doctor_checks.torch)
    assert found.status is Status.MISSING
    assert "make lab" in found.remedy


def test_a_small_memory_and_a_full_disk_get_attention(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor_checks, "read_memory", lambda: Memory(2**31, 2**30, limited=True))
    found = run(doctor_checks.memory)
    assert found.status is Status.ATTENTION
    assert "control group" in found.text
    usage = type("Usage", (), {"free": 10**9})
    monkeypatch.setattr(doctor_checks.shutil, "disk_usage", lambda _: usage)
    assert "LABKIT_CACHE" in run(doctor_checks.disk).remedy


def test_weights_not_here_yet(cache: Path) -> None:
    found = run(doctor_checks.weights)
    assert found.status is Status.ATTENTION
    assert "labkit bench weights" in found.remedy


@pytest.mark.parametrize("level", list(Level))
def test_the_level_of_isolation_is_grading_s_own_word(
    level: Level, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(isolation, "detect", lambda: Isolation(level, "As grading says."))
    found = run(doctor_checks.sandbox)
    assert (found.status is Status.MISSING) == (level is Level.NONE)
    assert "As grading says." in found.text
    assert found.data["level"] == level.value


def test_another_system_is_told_what_it_cannot_do(monkeypatch: pytest.MonkeyPatch) -> None:
    """Once, by the line about grading, in grading's own words."""
    monkeypatch.setattr(doctor_checks.platform, "system", lambda: "Darwin")
    monkeypatch.setattr(isolation, "sys", SimpleNamespace(platform="darwin"))
    assert run(doctor_checks.system).status is Status.OK
    found = run(doctor_checks.sandbox)
    assert found.status is Status.MISSING
    assert found.text == isolation.detect().detail
    assert "Linux" in found.text


def test_a_workspace_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run(doctor_checks.workspace).status is Status.ATTENTION
    (tmp_path / ".labkit").mkdir()
    monkeypatch.setenv("LABKIT_WORKSPACE", str(tmp_path))
    assert run(doctor_checks.workspace).data == {"path": str(tmp_path)}


def test_an_unknown_memory_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor_checks, "read_memory", lambda: hardware.Memory(None, None))
    assert "does not tell" in run(doctor_checks.memory).text
