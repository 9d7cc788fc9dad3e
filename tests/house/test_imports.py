"""What importing labkit costs and drags in, and that nobody takes the lazy root for a room."""

from __future__ import annotations

import ast
import json
import pkgutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

import labkit

ROOT = Path(__file__).parents[2]
SOURCES = sorted((ROOT / "src" / "labkit").rglob("*.py"))
MODULES = sorted(
    name
    for _, name, _ in pkgutil.walk_packages(labkit.__path__, "labkit.")
    if not name.endswith("__main__")
)
HEAVY = {
    *("torch", "transformers", "accelerate", "safetensors", "gguf", "huggingface_hub"),
    *("pandas", "matplotlib", "pint", "scipy", "dask", "boto3", "botocore"),
    *("IPython", "ipywidgets", "jupyterlab", "nbclient", "nbformat", "jupytext", "jinja2"),
}

# Modules that are the heavy thing's own place.
MEANT = {"labkit.runner.shell": ["IPython"]}  # the sandbox's shell, imported there alone

# Imports modules one by one in one process and says, for each, what heavy thing it brought, and
# which files of ours it opened that are not Python.
WATCH = """
import importlib, json, sys
heavy, names = set(json.loads(sys.argv[1])), json.loads(sys.argv[2])
opened = []
def hook(event, arguments):
    if event == "open" and isinstance(arguments[0], str):
        opened.append(arguments[0])
sys.addaudithook(hook)
found = {}
for name in names:
    before = set(sys.modules)
    opened.clear()
    importlib.import_module(name)
    brought = sorted((set(sys.modules) - before) & heavy)
    data = sorted(p for p in opened if "/labkit/" in p and not p.endswith((".py", ".pyc")))
    data = [p for p in data if ".pyc." not in p]
    if brought or data:
        found[name] = brought + data
print(json.dumps(found))
"""


def watch(modules: list[str]) -> dict[str, list[str]]:
    done = subprocess.run(
        [sys.executable, "-c", WATCH, json.dumps(sorted(HEAVY)), json.dumps(modules)],
        capture_output=True,
        text=True,
        check=True,
    )
    return dict(json.loads(done.stdout))


def test_importing_every_module_brings_nothing_heavy_and_reads_no_file() -> None:
    assert len(MODULES) > 50
    assert watch(MODULES) == MEANT


def test_the_watch_sees_a_heavy_import() -> None:
    assert watch(["pandas"])["pandas"] == ["pandas"]


def test_the_root_is_quick_and_bare() -> None:
    command = "import labkit, sys; print(sorted(m for m in sys.modules if m.startswith('labkit')))"
    times = []
    for _ in range(5):
        begun = time.perf_counter()
        done = subprocess.run(
            [sys.executable, "-c", command], capture_output=True, text=True, check=True
        )
        times.append(time.perf_counter() - begun)
    assert done.stdout.strip() == "['labkit']"
    assert min(times) < 0.3  # the other runs measure what else this machine is doing


def root_imports(source: str) -> list[int]:
    """Lines that import the package `labkit` itself or a name out of it."""
    lines = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            bad = any(name.name == "labkit" for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            bad = node.module == "labkit" or node.level > 0
        else:
            continue
        if bad:
            lines.append(node.lineno)
    return lines


def test_no_module_imports_the_root() -> None:
    found = {
        str(path.relative_to(ROOT)): lines
        for path in SOURCES
        if (lines := root_imports(path.read_text(encoding="utf-8")))
    }
    assert found == {}


@pytest.mark.parametrize("text", ["import labkit", "from labkit import bench", "from . import x"])
def test_an_import_of_the_root_is_found(text: str) -> None:
    assert root_imports(f"import labkit.contract\n{text}\n") == [2]


def test_rooms_keep_their_order() -> None:
    done = subprocess.run(
        [Path(sys.executable).with_name("lint-imports"), "--no-cache", "--no-logo"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout


def test_an_import_against_the_order_is_caught(tmp_path: Path) -> None:
    """The same contracts on a copy in which `sizing` reaches up into `exercises`."""
    import shutil

    shutil.copytree(ROOT / "src", tmp_path / "src")
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    planted = tmp_path / "src" / "labkit" / "sizing" / "planted.py"
    planted.write_text("import labkit.exercises.spec\n", encoding="utf-8")
    code = (
        "import sys; sys.path.insert(0, 'src'); "
        "from importlinter.cli import lint_imports; sys.exit(lint_imports(no_cache=True))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "labkit.sizing.planted -> labkit.exercises.spec" in done.stdout
