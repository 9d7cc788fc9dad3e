"""``python -m labkit.bench.engine.leash PARENT COMMAND…``: becomes COMMAND, tied to its parent.

On Linux the kernel then kills the process when PARENT dies, however it dies. Elsewhere the warden
is the only guard.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from typing import NoReturn

_PR_SET_PDEATHSIG = 1


def main(arguments: list[str]) -> NoReturn:
    """Tie, and replace this process; ends with exit code 1 when PARENT is gone already."""
    parent, command = int(arguments[0]), arguments[1:]
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:  # it died before the tie was made
        sys.exit(1)
    os.execvp(command[0], command)  # noqa: S606  no shell is meant


if __name__ == "__main__":
    main(sys.argv[1:])
