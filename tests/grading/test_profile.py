"""The order of the sandbox's mounts, where it decides what a run can see."""

from __future__ import annotations

from labkit.grading.mounts import View
from labkit.grading.profile import HOME, Level, arguments
from labkit.runner.job import Limits


def test_a_clone_in_the_temporary_folder_is_not_covered_by_the_run_s_own() -> None:
    """Its packages are bound below HOME; an empty folder mounted later would hide them."""
    packages = f"{HOME}/clone/.venv/lib/site-packages"
    seen = View(("--ro-bind", packages, packages))
    options = arguments(Level.FULL, seen, Limits(), {})
    assert options.index("--tmpfs") < options.index(packages)
    assert options[options.index("--tmpfs") + 1] == HOME
