"""The rule of tests/conftest.py, shown on a small test folder of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

CONFTEST = Path(__file__).parents[1] / "conftest.py"
TESTS = """
import pytest

@pytest.mark.skip(reason="no browser here")
def test_marked(): ...

def test_inside():
    pytest.skip("no sandbox here")

@pytest.mark.xfail(reason="a known fault", strict=True)
def test_expected_failure():
    assert 1 == 2

def test_sound(): ...
"""


def outcome(folder: Path, *, ci: bool) -> str:
    env = {name: value for name, value in os.environ.items() if name != "CI"}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", os.devnull]
    done = subprocess.run(
        [*command, "--rootdir", str(folder), str(folder)],
        check=False,
        capture_output=True,
        text=True,
        env={**env, **({"CI": "true"} if ci else {})},
    )
    return done.stdout


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "conftest.py").write_text(CONFTEST.read_text(encoding="utf-8"), encoding="utf-8")
    (tmp_path / "test_small.py").write_text(TESTS, encoding="utf-8")
    return tmp_path


def test_a_skip_under_ci_is_a_failure_that_gives_its_reason(folder: Path) -> None:
    said = outcome(folder, ci=True)
    assert "1 failed, 1 passed, 1 xfailed, 1 error" in said  # a marked skip happens in set-up
    assert "Skipped under CI, where every test must run. Skipped: no sandbox here" in said
    assert "no browser here" in said


def test_a_module_that_skips_itself_is_a_failure_under_ci(folder: Path) -> None:
    text = "import pytest\npytest.skip('not on this system', allow_module_level=True)\n"
    (folder / "test_small.py").write_text(text, encoding="utf-8")
    said = outcome(folder, ci=True)
    assert "1 error" in said
    assert "not on this system" in said


def test_elsewhere_a_skip_stays_a_skip(folder: Path) -> None:
    assert "1 passed, 2 skipped, 1 xfailed" in outcome(folder, ci=False)
