"""Which program opens the course in a browser, system by system; none is started here."""

from __future__ import annotations

import stat
import subprocess
import sys
from pathlib import Path

import pytest

from labkit.course import browser

URL = "http://127.0.0.1:8888/lab?token=abc"


@pytest.fixture(autouse=True)
def nowhere(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A Linux without a screen, and a webbrowser that only takes notes."""
    opened: list[str] = []
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "WSL_DISTRO_NAME", "SSH_CONNECTION"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(browser.webbrowser, "open", lambda url: opened.append(url) or True)
    return opened


def program(folder: Path, name: str, code: int = 0) -> Path:
    """A stand-in for a Windows program, which notes what it was given."""
    path = folder / name
    path.write_text(f'#!/bin/sh\necho "$@" >> "{folder}/given"\nexit {code}\n', encoding="utf-8")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


@pytest.mark.parametrize("name", ["wslview", "rundll32.exe"])
def test_wsl_opens_the_browser_of_windows(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, nowhere: list[str]
) -> None:
    monkeypatch.setenv("WSL_DISTRO_NAME", "Debian")
    monkeypatch.setenv("PATH", str(tmp_path))
    program(tmp_path, name)
    said: list[str] = []
    browser._open(URL, said.append)
    given = (tmp_path / "given").read_text(encoding="utf-8").split()
    assert given[-1] == URL
    assert (said, nowhere) == ([], [])


def test_wsl_without_a_way_to_windows_says_what_to_do_and_starts_no_terminal_browser(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, nowhere: list[str]
) -> None:
    monkeypatch.setenv("WSL_DISTRO_NAME", "Debian")
    monkeypatch.setenv("PATH", str(tmp_path))
    said: list[str] = []
    browser._open(URL, said.append)
    assert nowhere == []
    assert said == ["No browser could be opened from here: copy the address above into yours."]
    assert browser.has_screen()


def test_a_windows_program_that_fails_or_hangs_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WSL_DISTRO_NAME", "Debian")
    monkeypatch.setenv("PATH", str(tmp_path))
    program(tmp_path, "wslview", code=1)
    said: list[str] = []
    browser._open(URL, said.append)

    def hang(*_: object, **__: object) -> None:
        raise subprocess.TimeoutExpired("wslview", 20)

    monkeypatch.setattr(browser.subprocess, "run", hang)
    browser._open(URL, said.append)
    assert len(said) == 2


@pytest.mark.parametrize("platform", ["darwin", "linux"])
def test_elsewhere_python_s_own_choice_is_taken(
    platform: str, monkeypatch: pytest.MonkeyPatch, nowhere: list[str]
) -> None:
    monkeypatch.setattr(sys, "platform", platform)
    browser._open(URL, pytest.fail)
    assert nowhere == [URL]
