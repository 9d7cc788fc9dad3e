"""The sandbox's parts: levels, mounts, masks, limits, the process that is watched."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from labkit.contract.errors import LabkitError
from labkit.contract.probe import Probe
from labkit.grading import isolation
from labkit.grading.isolation import detect
from labkit.grading.mounts import Python, find_python, view
from labkit.grading.profile import Level
from labkit.grading.sandbox import BubblewrapSandbox, UnsafeSandbox, open_sandbox
from labkit.grading.stage import PACKAGE, ROOMS, stage
from labkit.grading.transcript import End, Transcript
from labkit.grading.uids import FIRST_UID, own_uid
from labkit.grading.watch import usage
from labkit.runner.job import Cell, Job, Limits

pytestmark = pytest.mark.sandbox

ASK = "from labkit import Lab\nlab = Lab('90')\nlab.check('90.1', {})"


def job(*sources: str, **options) -> Job:
    cells = tuple(Cell(f"c{i}", source) for i, source in enumerate(sources))
    return Job("90", "ann", cells, givens={"90.1": None}, **options)


def said(transcript: Transcript) -> str:
    assert transcript.end is End.DONE, transcript
    assert not transcript.errors, transcript.errors
    answer = transcript.answer("90.1")
    assert answer is not None
    return str(answer.wire.get("text"))


def test_both_levels_run_a_notebook_and_hide_the_references():
    with stage(FIRST_UID) as staged:
        for level in [Level.FULL, Level.NAMESPACES] if os.geteuid() == 0 else [Level.NAMESPACES]:
            sandbox = BubblewrapSandbox(level, staged, ())
            seen = said(
                sandbox.run(
                    job(
                        "import os, labkit", ASK.format("str(sorted(os.listdir('/labkit/labkit')))")
                    ),
                    {},
                )
            )
            rooms = {name for name in ROOMS if (PACKAGE / name).is_dir()}
            assert set(json.loads(seen.replace("'", '"'))) - {"__pycache__"} == {
                *rooms, "__init__.py", "py.typed",
            }  # fmt: skip


def test_a_killed_grading_s_stage_is_swept_and_a_living_one_kept(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    dead = tmp_path / "labkit-stage-dead"
    dead.mkdir()
    (dead / "lock").touch()
    os.utime(dead, (0, 0))
    with stage(FIRST_UID) as living, stage(FIRST_UID) as other:
        assert not dead.exists()
        assert living.code.is_dir()
        assert other.code.is_dir()
    assert list(tmp_path.iterdir()) == []


def test_every_worker_has_a_user_of_its_own(sandbox):
    if sandbox.level is not Level.FULL:
        assert detect().level is Level.NAMESPACES  # as its words say
        return
    uid = said(sandbox.run(job("import os", ASK.format("str(os.getuid())")), {}))
    assert int(uid) >= FIRST_UID
    assert int(uid) != os.getuid()


def test_no_two_runs_share_a_user_not_even_of_two_gradings():
    claim = (
        "import sys; from labkit.grading.uids import own_uid\n"
        "with own_uid() as uid: print(uid, flush=True); sys.stdin.read()"
    )
    with own_uid() as first, own_uid() as second:
        other = subprocess.Popen(
            [sys.executable, "-c", claim], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        with other:
            assert other.stdin is not None
            assert other.stdout is not None
            third = int(other.stdout.readline())
            assert len({first, second, third}) == 3
            other.kill()
    with own_uid() as again:
        assert again in {first, second, third}


def test_limits_hold_inside(sandbox):
    ask = (
        "import resource as r\n"
        "names = ['RLIMIT_AS', 'RLIMIT_FSIZE', 'RLIMIT_NOFILE', 'RLIMIT_NPROC', 'RLIMIT_CORE']"
    )
    shown = "str([r.getrlimit(getattr(r, n)) for n in names])"
    limits = Limits()
    sizes = [limits.memory, limits.file_size, limits.open_files, limits.processes, 0]
    assert said(sandbox.run(job(ask, ASK.format(shown)), {})) == str([(n, n) for n in sizes])


def test_the_environment_is_the_sandbox_s_own(sandbox, monkeypatch):
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "x")
    names = said(sandbox.run(job("import os", ASK.format("' '.join(os.environ)")), {}))
    assert "AWS" not in names
    assert "LABKIT_RUNNER" in names


def test_an_installed_labkit_and_hidden_folders_are_covered(tmp_path):
    """A wheel's `labkit` in site-packages, the course inside a visible folder, a key beside it."""
    site, prefix = tmp_path / "site-packages", tmp_path / "prefix"
    course = prefix / "course"
    shown = (site / "numpy.py", prefix / "bin.txt", course / "venv" / "pack.py")
    secret = (site / "labkit" / "exercises.py", course / "solutions.py", prefix / "key")
    for path in (*shown, *secret):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{path.name}\n")
    python = Python(Path(sys.executable).resolve(), (prefix,), (site, course / "venv"))
    with stage(FIRST_UID) as staged:
        seen = view(python, staged, [course, prefix / "key"])
        read_all = ["grep", "-rhs", ".", str(tmp_path)]
        done = subprocess.run(
            ["bwrap", *seen.options, "--", *read_all], capture_output=True, text=True, check=False
        )
    assert set(done.stdout.split()) == {path.name for path in shown}


def test_the_running_python_is_found_with_its_packages():
    python = find_python()
    assert python.executable.is_file()
    assert not python.executable.is_symlink()
    assert any((folder / "IPython").is_dir() for folder in python.packages)
    assert all(folder.is_dir() for folder in python.installation)
    assert Path("/") not in python.installation
    assert Path.home() not in python.installation


def test_no_tools_are_named_with_their_packages(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    found = detect()
    assert found.level is Level.NONE
    assert found.missing == ("bubblewrap", "util-linux")
    with pytest.raises(LabkitError, match="install them with `apt-get install bubblewrap"):
        open_sandbox().__enter__()


def test_a_system_that_forbids_namespaces_says_what_it_said(monkeypatch, tmp_path):
    for name in ("bwrap", "setpriv", "choom"):
        tool = tmp_path / name
        tool.write_text(
            "#!/bin/sh\necho bwrap: No permissions to create a new namespace >&2\nexit 1\n"
        )
        tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    found = detect()
    assert found.level is Level.NONE
    assert "grade as root" in found.detail
    assert "No permissions to create a new namespace" in found.detail
    apparmor = tmp_path / "restrict"
    apparmor.write_text("1\n")
    monkeypatch.setattr(isolation, "_APPARMOR", apparmor)
    assert "AppArmor" in detect().detail


def test_a_python_that_cannot_run_inside_is_one_sentence(monkeypatch):
    broken = replace(find_python(), executable=Path("/usr/bin/false"))
    monkeypatch.setattr("labkit.grading.sandbox.find_python", lambda: broken)
    with pytest.raises(LabkitError, match="Python does not run in it"):
        open_sandbox().__enter__()


def test_unsafe_runs_the_same_job():
    with stage(FIRST_UID) as staged:
        sandbox = UnsafeSandbox(staged)
        probe = Probe("90.1", (("", (3,)),))
        done = sandbox.run(
            job("def f(x):\n    return 2 * x", ASK.format("f"), probed=frozenset({"90.1"})),
            {"90.1": probe},
        )
        answer = done.answer("90.1")
        assert answer is not None
        assert answer.results == ({"kind": "quantity", "number": 6},)


@pytest.mark.parametrize(
    ("source", "ok"),
    [
        ("%matplotlib inline\nimport matplotlib.pyplot as plt\nplt.plot([1])\nplt.show()", True),
        ("display(1)\n%time x = 1\n!true\nfrom IPython.display import HTML\nHTML('x')", True),
        ("import asyncio\nx = await asyncio.sleep(0, 7)\nassert x == 7", True),
        ("%%time\nx = 1", True),
        ("%%capture out\nprint(1)", True),
        ("1 + 1\n_", True),
        ("%no_such_magic", False),
        ("%%no_such_magic\nx", False),
        ("import warnings, sys\nwarnings.warn('x')\nprint('y', file=sys.stderr)", True),
        ("get_ipython().ast_transformers", True),
        ("import socket; s = socket.create_server(('localhost', 0)); s.close()", True),
        ("open('here.txt', 'w').write('x'); open('here.txt').read()", True),
        ("import tempfile; tempfile.TemporaryFile().write(b'x')", True),
        (
            "import multiprocessing as m\nwith m.get_context('fork').Pool(2) as p: p.map(abs, [1])",
            True,
        ),
        ("import ipywidgets; ipywidgets.IntSlider()", True),
        ("this is no python", False),
        ("undefined_name", False),
    ],
)
def test_a_notebook_s_habits_work(sandbox, source, ok):
    transcript = sandbox.run(job(source), {})
    assert transcript.end is End.DONE
    assert (not transcript.errors) is ok, transcript.errors


def test_figures_of_one_cell_do_not_leak_into_the_next(sandbox):
    first = "import matplotlib.pyplot as plt\nplt.plot([1, 2]); ax = plt.gca()"
    second = "plt.plot([3, 4])"
    shown = said(
        sandbox.run(
            job(first, second, ASK.format("f'{len(ax.get_lines())} {len(plt.gca().get_lines())}'")),
            {},
        )
    )
    assert shown == "1 0"


def test_runs_leave_no_descriptor_behind(sandbox):
    def descriptors() -> int:
        return len(list(Path("/proc/self/fd").iterdir()))

    tiny = job("1")
    sandbox.run(tiny, {})
    before = descriptors()
    for _ in range(12):
        sandbox.run(tiny, {})
    assert descriptors() == before


def test_usage_counts_a_tree_and_what_it_holds():
    code = (
        "import os, time\nx = bytearray(os.urandom(1 << 20) * 60)\n"
        "print(1, flush=True)\ntime.sleep(30)"
    )
    with subprocess.Popen(
        ["sh", "-c", f'{sys.executable} -c "{code}" & wait'], stdout=subprocess.PIPE
    ) as shell:
        assert shell.stdout is not None
        shell.stdout.readline()
        now = usage(shell.pid)
        assert now.processes == 2
        assert 60 << 20 < now.memory < 120 << 20
        for pid in Path(f"/proc/{shell.pid}/task/{shell.pid}/children").read_text().split():
            os.kill(int(pid), 9)
    assert usage(shell.pid).memory == 0


def test_a_small_run_is_quick(sandbox):
    began = time.perf_counter()
    sandbox.run(job("1"), {})
    assert time.perf_counter() - began < 10  # 0.3 s when nothing else runs
