"""The learners' lock and the start of a release pack, as far as they need no installation."""

from __future__ import annotations

import importlib.util
import re
import sys
import tomllib
from pathlib import Path
from types import ModuleType

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tools.setup import layout
from tools.setup.lock import LEARNERS_EXTRAS


def entries(path: Path) -> dict[str, str]:
    """Name → the whole entry, hashes included."""
    found = re.split(r"^(?=[A-Za-z0-9])", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {re.split(r"[=\[ ]", entry)[0]: entry for entry in found if not entry.startswith("#")}


def test_it_is_a_part_of_the_lock_to_the_byte(root: Path) -> None:
    whole, part = entries(root / "requirements.lock"), entries(layout.LEARNERS_LOCK)
    assert len(part) > 100
    assert {name: entry for name, entry in part.items() if whole.get(name) != entry} == {}


def test_it_holds_what_learners_need_and_no_tool_of_ours(root: Path) -> None:
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    part = {canonicalize_name(name) for name in entries(layout.LEARNERS_LOCK)}
    needed = [text for name in LEARNERS_EXTRAS for text in extras[name]]
    for text in (*project["dependencies"], *needed, "pip"):
        assert canonicalize_name(Requirement(text).name) in part
    assert not {"pytest", "ruff", "mypy", "playwright", "hatchling", "pyseccomp", "torch"} & part


def test_the_extra_for_labs_brings_no_torch(root: Path) -> None:
    """accelerate needs torch, and pip would fetch whichever it likes: gigabytes of CUDA."""
    from importlib.metadata import requires

    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for text in (*project["dependencies"], *project["optional-dependencies"]["labs"]):
        name = Requirement(text).name
        needs = [Requirement(line) for line in requires(name) or ()]
        plain = [r.name for r in needs if r.marker is None or r.marker.evaluate({"extra": ""})]
        assert "torch" not in plain, f"{name} brings torch"


def test_a_clone_is_told_from_a_pack(tmp_path: Path) -> None:
    assert (layout.wheel(), layout.command()) == (None, "make lab")
    (tmp_path / "inference_labkit-0.1.0-py3-none-any.whl").touch()
    found = layout.wheel(tmp_path)
    assert found is not None
    assert found.suffix == ".whl"
    assert layout.command(tmp_path) == "python3 start.py"


@pytest.fixture
def start(root: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("start", root / "tools" / "pack" / "start.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_start_tells_an_old_python_in_one_sentence(
    start: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "version_info", (3, 9, 6, "final", 0))
    code = start.main([])
    monkeypatch.undo()
    said = capsys.readouterr().err
    assert code == 2
    assert said.startswith("Python 3.11 or newer is needed and `")
    assert said.count("\n") == 1


def test_start_outside_a_pack_says_what_is_missing(
    start: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    assert start.main(["LEARNER=ada"]) == 2
    assert "start.json is missing beside start.py" in capsys.readouterr().err


def test_start_passes_settings_on_and_the_command_line_wins(
    start: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import os

    from tools.setup import __main__ as entry

    (tmp_path / "start.json").write_text('{"TORCH": "auto", "TORCH_VERSION": "1"}', "utf-8")
    monkeypatch.setattr(start, "HERE", str(tmp_path))
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(os, "environ", {"LAB": "02", "TORCH": "cpu", "LEARNER": ""})
    given: list[list[str]] = []
    monkeypatch.setattr(entry, "main", lambda arguments: given.append(arguments) or 7)
    assert start.main(["TORCH=skip", "LEARNER=ada"]) == 7
    assert given == [["lab"]]
    assert os.environ == {"TORCH": "skip", "TORCH_VERSION": "1", "LAB": "02", "LEARNER": "ada"}
