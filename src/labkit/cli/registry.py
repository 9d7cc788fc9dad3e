"""The commands: name, where each lives, its one line of help, and the heading it stands under.

A command's module is imported when the command runs, never before: that keeps `labkit --help`
fast. To add a command, write `labkit/cli/<name>.py` with a function (or a `typer.Typer` for a
command with sub-commands) and add its line here.
"""

from __future__ import annotations

from dataclasses import dataclass

LEARN = "Learn"
SIZE = "Size and measure"
TEACH = "Teach"


@dataclass(frozen=True, slots=True)
class Command:
    """One entry: `labkit.cli.<module>` holds `target`, a function or a `typer.Typer`."""

    name: str
    module: str
    target: str
    group: str
    help: str


COMMANDS: tuple[Command, ...] = (
    Command("init", "init", "init", LEARN, "Make a workspace for one learner."),
    Command("lab", "lab", "lab", LEARN, "Open JupyterLab on the course, or on one lab."),
    Command("progress", "progress", "progress", LEARN, "Show my labs, exercises and points."),
    Command("reset", "reset", "reset", LEARN, "Take a fresh copy of a lab, or new numbers."),
    Command("doctor", "doctor", "doctor", LEARN, "Say what this machine can run."),
    Command("estimate", "estimate", "estimate", SIZE, "Size one model on one instance."),
    Command("size", "size", "size", SIZE, "Rank the machines that hold a workload."),
    Command("calibrate", "calibrate", "calibrate", SIZE, "Fit the engine to runs of your own."),
    Command("validate", "validate", "validate", SIZE, "Hold the engine to published rows."),
    Command("catalog", "catalog", "app", SIZE, "Show or check the facts, with source and age."),
    Command("bench", "bench", "bench", SIZE, "Measure this machine, or replay a recording."),
    Command("engine", "engine", "app", SIZE, "List or install engines that serve the model."),
    Command("grade", "grade", "grade", TEACH, "Grade submissions in the sandbox."),
    Command("release", "release", "release", TEACH, "Pack the course for learners."),
    Command("dev", "dev", "app", TEACH, "Build the labs and prove their exercises."),
)


def command_named(name: str) -> Command | None:
    """The entry of that name, or None."""
    return next((command for command in COMMANDS if command.name == name), None)
