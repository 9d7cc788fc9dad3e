"""The set-up before anything is installed: old Pythons, environments cut short, odd systems."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tools.setup import system, venv
from tools.setup.layout import setting
from tools.setup.lock import without_torch
from tools.setup.packages import entry_of
from tools.setup.say import SetupError, run, step
from tools.setup.system import Need, ensure_system_packages


def make(root: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["make", *arguments], cwd=root, capture_output=True, text=True, check=False
    )


def test_help_is_the_default_and_lists_every_target(root: Path) -> None:
    shown = make(root).stdout
    assert shown == make(root, "help").stdout
    for target in ("lab", "test", "test-heavy", "bench", "setup", "wheel", "lock", "help"):
        assert f"make {target} " in shown


def test_a_name_that_is_no_command_is_told_the_usage(root: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tools.setup", "nonsense"],
        cwd=root,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert (
        done.stderr == "usage: python -m tools.setup lab|test|setup|test-heavy|bench|wheel|lock\n"
    )


def test_the_set_up_itself_uses_the_standard_library_alone(root: Path) -> None:
    """With site-packages switched off every module still imports."""
    modules = [f"tools.setup.{path.stem}" for path in (root / "tools" / "setup").glob("[a-z]*.py")]
    code = "import importlib, sys; [importlib.import_module(m) for m in sys.argv[1:]]"
    done = subprocess.run(
        [sys.executable, "-S", "-c", code, *modules],
        cwd=root,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_an_old_python_gets_one_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from tools.setup import __main__ as entry

    monkeypatch.setattr(entry.sys, "version_info", (3, 9, 18, "final", 0))
    assert entry.main(["lab"]) == 2
    said = capsys.readouterr().err
    assert said.startswith("Python 3.11 or newer is needed and `")
    assert "is 3.9: install one, or name it: make lab PYTHON=" in said
    assert said.count("\n") == 1


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("template") / ".venv"
    venv.ensure_venv(folder)
    return folder


@pytest.fixture
def environment(template: Path, tmp_path: Path) -> Path:
    """An environment as the set-up leaves it, copied because making one takes seconds."""
    folder = tmp_path / ".venv"
    shutil.copytree(template, folder, symlinks=True)
    place(folder, str(folder))
    return folder


def place(folder: Path, name: str) -> None:
    marker = folder / "labkit-setup.json"
    state = json.loads(marker.read_text(encoding="utf-8"))
    marker.write_text(json.dumps({**state, "place": name}), encoding="utf-8")


def test_a_sound_environment_has_pip_and_is_kept(environment: Path) -> None:
    token = environment / "kept"
    token.touch()
    python = venv.ensure_venv(environment)
    assert subprocess.run([python, "-m", "pip", "--version"], check=False).returncode == 0
    assert token.exists()


def cut_short(folder: Path) -> None:
    def killed() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        venv.once("packages", "lock", killed, folder)


def moved(folder: Path) -> None:
    place(folder, "elsewhere")


def without_python(folder: Path) -> None:
    for name in ("python", "python3"):
        (folder / "bin" / name).unlink()
        (folder / "bin" / name).symlink_to(folder / "gone")


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (cut_short, "an earlier run was cut short; made again"),
        (moved, "the clone has moved; made again"),
        (without_python, "its Python no longer runs; made again"),
    ],
)
def test_a_damaged_environment_is_made_again(
    environment: Path,
    damage: Callable[[Path], None],
    reason: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (environment / "leftover").touch()
    damage(environment)
    venv.ensure_venv(environment)
    assert f"Python environment in .venv ({reason})" in capsys.readouterr().out
    assert not (environment / "leftover").exists()


def test_a_folder_that_is_no_environment_is_not_touched(tmp_path: Path) -> None:
    folder = tmp_path / ".venv"
    folder.mkdir()
    (folder / "thesis.txt").touch()
    with pytest.raises(SetupError, match=r"\.venv is not a Python environment: move it away"):
        venv.ensure_venv(folder)
    assert (folder / "thesis.txt").exists()


def test_a_step_runs_once_for_the_same_inputs(tmp_path: Path) -> None:
    ran: list[str] = []
    for inputs in ("lock 1", "lock 1", "lock 2", "lock 2"):
        venv.once("packages", inputs, lambda i=inputs: ran.append(i), tmp_path)
    assert ran == ["lock 1", "lock 2"]
    assert venv.is_done("packages", "lock 2", tmp_path)
    assert not venv.is_done("packages", "lock 1", tmp_path)


def test_a_failed_step_is_not_marked_and_the_next_success_clears_it(tmp_path: Path) -> None:
    def fails() -> None:
        raise SetupError("no network")

    with pytest.raises(SetupError):
        venv.once("project", "v1", fails, tmp_path)
    assert not venv.is_done("project", "v1", tmp_path)
    venv.once("project", "v1", lambda: None, tmp_path)
    state = json.loads((tmp_path / "labkit-setup.json").read_text(encoding="utf-8"))
    assert "unfinished" not in state


def test_two_set_ups_wait_for_each_other(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    descriptor = os.open(tmp_path, os.O_RDONLY)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    entered = threading.Event()

    def second() -> None:
        with venv.alone(tmp_path):
            entered.set()

    thread = threading.Thread(target=second)
    thread.start()
    time.sleep(0.2)
    assert not entered.is_set()
    os.close(descriptor)
    thread.join(10)
    assert entered.is_set()
    assert "is under way; waiting for it" in capsys.readouterr().out


def test_steps_say_their_name_and_time(capsys: pytest.CaptureFixture[str]) -> None:
    with step("something"):
        pass
    with pytest.raises(SetupError, match="do this"), step("something else"):
        run([sys.executable, "-c", "raise SystemExit(3)"], remedy="do this")
    said = capsys.readouterr().out.splitlines()
    assert said[0] == "── something"
    assert said[1].startswith("   done in 0.")
    assert said[3].startswith("   stopped after ")


def test_a_setting_that_make_did_not_pass_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TORCH_VERSION", raising=False)
    with pytest.raises(SetupError, match="TORCH_VERSION is not set: use `make lab`"):
        setting("TORCH_VERSION")


MISSING = (Need("bubblewrap", lambda: False), Need("chromium", lambda: False))


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    made: list[list[str]] = []
    monkeypatch.setattr(system, "run", lambda command, **_: made.append(list(command)))
    monkeypatch.setattr(shutil, "which", lambda name: f"/usr/bin/{name}")
    return made


def test_system_packages_are_installed_by_root(
    calls: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    asked: list[bool] = []

    def appears() -> bool:
        asked.append(True)
        return len(asked) > 1

    ensure_system_packages((Need("bubblewrap", appears), Need("chromium", lambda: True)))
    assert [call[:2] for call in calls] == [["apt-get", "update"], ["apt-get", "install"]]
    assert calls[1][-1] == "bubblewrap"


def test_system_packages_are_named_to_anybody_else(
    calls: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    expected = r"`sudo apt-get install --yes bubblewrap chromium`, then run `make test` again"
    with pytest.raises(SetupError, match=expected):
        ensure_system_packages(MISSING)
    assert calls == []


def test_other_linuxes_and_other_systems_get_a_sentence(
    calls: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(SetupError, match="with this system's package manager"):
        ensure_system_packages(MISSING)
    monkeypatch.setattr(sys, "platform", "darwin")
    with pytest.raises(SetupError, match="needs Linux for the grading sandbox"):
        ensure_system_packages(MISSING)


def test_a_package_that_changes_nothing_is_reported(
    calls: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    with pytest.raises(SetupError, match="installed bubblewrap, chromium, yet what it brings"):
        ensure_system_packages(MISSING)


def test_present_packages_ask_for_nothing(calls: list[list[str]]) -> None:
    ensure_system_packages((Need("bubblewrap", lambda: True),))
    assert calls == []


RESOLVED = """\
sympy==1.14.0 \\
    --hash=sha256:aa
torch==2.13.0 \\
    --hash=sha256:bb \\
    --hash=sha256:cc
nvidia-cublas==13.1 ; sys_platform == 'linux' \\
    --hash=sha256:dd
triton==3.7.1 ; sys_platform == 'linux' \\
    --hash=sha256:ee
torchlike==1.0 \\
    --hash=sha256:ff
"""


def test_the_lock_leaves_out_torch_and_cuda_only() -> None:
    assert without_torch(RESOLVED) == (
        "sympy==1.14.0 \\\n    --hash=sha256:aa\ntorchlike==1.0 \\\n    --hash=sha256:ff\n"
    )


def test_one_entry_of_the_lock() -> None:
    assert entry_of("torch", RESOLVED).splitlines()[-1].strip() == "--hash=sha256:cc"
    with pytest.raises(ValueError, match="pip is not in the lock"):
        entry_of("pip", RESOLVED)
