"""What a run may see of this machine: the system, Python, its packages, and our staged rooms.

Paths keep their names inside the sandbox, so that compiled-in library paths still hold; only
what is listed here is there. What must stay hidden although it lies inside a visible folder
(the course in /usr/src, an installed `labkit` in site-packages) is covered by an empty folder.
"""

from __future__ import annotations

import os
import site
import sys
import sysconfig
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from labkit.grading.stage import PACKAGE, Stage


@dataclass(frozen=True, slots=True)
class Python:
    """The running interpreter, taken apart: binary, folders of the installation, packages."""

    executable: Path
    installation: tuple[Path, ...]
    packages: tuple[Path, ...]


def find_python() -> Python:
    """The interpreter behind the running one (a venv's base), and where its packages lie."""
    executable = Path(getattr(sys, "_base_executable", None) or sys.executable).resolve()
    # Not the whole prefix: with ~/.local as prefix that would show what else is kept there.
    parts = [
        Path(prefix).resolve() / part
        for prefix in (sys.base_prefix, sys.base_exec_prefix)
        for part in ("bin", "lib", "lib64")
    ]
    parts += [Path(sysconfig.get_path(name)).resolve() for name in ("stdlib", "platstdlib")]
    candidates = [*site.getsitepackages(), site.getusersitepackages()]
    packages = [Path(name) for name in candidates if name in sys.path and Path(name).is_dir()]
    return Python(executable, _outermost(parts), tuple(packages))


def _outermost(paths: Iterable[Path]) -> tuple[Path, ...]:
    """The folders that exist and lie in no other of them."""
    kept: list[Path] = []
    for path in sorted({p for p in paths if p.is_dir()}, key=lambda p: len(p.parts)):
        if not _within(path, kept):
            kept.append(path)
    return tuple(kept)


@dataclass(frozen=True, slots=True)
class View:
    """Mount options for bwrap, in order: a later one covers an earlier one."""

    options: tuple[str, ...]


def view(python: Python, staged: Stage, hidden: Iterable[Path]) -> View:
    """System, Python, packages, our rooms; without `hidden` and without an installed labkit."""
    visible = [Path("/usr"), *(p for p in python.installation if not p.is_relative_to("/usr"))]
    visible += [python.executable.parent] if not _within(python.executable, visible) else []
    options = [*_system(), *_binds(visible)]
    covered = [p.resolve() for p in (*hidden, *_own_places()) if _within(p.resolve(), visible)]
    options += _covers(covered)
    packages = [p for p in python.packages if not _within(p, visible) or _within(p, covered)]
    options += _binds(packages)
    installed = [p / "labkit" for p in python.packages if (p / "labkit").is_dir()]
    options += _covers([*installed, *(p for p in covered if _within(p, packages))])
    options += _bind(staged.code, Path("/labkit"))
    options += _bind(staged.fonts, Path("/labkit-fonts"))
    for file in staged.etc.iterdir():
        options += ["--ro-bind", str(file), f"/etc/{file.name}"]
    return View(tuple(options))


def _own_places() -> list[Path]:
    """Our package, and in a clone the clone: references, solutions and tests stand there."""
    clone = PACKAGE.parents[1]
    return [PACKAGE, clone] if (clone / "pyproject.toml").is_file() else [PACKAGE]


def _system() -> list[str]:
    options = ["--perms", "0755", "--dir", "/etc", "--ro-bind", "/usr", "/usr"]
    for name in ("bin", "sbin", "lib", "lib32", "lib64"):
        source = Path("/") / name
        if source.is_symlink():
            options += ["--symlink", str(source.readlink()), str(source)]
        elif source.is_dir():
            options += ["--ro-bind", str(source), str(source)]
    for name in ("ld.so.cache", "alternatives"):
        options += ["--ro-bind-try", f"/etc/{name}", f"/etc/{name}"]
    return options


def _binds(paths: Iterable[Path]) -> list[str]:
    return [option for path in paths if path != Path("/usr") for option in _bind(path, path)]


def _bind(source: Path, target: Path) -> list[str]:
    """Bind read-only; every folder above is made passable, else another user stops there."""
    above = [folder for folder in reversed(target.parents) if folder != Path("/")]
    options = [word for folder in above for word in _passable(folder)]
    return [*options, "--ro-bind", str(source), str(target)]


def _passable(folder: Path) -> list[str]:
    return [] if folder.is_relative_to("/usr") else ["--perms", "0755", "--dir", str(folder)]


def _covers(paths: Iterable[Path]) -> list[str]:
    options: list[str] = []
    for path in paths:
        if path.is_dir():
            options += ["--perms", "0755", "--size", str(1 << 20), "--tmpfs", str(path)]
        elif path.exists():
            options += ["--ro-bind", os.devnull, str(path)]
    return options


def _within(path: Path, folders: Iterable[Path]) -> bool:
    return any(path.is_relative_to(folder) for folder in folders)
