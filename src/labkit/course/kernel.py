"""The notebook that runs this: the names in its kernel. IPython is asked, never imported for it."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from labkit.contract import Record


def names() -> Mapping[str, Any]:
    """The learner's variables by name, outputs such as `_7` among them; empty outside IPython."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return {} if shell is None else dict(shell.user_ns)


class Sightings:
    """The records that stand in the notebook, in the order in which they were first seen.

    A variable that is assigned again keeps its place among the names, so places do not tell which
    record is the newest. `look` is therefore called with every use of the lab.
    """

    def __init__(self) -> None:
        self._seen: list[Record] = []

    def look(self) -> Mapping[str, Record]:
        """The records by variable name; takes note of new ones and forgets those that are gone."""
        # isinstance would ask the object itself, which may be anything.
        here = {name: thing for name, thing in names().items() if type(thing) is Record}
        standing = {id(record) for record in here.values()}
        self._seen = [record for record in self._seen if id(record) in standing]
        known = {id(record) for record in self._seen}
        for record in here.values():
            if id(record) not in known:
                known.add(id(record))
                self._seen.append(record)
        return here

    def newest(self, record_id: str) -> Record | None:
        """The newest record of this bench under a name of the learner's, else among the outputs."""
        here = self.look()
        named = [record for name, record in here.items() if not name.startswith("_")]
        for group in (named, list(here.values())):
            chosen = {id(record) for record in group if record.id == record_id}
            found = [record for record in self._seen if id(record) in chosen]
            if found:
                return found[-1]
        return None
