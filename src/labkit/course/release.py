"""The release pack: everything a learner needs, in one folder and one zip, and no answers.

The pack is made from the wheel alone (which carries the labs, the set-up and the sheet), so it is
the same from a clone and from an installed labkit, and nothing that is not in the wheel can slip
into it: no `solutions/`, no key, nobody's work.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from string import Template

from labkit.contract import LabkitError
from labkit.contract.paths import DISTRIBUTION
from labkit.course.archive import zipped
from labkit.course.manifest import parse_manifest
from labkit.course.resources import MANIFEST, Resources, resources
from labkit.course.wheels import Wheel, this_wheel

CONTACT = "Ask your instructor."
SUMS = "SHA256SUMS"
VERSION = "VERSION"
SHEET = "START-HERE.txt"
_LABS = "labkit/course/labs/"
_PARTS = "labkit/course/pack/"
_FRONT = "tools/pack/"  # what stands at the top of the pack
# Of the set-up, what a pack runs; the rest builds and tests the course.
_SETUP = (
    *("__init__", "__main__", "arrive", "lab", "layout", "lock", "packages", "ready", "say"),
    *("torch_choice", "torch_install", "venv"),
)
_ANSWER_MARKS = (b"BEGIN SOLUTION", b"END SOLUTION")


class ReleaseError(LabkitError):
    """A pack that cannot be made or written."""


@dataclass(frozen=True, slots=True)
class Release:
    """What was written: the folder, the same as a zip, the version line, the number of files."""

    folder: Path
    archive: Path
    version: str
    files: int


def release(
    out: Path, *, contact: str = CONTACT, day: date | None = None, shipped: Resources | None = None
) -> Release:
    """Write the pack into `out`, as a folder and as a zip; nothing there is overwritten.

    `day` is printed on the pack; None: SOURCE_DATE_EPOCH's day, else today. Raises ReleaseError
    or WheelError with one sentence.
    """
    shipped = shipped or resources()
    if out.exists() and not out.is_dir():
        raise ReleaseError(f"{out} is a file: name a folder for the release.")
    wheel = this_wheel(shipped)
    name, contents = pack(wheel, day or _today(), contact)
    folder, archive = out / name, out / f"{name}.zip"
    for place in (folder, archive):
        if place.exists():
            raise ReleaseError(f"{place} is there already: move it away or choose another folder.")
    try:
        out.mkdir(parents=True, exist_ok=True)
        _write(folder, archive, contents)
    except OSError as error:
        raise ReleaseError(f"{out} cannot be written: {error.strerror}.") from None
    return Release(folder, archive, contents[VERSION].decode().strip(), len(contents))


def pack(wheel: Wheel, day: date, contact: str = CONTACT) -> tuple[str, dict[str, bytes]]:
    """The pack's name and its files by path: a pure function of its arguments."""
    inside = wheel.files()
    labs = _below(inside, _LABS)
    parts = _below(inside, _PARTS)
    if MANIFEST not in labs or f"{_FRONT}start.py" not in parts:
        raise ReleaseError(f"{wheel.name} carries no course: build it again with `make wheel`.")
    course = parse_manifest(labs[MANIFEST], MANIFEST)
    _only_labs(labs, {plan.file for plan in course.labs})
    _no_answers(labs)
    version = f"{DISTRIBUTION} {wheel.version}, course {course.version}, packed {day.isoformat()}"
    files = {wheel.name: wheel.raw, VERSION: f"{version}\n".encode()}
    files |= {f"labs/{name}": raw for name, raw in labs.items()}
    files |= {name: parts[f"{_FRONT}{name}"] for name in ("start.py", "requirements.lock")}
    files |= {f"tools/setup/{name}.py": parts[f"tools/setup/{name}.py"] for name in _SETUP}
    files |= {
        path.rpartition("/")[2]: raw
        for path, raw in inside.items()
        if ".dist-info/licenses/" in path
    }
    files["start.json"] = _settings(parts["Makefile"].decode("utf-8"))
    sheet = Template(parts[f"{_FRONT}{SHEET}"].decode("utf-8")).substitute(
        title=course.title,
        rule="=" * len(course.title),
        first=next((lab for lab in course.labs if lab.exercises), course.labs[0]).file,
        contact=" ".join(contact.split()),
        version=version,
    )
    files[SHEET] = sheet.encode("utf-8")
    files[SUMS] = _sums(files)
    return f"{DISTRIBUTION}-{course.version}", files


def _below(files: Mapping[str, bytes], folder: str) -> dict[str, bytes]:
    return {
        name.removeprefix(folder): raw for name, raw in files.items() if name.startswith(folder)
    }


def _only_labs(labs: Mapping[str, bytes], listed: set[str]) -> None:
    """The folder `labs` is shipped whole: somebody's grades or a key must not slip in with it."""
    for name in sorted(set(labs) ^ {MANIFEST, *listed}):
        what = "is no lab of course.toml: move it away" if name in labs else "is missing"
        raise ReleaseError(f"labs/{name} {what}, then make the release again.")


def _no_answers(labs: Mapping[str, bytes]) -> None:
    for name, raw in labs.items():
        if any(mark in raw for mark in _ANSWER_MARKS):
            raise ReleaseError(f"labs/{name} holds a solution: run `labkit dev build` first.")


def _settings(makefile: str) -> bytes:
    """What `make` would pass to the set-up: torch's version, build and index, as JSON."""
    found = {
        name: match[1]
        for name in ("TORCH", "TORCH_VERSION", "TORCH_INDEX")
        if (match := re.search(rf"^{name} [:?]= (\S+)$", makefile, flags=re.MULTILINE))
    }
    if len(found) != 3:
        raise ReleaseError("The Makefile in the wheel does not say which torch to install.")
    return (json.dumps(found, indent=1, sort_keys=True) + "\n").encode()


def _sums(files: Mapping[str, bytes]) -> bytes:
    """As `sha256sum -c` reads them."""
    lines = [f"{hashlib.sha256(raw).hexdigest()}  {name}\n" for name, raw in sorted(files.items())]
    return "".join(lines).encode("utf-8")


def _write(folder: Path, archive: Path, contents: Mapping[str, bytes]) -> None:
    """Write folder and zip beside their places first: a half one could be handed out."""
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f".{folder.name}.") as parent:
        made, packed = Path(parent) / folder.name, Path(parent) / archive.name
        for name, raw in contents.items():
            target = made / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(raw)
        packed.write_bytes(zipped({f"{folder.name}/{n}": raw for n, raw in contents.items()}))
        made.rename(folder)
        packed.rename(archive)


def _today() -> date:
    epoch = os.environ.get("SOURCE_DATE_EPOCH", "")
    return datetime.fromtimestamp(int(epoch), UTC).date() if epoch.isdigit() else date.today()
