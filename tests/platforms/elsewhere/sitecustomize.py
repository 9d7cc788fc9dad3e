"""Makes this Python look like one on another system; first on PYTHONPATH, so children get it too.

LABKIT_FAKE_SYSTEM=macos   sys.platform and platform say macOS; no /proc, /sys or CPU affinity; no
                           limit on address space; a process group that has ended may not be
                           signalled (EPERM, where Linux says nothing)
LABKIT_FAKE_SYSTEM=plain   the above without macOS's name, and without the modules resource and
                           fcntl, as on a system that nobody tried
"""

import os
import platform
import sys
import sysconfig
import types

KIND = os.environ.get("LABKIT_FAKE_SYSTEM", "")
_real_killpg = os.killpg
_own = []  # truthy while this file itself looks into /proc


def _no_linux_files(event, arguments):
    if event in ("open", "os.listdir", "os.scandir") and not _own:
        path = os.fsdecode(arguments[0]) if isinstance(arguments[0], (str, bytes)) else ""
        if path.startswith(("/proc", "/sys/")):
            raise FileNotFoundError(2, "No such file or directory", path)


def _killpg(group, number):
    _own.append(True)
    try:
        with open(f"/proc/{group}/stat", encoding="ascii") as file:  # noqa: PTH123  nothing else is imported yet
            ended = file.read().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        ended = False
    finally:
        _own.pop()
    if ended:
        raise PermissionError(1, "Operation not permitted")
    _real_killpg(group, number)


def _limit(which, limits):
    if which == resource.RLIMIT_AS:
        raise ValueError("current limit exceeds maximum limit")
    _real_setrlimit(which, limits)


if KIND:
    # What the standard library was built with, it still was built with.
    os.environ["_PYTHON_SYSCONFIGDATA_NAME"] = sysconfig._get_sysconfigdata_name()
    name = {"macos": "darwin", "plain": "sunos5"}[KIND]
    sys.platform = name
    platform.system = lambda: {"macos": "Darwin", "plain": "SunOS"}[KIND]
    platform.machine = lambda: "arm64"
    platform.processor = lambda: "arm"
    del os.sched_getaffinity, os.sched_setaffinity
    os.killpg = _killpg
    sys.addaudithook(_no_linux_files)
    if KIND == "plain":
        sys.modules["resource"] = sys.modules["fcntl"] = None
    else:
        import resource

        proxies = types.ModuleType("_scproxy")
        proxies._get_proxy_settings = proxies._get_proxies = dict
        sys.modules["_scproxy"] = proxies

        _real_setrlimit = resource.setrlimit
        resource.setrlimit = _limit
