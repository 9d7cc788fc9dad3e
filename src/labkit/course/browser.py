"""Opening an address in the browser of the person who typed the command, also from WSL2.

Inside WSL2 Python knows no browser but those for a terminal (lynx, w3m), which would take the
terminal over. The person's browser is Windows's, and Windows's own programs open it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
import webbrowser
from collections.abc import Callable

# Programs that hand an address to Windows, best first; wslview comes with the package wslu.
_WINDOWS = (
    ("wslview",),
    ("rundll32.exe", "url.dll,FileProtocolHandler"),
)
_TIMEOUT_S = 20


def in_wsl() -> bool:
    """Whether this Linux runs inside Windows."""
    return sys.platform == "linux" and "WSL_DISTRO_NAME" in os.environ


def has_screen() -> bool:
    """Whether a browser opened from here would be seen by the person who typed the command."""
    if sys.platform in ("win32", "darwin"):
        return "SSH_CONNECTION" not in os.environ
    return in_wsl() or _has_display()


def _has_display() -> bool:
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def windows_command() -> tuple[str, ...] | None:
    """The command that opens an address in Windows, without the address; None if there is none."""
    for name, *arguments in _WINDOWS:
        found = shutil.which(name)
        if found:
            return (found, *arguments)
    return None


def open_behind(url: str, say: Callable[[str], None]) -> None:
    """Open `url` without making the caller wait; what fails is said, with the address to copy."""
    threading.Thread(target=_open, args=(url, say), daemon=True).start()


def _open(url: str, say: Callable[[str], None]) -> None:
    command = windows_command() if in_wsl() else None
    try:
        if command is not None:
            done = subprocess.run(
                [*command, url], check=False, capture_output=True, timeout=_TIMEOUT_S
            )
            opened = done.returncode == 0
        else:
            opened = (not in_wsl() or _has_display()) and webbrowser.open(url)
    except (OSError, subprocess.TimeoutExpired, webbrowser.Error):
        opened = False
    if not opened:
        say("No browser could be opened from here: copy the address above into yours.")
