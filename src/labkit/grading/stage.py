"""A private copy of what of ours goes into the sandbox: readable for any user, and compiled.

References, the judge, the course and the command line have no place in `ROOMS`.
"""

from __future__ import annotations

import compileall
import os
import py_compile
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOMS = ("contract", "runner", "catalog", "sizing", "bench", "fleet")
PACKAGE = Path(__file__).resolve().parents[1]
_USERS = "root:x:0:0:root:/:/bin/false\nlearner:x:{uid}:{uid}:learner:/tmp:/bin/sh\n"
_HOSTS = "127.0.0.1 localhost\n::1 localhost\n"
_PREFIX = "labkit-stage-"
_LOCK = "lock"
_YOUNG_S = 60  # one that is just being made may not hold its lock yet


@dataclass(frozen=True, slots=True)
class Stage:
    """A private copy of what of ours goes in: readable for any user, compiled, never written to.

    `root/labkit` holds the rooms, `root/etc` the few files that libraries look for, `root/mpl`
    Matplotlib's font list, which takes seconds to build anew.
    """

    root: Path

    @property
    def etc(self) -> Path:
        """Files for /etc."""
        return self.root / "etc"

    @property
    def fonts(self) -> Path:
        """Matplotlib's configuration folder with its font list."""
        return self.root / "mpl"

    @property
    def code(self) -> Path:
        """The folder that holds the package `labkit`, cut down to the runner's rooms."""
        return self.root / "code"


@contextmanager
def stage(uid: int) -> Iterator[Stage]:
    """Make the stage; it is removed at the end."""
    _sweep()
    with tempfile.TemporaryDirectory(prefix=_PREFIX) as folder, _held(Path(folder)):
        made = Stage(Path(folder))
        _copy_rooms(made.code / "labkit")
        made.etc.mkdir()
        (made.etc / "passwd").write_text(_USERS.format(uid=uid), encoding="utf-8")
        (made.etc / "hosts").write_text(_HOSTS, encoding="utf-8")
        _list_fonts(made.fonts)
        for path in [made.root, *made.root.rglob("*")]:
            path.chmod(0o755 if path.is_dir() else 0o644)
        yield made


@contextmanager
def _held(folder: Path) -> Iterator[None]:
    """Hold the folder's lock for as long as this process lives and uses it."""
    import fcntl  # not everywhere; where grading cannot run, this module must still import

    with (folder / _LOCK).open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _sweep() -> None:
    """Remove the stages of gradings that were killed: nobody holds their locks any more."""
    import fcntl

    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        try:
            info = folder.lstat()
            if info.st_uid != os.geteuid() or time.time() - info.st_mtime < _YOUNG_S:
                continue
            with (folder / _LOCK).open() as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder, ignore_errors=True)
        except OSError:
            continue  # in use, just being made, or just removed by somebody else


def _copy_rooms(target: Path) -> None:
    target.mkdir(parents=True)
    ignore = shutil.ignore_patterns("__pycache__")
    for room in ROOMS:
        if (PACKAGE / room).is_dir():
            shutil.copytree(PACKAGE / room, target / room, ignore=ignore)
    for name in ("__init__.py", "py.typed"):
        shutil.copy(PACKAGE / name, target / name)
    # Unchecked pycs: the run compares no times and may be anybody's.
    compileall.compile_dir(
        target, quiet=2, invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH
    )


def _list_fonts(folder: Path) -> None:
    """Have Matplotlib list the fonts once for all runs; without Matplotlib there is no list."""
    folder.mkdir()
    subprocess.run(
        [sys.executable, "-I", "-c", "import matplotlib.font_manager"],
        env={"PATH": os.defpath, "HOME": str(folder), "MPLCONFIGDIR": str(folder)},
        capture_output=True,
        timeout=120,
        check=False,
    )
