"""The command line's frame: help, version, unknown commands, Ctrl-C, closed pipes, imports."""

from __future__ import annotations

import importlib
import json
import os
import signal
import subprocess
import sys
import time
import types

import pytest
import typer

from labkit.cli import main as main_module
from labkit.cli.common import CommandError, emit_json, fail
from labkit.cli.main import main
from labkit.cli.registry import COMMANDS, Command


def python(code: str, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={**os.environ, **env},
    )


@pytest.fixture
def command(monkeypatch):
    """Register a throw-away command whose module holds `target`."""

    def register(target: object) -> None:
        module = types.ModuleType("labkit.cli.throwaway")
        module.target = target
        monkeypatch.setitem(sys.modules, "labkit.cli.throwaway", module)
        entry = Command("throwaway", "throwaway", "target", "Test", "Nothing.")
        monkeypatch.setattr(main_module, "command_named", lambda _name: entry)

    return register


@pytest.mark.parametrize("arguments", [[], ["--help"], ["-h"], ["help"]])
def test_help_lists_every_command_with_its_line(arguments, capsys):
    assert main(arguments) == 0
    out = capsys.readouterr().out
    for entry in COMMANDS:
        assert f"  {entry.name}" in out
        assert entry.help in out
    assert max(map(len, out.splitlines())) <= 90


def test_version(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("labkit ")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("estimat", "Unknown command 'estimat': did you mean estimate?"),
        ("zzz", "Unknown command 'zzz': known: init, lab"),
        ("--nonsense", "Unknown command '--nonsense': "),
    ],
)
def test_unknown_command_is_one_sentence_and_exit_2(name, words, capsys):
    assert main([name]) == 2
    captured = capsys.readouterr()
    assert captured.err.startswith(words)
    assert captured.err.count("\n") == 1
    assert captured.out == ""


@pytest.mark.parametrize("entry", COMMANDS, ids=lambda entry: entry.name)
def test_every_entry_points_at_something_that_runs(entry):
    module = importlib.import_module(f"labkit.cli.{entry.module}")
    target = getattr(module, entry.target)
    assert callable(target) or isinstance(target, typer.Typer)


@pytest.mark.parametrize("entry", COMMANDS, ids=lambda entry: entry.name)
def test_every_command_has_help(entry, capsys):
    assert main([entry.name, "--help"]) == 0
    assert "Usage: labkit " + entry.name in capsys.readouterr().out


def test_a_group_without_its_command_prints_its_help_and_nothing_else(capsys):
    assert main(["engine"]) == 2
    captured = capsys.readouterr()
    assert "install" in captured.out + captured.err
    assert "See:" not in captured.out + captured.err


def test_a_known_error_is_one_sentence(command, capsys):
    command(lambda: fail("That file holds nothing."))
    assert main(["throwaway"]) == 2
    assert capsys.readouterr().err == "That file holds nothing.\n"


def test_an_unforeseen_error_is_not_hidden(command):
    def broken() -> None:
        raise ZeroDivisionError

    command(broken)
    with pytest.raises(ZeroDivisionError):
        main(["throwaway"])


def test_an_exit_code_is_passed_on(command):
    def stops() -> None:
        raise typer.Exit(3)

    command(stops)
    assert main(["throwaway"]) == 3
    command(lambda: None)
    assert main(["throwaway"]) == 0


def test_ctrl_c_is_130_without_a_traceback(command, capsys):
    def interrupted() -> None:
        raise KeyboardInterrupt

    command(interrupted)
    assert main(["throwaway"]) == 130
    captured = capsys.readouterr()
    assert captured.err == "Interrupted.\n"
    assert captured.out == ""


def test_a_declined_question_is_not_an_interruption(command, capsys):
    def declined() -> None:
        raise typer.Abort

    command(declined)
    assert main(["throwaway"]) == 1
    assert capsys.readouterr().err == "Stopped.\n"


def test_a_real_sigint_ends_the_process_with_130():
    code = (
        "import sys, time, types\n"
        "from labkit.cli import main as m\n"
        "from labkit.cli.registry import Command\n"
        "mod = types.ModuleType('labkit.cli.slow')\n"
        "def slow():\n"
        "    print('ready', flush=True)\n"
        "    time.sleep(30)\n"
        "mod.slow = slow\n"
        "sys.modules['labkit.cli.slow'] = mod\n"
        "m.command_named = lambda name: Command('slow', 'slow', 'slow', '', '')\n"
        "sys.exit(m.main(['slow']))\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "ready\n"
    time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "Traceback" not in err


def test_a_closed_pipe_is_quiet():
    shell = f"{sys.executable} -m labkit.cli.main estimate llama-3-8b g5.xlarge --json | head -c 1"
    done = subprocess.run(
        ["bash", "-c", shell], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stderr == ""
    assert done.stdout == "{"


def test_a_terminal_that_cannot_show_a_character_gets_a_question_mark():
    code = "from labkit.cli.main import main; main(['estimate', 'llama-2-7b', 'c7i.large'])"
    done = python(code, PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    assert done.returncode == 0
    assert "Traceback" not in done.stderr


def test_json_refuses_what_json_cannot_say():
    with pytest.raises(ValueError, match="JSON"):
        emit_json({"value": float("nan")})


def test_fail_is_a_labkit_error():
    with pytest.raises(CommandError, match="wrong"):
        fail("wrong.")


HEAVY = ("torch", "transformers", "boto3", "matplotlib", "pint", "dask", "pandas", "scipy")


def loaded_after(statement: str) -> set[str]:
    done = python(f"import sys, json; {statement}; print(json.dumps(sorted(sys.modules)))")
    assert done.returncode == 0, done.stderr
    return {name.partition(".")[0] for name in json.loads(done.stdout.splitlines()[-1])}


@pytest.mark.parametrize(
    "statement",
    [
        "import labkit",
        "import labkit.sizing",
        "from labkit.cli.main import overview; overview()",
        "from labkit.cli.main import main; main(['--help'])",
    ],
)
def test_light_imports_stay_light(statement):
    assert not loaded_after(statement) & {*HEAVY, "numpy", "pydantic", "rich", "typer"}


def test_an_estimate_loads_nothing_heavy():
    statement = (
        "from labkit.cli.main import main; main(['estimate', 'llama-3-8b', 'g5.xlarge', '--json'])"
    )
    assert not loaded_after(statement) & set(HEAVY)
