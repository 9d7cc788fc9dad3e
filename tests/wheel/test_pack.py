"""The release pack: what is in it, what never is, and that nothing of anybody's is overwritten."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from datetime import date
from importlib.metadata import PathDistribution
from pathlib import Path

import pytest

from labkit.cli.main import main
from labkit.contract.paths import answer_cell
from labkit.course.archive import zipped
from labkit.course.manifest import load_manifest
from labkit.course.release import SHEET, SUMS, VERSION, ReleaseError, pack
from labkit.course.resources import resources
from labkit.course.wheels import Wheel, WheelError, reassemble, this_wheel
from labkit.exercises import load
from tests.wheel.environments import ROOT

DAY = date(2026, 11, 30)


@pytest.fixture(scope="module")
def files(wheel: Wheel) -> dict[str, bytes]:
    return pack(wheel, DAY)[1]


def everything(files: dict[str, bytes]) -> dict[str, bytes]:
    """Every file of the pack, those inside the wheel too, but for its open exercises."""
    found = dict(files)
    for name, raw in files.items():
        if name.endswith(".whl"):
            del found[name]
            found |= {
                f"{name}/{inner}": data
                for inner, data in Wheel(name, raw).files().items()
                if not inner.startswith("labkit/exercises/")
            }
    return found


def text_of(name: str, raw: bytes) -> str:
    """A file as text; of a notebook what a reader sees in its cells and outputs."""
    if not name.endswith(".ipynb"):
        return raw.decode("utf-8")
    notebook = json.loads(raw)
    assert all(not cell.get("outputs") for cell in notebook["cells"]), f"{name} has outputs"
    return "\n".join("".join(cell["source"]) for cell in notebook["cells"])


def snippets() -> dict[str, str]:
    manifest = load_manifest(resources().manifest)
    found = {}
    for plan in manifest.labs:
        found |= {name: load(plan.number)[name].solution.strip() for name in plan.exercises}
    return {name: code for name, code in found.items() if code}


def leaks(files: dict[str, bytes]) -> list[str]:
    """What must not be handed out: "labs/01_….ipynb: the solution of 1.2"."""
    texts = {name: text_of(name, raw) for name, raw in everything(files).items()}
    sources = {p.name: p.read_bytes() for p in (ROOT / "solutions").iterdir() if p.is_file()}
    found = [
        f"{name}: the solution of {exercise}"
        for exercise, code in snippets().items()
        for name, text in texts.items()
        if code in text
    ]
    found += [
        f"{name}: {what}"
        for name, raw in everything(files).items()
        for what, wrong in (
            ("lies in solutions/", "solutions" in Path(name).parts),
            ("is a solution's source", raw in sources.values()),
            ("is called a key", Path(name).name == "key" or Path(name).suffix in (".key", ".pem")),
            ("marks a solution", name.startswith("labs/") and b"SOLUTION" in raw),
        )
        if wrong
    ]
    return found


def test_no_answer_no_solution_source_and_no_key_is_in_it(files: dict[str, bytes]) -> None:
    assert len(snippets()) >= 12
    assert leaks(files) == []


def test_a_planted_leak_is_found(files: dict[str, bytes]) -> None:
    lab = "labs/01_own_the_roofline.ipynb"
    solved = json.loads(files[lab])
    for cell in solved["cells"]:
        if cell["id"] == answer_cell("1.2"):
            cell["source"] = load("01")["1.2"].solution
    planted = {
        **files,
        lab: json.dumps(solved).encode(),
        "tools/key": b"secret",
        "labs/solutions/01.py": (ROOT / "solutions" / "01_own_the_roofline.py").read_bytes(),
    }
    found = leaks(planted)
    assert f"{lab}: the solution of 1.2" in found
    assert "tools/key: is called a key" in found
    assert "labs/solutions/01.py: is a solution's source" in found


def test_the_answer_cells_are_blank(files: dict[str, bytes]) -> None:
    for plan in load_manifest(resources().manifest).labs:
        cells = {c["id"]: c for c in json.loads(files[f"labs/{plan.file}"])["cells"]}
        for name in plan.exercises:
            assert "..." in "".join(cells[answer_cell(name)]["source"])


def test_the_checksums_cover_every_file(files: dict[str, bytes]) -> None:
    lines = dict(line.split("  ")[::-1] for line in files[SUMS].decode().splitlines())
    assert set(lines) == set(files) - {SUMS}
    for name, digest in lines.items():
        assert hashlib.sha256(files[name]).hexdigest() == digest


def test_it_depends_on_its_arguments_alone(wheel: Wheel, files: dict[str, bytes]) -> None:
    assert pack(wheel, DAY)[1] == files
    later = pack(wheel, date(2027, 1, 1))[1]
    changed = {name for name in files if later[name] != files[name]}
    assert changed == {VERSION, SHEET, SUMS}
    assert later[VERSION].decode().endswith("packed 2027-01-01\n")


def test_the_sheet_is_one_page_with_every_step_and_the_contact(wheel: Wheel) -> None:
    text = pack(wheel, DAY, "Write to ada@course.example,\n room 3")[1][SHEET].decode()
    lines = text.splitlines()
    assert len(lines) <= 60
    assert max(map(len, lines)) <= 80
    for words in (
        "python3 start.py LEARNER=your-id",
        "Linux ",
        "macOS ",
        "WSL2",
        "TORCH=cpu",
        "workspace/",
        "hand in the .ipynb\n   as it is",
        "Write to ada@course.example, room 3",
        "packed 2026-11-30",
    ):
        assert words in text
    assert "$" not in text


@pytest.mark.parametrize(
    ("name", "raw", "words"),
    [
        ("labkit/course/labs/grades/key", b"k", "labs/grades/key is no lab of course.toml"),
        ("labkit/course/labs/01_mine.ipynb", b"{}", "labs/01_mine.ipynb is no lab"),
        (
            "labkit/course/labs/01_own_the_roofline.ipynb",
            b"### BEGIN SOLUTION",
            "holds a solution: run `labkit dev build`",
        ),
    ],
)
def test_what_slipped_into_labs_stops_the_release(
    wheel: Wheel, name: str, raw: bytes, words: str
) -> None:
    with pytest.raises(ReleaseError, match=words):
        pack(Wheel(wheel.name, zipped({**wheel.files(), name: raw})), DAY)


def test_a_wheel_without_a_course_is_named(wheel: Wheel) -> None:
    bare = {n: raw for n, raw in wheel.files().items() if "/labs/" not in n}
    with pytest.raises(ReleaseError, match="carries no course"):
        pack(Wheel(wheel.name, zipped(bare)), DAY)


def test_the_command_writes_a_folder_and_the_same_as_a_zip_and_overwrites_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1796083200")
    out = tmp_path / "for my class"
    out.mkdir()
    (out / "notes.txt").write_text("mine", encoding="utf-8")
    assert main(["release", "--out", str(out), "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    folder, archive = Path(report["folder"]), Path(report["archive"])
    assert report["version"].endswith(", packed 2026-12-01")
    before = archive.read_bytes()
    with zipfile.ZipFile(io.BytesIO(before)) as opened:
        inside = {name: opened.read(name) for name in opened.namelist()}
    on_disk = {
        f"{folder.name}/{path.relative_to(folder).as_posix()}": path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }
    assert inside == on_disk
    assert len(inside) == report["files"]
    assert sorted(p.name for p in out.iterdir()) == sorted([folder.name, archive.name, "notes.txt"])

    assert main(["release", "--out", str(out)]) == 2
    assert "is there already: move it away" in capsys.readouterr().err
    assert archive.read_bytes() == before

    assert main(["release", "--out", str(tmp_path / "again")]) == 0
    assert (tmp_path / "again" / archive.name).read_bytes() == before

    assert main(["release", "--out", str(out / "notes.txt")]) == 2
    assert "is a file: name a folder" in capsys.readouterr().err


@pytest.fixture
def installed(wheel: Wheel, tmp_path: Path) -> PathDistribution:
    """The wheel laid out as pip does, with what pip adds."""
    site = tmp_path / "site-packages"
    with zipfile.ZipFile(io.BytesIO(wheel.raw)) as opened:
        opened.extractall(site)
    [about] = site.glob("*.dist-info")
    (about / "INSTALLER").write_text("pip\n", encoding="utf-8")
    with (about / "RECORD").open("a", encoding="utf-8") as record:
        record.write(f"{about.name}/INSTALLER,,\n../../bin/labkit,sha256=x,1\n")
        record.write("labkit/__pycache__/__init__.cpython-311.pyc,,\n")
    return PathDistribution(about)


def test_an_installation_gives_its_wheel_back(wheel: Wheel, installed: PathDistribution) -> None:
    again = reassemble(installed)
    assert again.name == wheel.name
    assert reassemble(installed).raw == again.raw
    ours, theirs = again.files(), wheel.files()
    for found in (ours, theirs):
        [record] = [name for name in found if name.endswith("/RECORD")]
        rows = sorted(found.pop(record).decode().split())
        found["rows"] = "\n".join(rows).encode()
    assert ours == theirs


def test_a_changed_or_missing_file_is_named(installed: PathDistribution) -> None:
    victim = Path(str(installed.locate_file("labkit/exercises/registry.py")))
    victim.write_text("# changed", encoding="utf-8")
    with pytest.raises(WheelError, match=r"exercises/registry\.py was changed"):
        reassemble(installed)
    victim.unlink()
    with pytest.raises(WheelError, match=r"exercises/registry\.py is missing"):
        reassemble(installed)


def test_where_no_wheel_can_be_had_the_sentence_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    from dataclasses import replace
    from importlib.metadata import PackageNotFoundError

    from labkit.course import wheels

    monkeypatch.setattr(wheels.importlib.util, "find_spec", lambda _: None)
    with pytest.raises(WheelError, match="run `make setup`"):
        this_wheel(resources())

    def unknown(name: str) -> None:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(wheels, "distribution", unknown)
    with pytest.raises(WheelError, match="was not installed by a package installer"):
        this_wheel(replace(resources(), clone=None))
