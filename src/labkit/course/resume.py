"""Which lab to open: where the learner stopped, else the first one not yet begun."""

from __future__ import annotations

from pathlib import Path

from labkit.contract import events
from labkit.contract.paths import EVENTS_FILE, STATE_DIR
from labkit.course import state
from labkit.course.manifest import Manifest


def lab_to_open(root: Path, manifest: Manifest) -> str:
    """The number of the lab to open in the workspace `root`.

    The lab of the last answer while something in it is open; then the first lab that was never
    begun; when there is none, the one last worked on. A newcomer gets the first lab.
    """
    told = list(events.read(root / STATE_DIR / EVENTS_FILE))
    standings = state.replay(told)
    begun = {standing.lab for standing in standings.values() if standing.attempts}
    plans = {plan.number: plan for plan in manifest.labs}
    worked = [e.lab for e in told if e.what == "check" and e.lab in begun and e.lab in plans]
    if not worked:
        return manifest.labs[0].number
    last = plans[worked[-1]]
    if not all(standings.get(name, state.NEW).passed for name in last.exercises):
        return last.number
    fresh = [plan.number for plan in manifest.labs if plan.number not in begun]
    return fresh[0] if fresh else last.number
