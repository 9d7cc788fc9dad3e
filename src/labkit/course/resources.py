"""Where the course's own files are: in a clone beside `src`, in a wheel inside the package."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from labkit.contract import LabkitError

MANIFEST = "course.toml"
_HERE = Path(__file__).resolve()


@dataclass(frozen=True, slots=True)
class Resources:
    """Folders that are shipped: `labs` (notebooks and course.toml) and bench `recordings`.

    `clone` is the root of the git checkout, or None in an installed wheel.
    """

    labs: Path
    recordings: Path
    clone: Path | None = None

    @property
    def manifest(self) -> Path:
        """The curriculum: `course.toml`."""
        return self.labs / MANIFEST

    @property
    def solutions(self) -> Path:
        """The labs' sources. Raises LabkitError outside a clone: a wheel has none."""
        if self.clone is None:
            raise LabkitError(
                "The labs' sources are not part of an installed labkit: "
                "run this in a clone of the course."
            )
        return self.clone / "solutions"


def resources() -> Resources:
    """The shipped folders, in a wheel and in an editable clone alike.

    Raises LabkitError when this installation carries no labs.
    """
    package = _HERE.parents[1]
    recordings = package / "bench" / "recordings"
    packaged = package / "course" / "labs"
    if (packaged / MANIFEST).is_file():
        return Resources(packaged, recordings)
    clone = _HERE.parents[3]
    if (clone / "labs" / MANIFEST).is_file():
        return Resources(clone / "labs", recordings, clone)
    raise LabkitError(
        f"This installation carries no labs (neither {packaged} nor {clone / 'labs'}): "
        "install the course's wheel again, or work in its clone."
    )
