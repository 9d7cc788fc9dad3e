"""User ids for runs: one each, also when several gradings share the machine.

Linux counts processes per user id, so two runs under one id could starve each other.
"""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager

from labkit.contract.errors import LabkitError

FIRST_UID = 61001
# Up to 61183 no distribution gives ids to anybody; systemd's dynamic users follow.
_UIDS = range(FIRST_UID, 61184)


@contextmanager
def own_uid() -> Iterator[int]:
    """A user id that no other run on this machine has until this one ends.

    The claim is the name of an abstract socket: the kernel gives it to one process at a time and
    takes it back when that process dies, however it dies. Raises LabkitError when all are taken.
    """
    for uid in _UIDS:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as claim:
            try:
                claim.bind(f"\0labkit-grading-uid-{uid}")
            except OSError:
                continue  # another run has it
            yield uid
            return
    raise LabkitError(f"All {len(_UIDS)} user ids for runs are in use: lower --jobs.")
