"""JupyterLab on a workspace: one way to start it, for `make lab`, `labkit lab` and the tests.

`start` launches the server, waits until it answers and returns its address; `serve` is what a
person runs: it prints the address, opens a browser where there is one, shows what is still
arriving, and stops the server on Ctrl-C.
"""

from __future__ import annotations

import importlib.util
import json
import os
import secrets
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from labkit.bench.arrival import Arrival, State, read_arrival
from labkit.contract import LabkitError
from labkit.contract.paths import ENV_WORKSPACE, STATE_DIR
from labkit.contract.remedies import set_up_again
from labkit.course.browser import has_screen, open_behind
from labkit.course.manifest import load_manifest
from labkit.course.resources import resources
from labkit.course.resume import lab_to_open

DEFAULT_PORT = 8888
START_TIMEOUT_S = 90.0
STOP_TIMEOUT_S = 10.0
_SETTINGS = {
    # Defaults, which a reader's own JupyterLab settings still override.
    "overrides.json": {
        # No toast that asks whether to fetch news, and no call home.
        "@jupyterlab/apputils-extension:notification": {
            "fetchNews": "false",
            "checkForUpdates": False,
        },
    },
    # Authors' tools (a launcher section of their own) that only confuse a learner.
    "page_config.json": {"disabledExtensions": {"jupyterlab-jupytext": True}},
}


class JupyterError(LabkitError):
    """JupyterLab did not start; the message quotes its last words."""


@dataclass(frozen=True, slots=True)
class Server:
    """A running JupyterLab. `url` is the address a person opens, token included."""

    process: subprocess.Popen[bytes]
    base_url: str
    token: str
    url: str
    log: Path

    def stop(self) -> None:
        """End the server and its kernels; returns when it is gone."""
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(STOP_TIMEOUT_S)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()


def command(root: Path, port: int) -> list[str]:
    """The server's command line; the token is not in it, because other users can read it there."""
    shell = os.environ.get("SHELL") or "sh"
    arguments = [
        f"--ServerApp.root_dir={root}",
        f"--ServerApp.port={port}",
        "--ServerApp.ip=127.0.0.1",
        "--ServerApp.open_browser=False",
        # Not a login shell: that would reset PATH, and `labkit` would not be found in a terminal.
        f"--ServerApp.terminado_settings=shell_command={[shell]!r}",
        f"--LabApp.app_settings_dir={_home(root) / 'settings'}",
        # Open tabs are remembered per course, not mixed with the reader's other projects.
        f"--LabApp.workspaces_dir={_home(root) / 'workspaces'}",
        "--Application.log_level=WARN",
    ]
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        arguments.append("--ServerApp.allow_root=True")
    return [sys.executable, "-m", "jupyterlab", *arguments]


def environment(root: Path, token: str, base: Mapping[str, str] | None = None) -> dict[str, str]:
    """The server's environment: this Python first on PATH, and its kernel before all others."""
    from jupyter_core.paths import jupyter_runtime_dir

    env = dict(os.environ if base is None else base)
    binaries = str(Path(sys.executable).parent)
    env["PATH"] = os.pathsep.join([binaries, env.get("PATH", os.defpath)])
    env["JUPYTER_PREFER_ENV_PATH"] = "1"
    # Where the server leaves the note with its port; said here so that both sides agree.
    env.setdefault("JUPYTER_RUNTIME_DIR", jupyter_runtime_dir())
    env["JUPYTER_TOKEN"] = token
    env[ENV_WORKSPACE] = str(root)
    return env


def first_page(root: Path, lab: str | None = None) -> str:
    """The path JupyterLab opens: lab "01" or "1", else where the learner stopped.

    Where that lab's notebook is not there, the first notebook; without one, the file browser.
    """
    notebooks = sorted(path.name for path in root.glob("[0-9][0-9]_*.ipynb"))
    number = (
        lab.zfill(2) if lab is not None else lab_to_open(root, load_manifest(resources().manifest))
    )
    wanted = [name for name in notebooks if name.startswith(f"{number}_")]
    if lab is not None and not wanted:
        raise JupyterError(f"There is no lab {lab!r} in {root}: see `labkit progress`.")
    opened = wanted or notebooks
    return f"/lab/tree/{quote(opened[0])}" if opened else "/lab"


def start(
    root: Path,
    *,
    page: str = "/lab",
    port: int = DEFAULT_PORT,
    token: str | None = None,
    env: Mapping[str, str] | None = None,
    timeout_s: float = START_TIMEOUT_S,
) -> Server:
    """Start JupyterLab on the folder `root` and return once `page` is served.

    A busy `port` gives the next free one; port 0 any free one. Raises JupyterError with the last
    lines of its log if it ends early or does not answer within `timeout_s` seconds.
    """
    if importlib.util.find_spec("jupyterlab") is None:
        remedy = set_up_again("`pip install 'WHEEL[labs]'`, with your course's wheel file")
        raise JupyterError(f"JupyterLab is not installed here: run {remedy}.")
    root = root.resolve()
    token = token or secrets.token_hex(24)
    variables = environment(root, token, env)
    log = _home(root) / "server.log"
    settings = _home(root) / "settings"
    settings.mkdir(parents=True, exist_ok=True)
    for name, values in _SETTINGS.items():
        (settings / name).write_text(json.dumps(values, indent=2) + "\n", encoding="utf-8")
    # Its own session: Ctrl-C reaches us alone, and we end the server without its question.
    with log.open("wb") as sink:
        process = subprocess.Popen(
            command(root, port),
            cwd=root,
            env=variables,
            stdin=subprocess.DEVNULL,
            stdout=sink,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    info = Path(variables["JUPYTER_RUNTIME_DIR"]) / f"jpserver-{process.pid}.json"
    deadline = time.monotonic() + timeout_s
    try:
        while time.monotonic() < deadline and process.poll() is None:
            base_url = _base_url(info)
            if base_url and _answers(f"{base_url}{page.lstrip('/')}?token={token}"):
                url = f"{base_url}{page.lstrip('/')}?token={token}"
                return Server(process, base_url, token, url, log)
            time.sleep(0.1)
    except BaseException:
        process.kill()
        raise
    reason = "ended at once" if process.poll() is not None else "does not answer"
    process.kill()
    process.wait()
    tail = " / ".join(log.read_text(encoding="utf-8", errors="replace").splitlines()[-3:])
    raise JupyterError(f"JupyterLab {reason}; its log {log} ends with: {tail or '(nothing)'}")


def serve(
    root: Path,
    *,
    lab: str | None = None,
    port: int = DEFAULT_PORT,
    browser: bool | None = None,
    say: Callable[[str], None] = print,
) -> int:
    """Run JupyterLab until it ends or the caller is interrupted; returns its exit code.

    `browser` None opens one where the machine has a screen.
    """
    begun = time.monotonic()
    server = start(root, page=first_page(root, lab), port=port)
    # SIGTERM and a closed terminal end us as Ctrl-C does: through the `finally` below.
    for name in ("SIGTERM", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.default_int_handler)
    try:
        say(f"JupyterLab is ready ({time.monotonic() - begun:.1f} s). Stop it with Ctrl-C.")
        say(f"  {server.url}")
        if has_screen() if browser is None else browser:
            open_behind(server.url, say)
        progress = ArrivalLine(say)
        while server.process.poll() is None:
            progress.show(read_arrival())
            time.sleep(0.5)
        say(f"JupyterLab ended by itself; its log is {server.log}")
    except KeyboardInterrupt:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # stopping takes a second; once is enough
        say("\nStopping JupyterLab. Your work is saved as far as you saved it.")
        server.stop()
        return 0
    finally:
        server.stop()
    return int(server.process.returncode)


class ArrivalLine:
    """Shows arrivals: one line that rewrites itself on a terminal, else a line now and then."""

    EVERY_S = 10.0

    def __init__(self, say: Callable[[str], None], terminal: bool | None = None) -> None:
        self._say = say
        self._terminal = sys.stdout.isatty() if terminal is None else terminal
        self._shown = ""
        self._shown_at = float("-inf")
        self._over = False

    def show(self, arrival: Arrival | None) -> None:
        """Print what has changed; nothing once everything has arrived or failed."""
        if arrival is None or self._over:
            return
        self._over = arrival.finished or arrival.stopped()
        if self._over and not self._shown and all(i.state is State.READY for i in arrival.items):
            return  # it was all here before we started
        line = f"  {arrival.line()}"
        now = time.monotonic()
        if self._over:
            details = [item.detail for item in arrival.items if item.detail]
            self._say("\n".join([f"\r{line}" if self._terminal else line, *details]))
        elif line != self._shown and self._terminal:
            sys.stdout.write(f"\r{line}\x1b[K")
            sys.stdout.flush()
        elif line != self._shown and now - self._shown_at >= self.EVERY_S:
            self._say(line)
        else:
            return
        self._shown, self._shown_at = line, now


def _home(root: Path) -> Path:
    """What JupyterLab itself keeps in a workspace: its log, its open tabs, our defaults."""
    return root / STATE_DIR / "jupyterlab"


def _base_url(info: Path) -> str | None:
    """The address in the server's own note, once it has written it whole."""
    try:
        return str(json.loads(info.read_text(encoding="utf-8"))["url"])
    except (FileNotFoundError, json.JSONDecodeError):
        return None


def _answers(url: str) -> bool:
    # Loopback must not go through a proxy that the environment names.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(url, timeout=5) as reply:
            return int(reply.status) == 200
    except (urllib.error.URLError, TimeoutError, ConnectionError):
        return False
