"""JupyterLab's start-up apart from the browser: what it is told, what it opens, what it says."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from labkit.bench.arrival import Arrival, Item, State
from labkit.course import jupyter
from labkit.course.jupyter import ArrivalLine, JupyterError, command, environment, first_page, start


def workspace(folder: Path, *notebooks: str) -> Path:
    for name in notebooks:
        (folder / name).write_text("{}", encoding="utf-8")
    return folder


def test_the_first_lab_or_the_one_asked_for_is_opened(tmp_path: Path) -> None:
    assert first_page(tmp_path) == "/lab"
    workspace(tmp_path, "02_parallel work.ipynb", "01_roofline.ipynb", "notes.ipynb")
    assert first_page(tmp_path) == "/lab/tree/01_roofline.ipynb"
    assert first_page(tmp_path, "2") == "/lab/tree/02_parallel%20work.ipynb"
    with pytest.raises(JupyterError, match=r"There is no lab '07' in "):
        first_page(tmp_path, "07")


def test_the_token_is_not_on_the_command_line(tmp_path: Path) -> None:
    settings = environment(tmp_path, "s3cret")
    assert settings["JUPYTER_TOKEN"] == "s3cret"
    assert not any("s3cret" in argument for argument in command(tmp_path, 8888))


@pytest.mark.parametrize(("uid", "allowed"), [(0, True), (1000, False)])
def test_root_is_allowed_only_when_root(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, uid: int, allowed: bool
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: uid)
    assert any("allow_root" in a for a in command(tmp_path, 8888)) is allowed


def test_terminals_find_this_environment_first(tmp_path: Path) -> None:
    settings = environment(tmp_path, "t", {"PATH": "/usr/bin"})
    assert settings["PATH"] == f"{Path(sys.executable).parent}{os.pathsep}/usr/bin"
    assert settings["LABKIT_WORKSPACE"] == str(tmp_path)


def test_a_server_that_ends_at_once_is_quoted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = "print('first'); print('no such extension'); raise SystemExit(1)"
    monkeypatch.setattr(jupyter, "command", lambda root, port: [sys.executable, "-c", code])
    with pytest.raises(JupyterError, match=r"ended at once; its log .* no such extension"):
        start(tmp_path, port=0)


def test_a_server_that_never_answers_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = "import os, time; print(os.getpid(), flush=True); time.sleep(60)"
    monkeypatch.setattr(jupyter, "command", lambda root, port: [sys.executable, "-c", code])
    with pytest.raises(JupyterError, match="does not answer") as raised:
        start(tmp_path, port=0, timeout_s=1.0)
    pid = int(str(raised.value).rsplit(": ", 1)[1])
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_without_jupyterlab_the_remedy_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jupyter.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(JupyterError, match="JupyterLab is not installed here: run `make lab`"):
        start(tmp_path)


def test_labkit_lab_serves_and_stops_on_sigterm(tmp_path: Path) -> None:
    """From the address on the terminal to an ended server, as a closed terminal ends it."""
    python = [sys.executable, "-m", "labkit.cli.main"]
    made = subprocess.run(
        [*python, "init", str(tmp_path / "ws"), "--learner", "ada"],
        capture_output=True,
        check=False,
    )
    assert made.returncode == 0, made.stderr
    env = {**os.environ, "PYTHONUNBUFFERED": "1", "LABKIT_WORKSPACE": str(tmp_path / "ws")}
    with subprocess.Popen(
        [*python, "lab", "--port", "0", "--no-browser"],
        env=env,
        cwd=tmp_path / "ws",
        stdout=subprocess.PIPE,
        text=True,
    ) as server:
        try:
            assert server.stdout is not None
            first, address = server.stdout.readline(), server.stdout.readline().strip()
            assert first.startswith("JupyterLab is ready (")
            assert address.startswith("http://127.0.0.1:")
            assert "/lab/tree/00_start_here.ipynb?token=" in address
            server.send_signal(signal.SIGTERM)
            assert server.wait(20) == 0
            assert "Stopping JupyterLab" in server.stdout.read()
        finally:
            server.terminate()  # a failed assert must not leave it serving; no harm when it ended
    info = jupyter._answers(address)
    assert info is False


def arrival(*states: tuple[str, State, int]) -> Arrival:
    items = tuple(Item(name, state, done, 200_000_000) for name, state, done in states)
    return Arrival(items=items, pid=os.getpid(), updated=time.time())


def test_the_progress_line_is_said_now_and_then_and_once_at_the_end() -> None:
    said: list[str] = []
    line = ArrivalLine(said.append, terminal=False)
    line.show(None)
    line.show(arrival(("torch", State.FETCHING, 20_000_000)))
    line.show(arrival(("torch", State.FETCHING, 40_000_000)))  # too soon to say again
    line.show(arrival(("torch", State.READY, 0)))
    line.show(arrival(("torch", State.READY, 0)))
    assert said == ["  torch: 10 % of 200 MB", "  torch: ready"]


def test_what_was_there_before_is_not_mentioned() -> None:
    said: list[str] = []
    ArrivalLine(said.append, terminal=False).show(arrival(("torch", State.READY, 0)))
    assert said == []


def test_a_failure_is_said_even_when_it_came_first() -> None:
    said: list[str] = []
    failed = Arrival((Item("torch", State.FAILED, detail="No network."),), os.getpid(), time.time())
    ArrivalLine(said.append, terminal=False).show(failed)
    assert said == ["  torch: failed\nNo network."]


@pytest.mark.parametrize(
    ("platform", "variables", "seen"),
    [
        ("linux", {}, False),
        ("linux", {"DISPLAY": ":0"}, True),
        ("linux", {"WAYLAND_DISPLAY": "wayland-0"}, True),
        ("linux", {"WSL_DISTRO_NAME": "Debian"}, True),
        ("darwin", {}, True),
        ("darwin", {"SSH_CONNECTION": "1 2 3 4"}, False),
    ],
)
def test_a_browser_is_opened_where_somebody_sees_it(
    monkeypatch: pytest.MonkeyPatch, platform: str, variables: dict[str, str], seen: bool
) -> None:
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "WSL_DISTRO_NAME", "SSH_CONNECTION"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "platform", platform)
    assert jupyter.has_screen() is seen
