"""The executed solutions say today what they said when they were built (nbval, cell by cell)."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

from labkit.course.execute import environment

ROOT = Path(__file__).parents[2]
SOLUTIONS = sorted((ROOT / "solutions").glob("*.ipynb"))


def nbval(notebook: Path) -> tuple[int, str]:
    """Exit code and output of nbval; pictures are not compared, text and our records are."""
    command = [sys.executable, "-m", "pytest", "--nbval", "-q", "--no-header", "--color=no"]
    options = ["-p", "no:cacheprovider", "-p", "no:xdist", "--rootdir", str(notebook.parent)]
    done = subprocess.run(
        [*command, *options, "-c", "pyproject.toml", str(notebook)],
        cwd=ROOT,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


def test_there_are_solutions_to_compare() -> None:
    assert len(SOLUTIONS) == len(list((ROOT / "solutions").glob("*.py"))) > 0


@pytest.mark.parametrize("notebook", SOLUTIONS, ids=lambda path: path.stem)
def test_a_solution_runs_to_the_outputs_it_was_built_with(notebook: Path) -> None:
    code, said = nbval(notebook)
    cells = [c for c in nbformat.read(notebook, as_version=4).cells if c.cell_type == "code"]
    assert code == 0, said[-4000:]
    assert re.search(rf"\b{len(cells)} passed", said), said[-1000:]


def test_a_changed_output_is_found(tmp_path: Path) -> None:
    notebook = nbformat.read(SOLUTIONS[0], as_version=4)
    told = [
        o for c in notebook.cells for o in c.get("outputs", []) if "text/plain" in o.get("data", {})
    ]
    told[0]["data"]["text/plain"] += " and something else"
    changed = tmp_path / "changed.ipynb"
    nbformat.write(notebook, changed)
    code, said = nbval(changed)
    assert code == 1
    assert re.search(r"1 failed, \d+ passed", said), said[-1000:]
