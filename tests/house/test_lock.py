"""One set of packages for everybody: pyproject, requirements.lock, environment.yml and imports."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.markers import Marker
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tools.setup.lock import LEFT_OUT

_ENTRY = re.compile(
    r"^(?P<name>[A-Za-z0-9][\w.-]*)==(?P<version>[\w.!+]+)(?: ; (?P<marker>[^\\]+?))? \\$\n"
    r"(?P<hashes>(?:^    --hash=sha256:[0-9a-f]{64}(?: \\)?$\n?)+)",
    flags=re.MULTILINE,
)
PYTHONS = ("3.11.7", "3.12.1", "3.13.0")
PLATFORMS = (
    ("linux", "Linux", "x86_64"),
    ("linux", "Linux", "aarch64"),
    ("darwin", "Darwin", "arm64"),
)


@pytest.fixture(scope="module")
def lock(root: Path) -> str:
    return (root / "requirements.lock").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def project(root: Path) -> dict[str, Any]:
    return tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def locked(text: str, python: str, platform: tuple[str, str, str]) -> dict[str, str]:
    """Name → version of the entries that apply on a platform."""
    environment = {
        "python_version": ".".join(python.split(".")[:2]),
        "python_full_version": python,
        "implementation_name": "cpython",
        "platform_python_implementation": "CPython",
        "os_name": "posix",
        "sys_platform": platform[0],
        "platform_system": platform[1],
        "platform_machine": platform[2],
    }
    return {
        canonicalize_name(entry["name"]): entry["version"]
        for entry in _ENTRY.finditer(text)
        if entry["marker"] is None or Marker(entry["marker"]).evaluate(environment)
    }


def test_every_line_is_an_exact_version_with_hashes_and_nothing_else(lock: str) -> None:
    left = _ENTRY.sub("", lock)
    assert [line for line in left.splitlines() if not line.startswith("#")] == []
    assert len(_ENTRY.findall(lock)) > 100


def test_torch_and_cuda_are_not_in_it(lock: str) -> None:
    assert [e["name"] for e in _ENTRY.finditer(lock) if LEFT_OUT.fullmatch(e["name"])] == []


@pytest.mark.parametrize("platform", PLATFORMS, ids=lambda p: f"{p[0]}-{p[2]}")
@pytest.mark.parametrize("python", PYTHONS)
def test_every_dependency_is_locked_within_its_range(
    lock: str, project: dict[str, Any], python: str, platform: tuple[str, str, str]
) -> None:
    pins = locked(lock, python, platform)
    wanted = [*project["dependencies"]]
    for extra in project["optional-dependencies"].values():
        wanted += extra
    for text in wanted:
        requirement = Requirement(text)
        if requirement.marker and not requirement.marker.evaluate({"sys_platform": platform[0]}):
            continue
        version = pins.get(canonicalize_name(requirement.name))
        assert version is not None, f"{text} is not locked: run `make lock`"
        assert requirement.specifier.contains(version), f"{text} is locked at {version}"


def test_everybody_gets_one_version_of_each_package(lock: str) -> None:
    names = [canonicalize_name(entry["name"]) for entry in _ENTRY.finditer(lock)]
    assert sorted(names) == sorted(set(names))


def test_this_environment_is_the_locked_one(lock: str) -> None:
    from importlib.metadata import version

    python = ".".join(str(part) for part in sys.version_info[:3])
    pins = locked(lock, python, (sys.platform, "Linux", "x86_64"))
    wrong = {name: (pin, version(name)) for name, pin in pins.items() if version(name) != pin}
    assert wrong == {}


def imported(source: str) -> set[str]:
    """Top-level names of the third-party packages that a module imports, anywhere in it."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.add(node.module)
    tops = {name.partition(".")[0] for name in names}
    return tops - set(sys.stdlib_module_names) - {"labkit", "tests", "tools"}


def test_every_import_of_the_library_is_declared(root: Path, project: dict[str, Any]) -> None:
    """A package that merely comes along with another one today may be gone tomorrow."""
    declared = {"torch"}  # a step of its own
    for text in [
        *project["dependencies"],
        *(
            item
            for extra in ("labs", "quant", "llamacpp", "grade", "dev")
            for item in project["optional-dependencies"][extra]
        ),
    ]:
        declared.add(canonicalize_name(Requirement(text).name))
    owners = packages_distributions()
    undeclared = {}
    for path in sorted((root / "src").rglob("*.py")):
        for name in imported(path.read_text(encoding="utf-8")):
            homes = {canonicalize_name(home) for home in owners.get(name, [name])}
            if not homes & declared:
                undeclared.setdefault(name, []).append(str(path.relative_to(root)))
    assert undeclared == {}


def test_conda_installs_the_same_lock(root: Path) -> None:
    text = (root / "environment.yml").read_text(encoding="utf-8")
    environment = yaml.safe_load(text)
    *packages, pip = environment["dependencies"]
    assert packages == ["python>=3.11,<3.14", "pip"]
    assert pip == {"pip": ["-r requirements.lock"]}
    makefile = (root / "Makefile").read_text(encoding="utf-8")
    version = re.search(r"^TORCH_VERSION := (\S+)$", makefile, flags=re.MULTILINE)
    assert version is not None
    assert f"torch=={version[1]}\n" in text


def test_the_build_backend_is_locked_too(lock: str) -> None:
    pins = locked(lock, "3.12.1", PLATFORMS[0])
    assert {"hatchling", "editables", "pip"} <= set(pins)
