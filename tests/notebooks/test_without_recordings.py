"""A labkit whose recordings were deleted: a lab in replay stops, and says what makes a new one."""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping
from pathlib import Path

import nbformat
import pytest

from labkit.bench.records import recordings_dir
from labkit.course import execute as executing
from labkit.course import notebooks
from labkit.course.execute import ExecutionError, environment, execute

ROOT = Path(__file__).parents[2]
SOLUTIONS = sorted((ROOT / "solutions").glob("*.ipynb"))
SHIPPED = {path.stem for path in recordings_dir().glob("*.json")}


def measured_by(notebook: Path) -> list[str]:
    """The measurements that its cells ask for, in order."""
    cells = nbformat.read(notebook, as_version=4).cells
    code = "\n".join(cell.source for cell in cells if cell.cell_type == "code")
    return [name for name in re.findall(r"\bbench\.(\w+)\(", code) if name in SHIPPED]


MEASURING = [path for path in SOLUTIONS if measured_by(path)]


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A clone of this one without a single recording."""
    clone = tmp_path_factory.mktemp("bare")
    shutil.copytree(
        ROOT / "src" / "labkit",
        clone / "src" / "labkit",
        ignore=lambda folder, names: (
            [n for n in names if n.endswith(".json")] if Path(folder) == recordings_dir() else []
        ),
    )
    (clone / "labs").symlink_to(ROOT / "labs")
    return clone


def test_every_recording_is_some_labs_measurement() -> None:
    assert {name for path in MEASURING for name in measured_by(path)} == SHIPPED


@pytest.mark.parametrize("path", MEASURING, ids=lambda path: path.stem)
def test_a_lab_in_replay_names_the_command_that_records(
    path: Path, bare: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def of_the_bare_clone(base: Mapping[str, str] | None = None) -> dict[str, str]:
        return environment(base) | {"PYTHONPATH": str(bare / "src")}

    monkeypatch.setattr(executing, "environment", of_the_bare_clone)
    with pytest.raises(ExecutionError) as stopped:
        execute(notebooks.loads(path.read_bytes(), path.name), path.name)
    first = measured_by(path)[0]
    assert "NoRecord" in str(stopped.value)
    assert f"There is no recording of '{first}'" in str(stopped.value)
    assert f"`labkit bench {first} --record` makes one" in str(stopped.value)
