"""The system calls that a submission may not make, as a seccomp filter.

Built at run time through libseccomp, so that it fits the machine's architecture and kernel.
"""

from __future__ import annotations

import errno
import importlib
import tempfile
from typing import Any

from labkit.contract.errors import LabkitError

# Calls that reach outside of a process's own memory and files. Each is answered with EPERM.
DENIED = (
    # other processes' memory and descriptors
    "ptrace", "process_vm_readv", "process_vm_writev", "process_madvise", "kcmp", "pidfd_getfd",
    # mounts and namespaces
    "mount", "umount", "umount2", "pivot_root", "chroot", "setns", "unshare", "move_mount",
    "open_tree", "fsopen", "fsmount", "fsconfig", "fspick", "mount_setattr",
    "open_by_handle_at", "name_to_handle_at",
    # keys, tracing, kernel code
    "keyctl", "add_key", "request_key", "bpf", "perf_event_open", "userfaultfd", "syslog",
    "kexec_load", "kexec_file_load", "init_module", "finit_module", "delete_module",
    # the machine itself
    "reboot", "swapon", "swapoff", "acct", "quotactl", "quotactl_fd", "settimeofday",
    "clock_settime", "clock_adjtime", "adjtimex", "sethostname", "setdomainname",
    "iopl", "ioperm", "modify_ldt", "personality", "vhangup", "lookup_dcookie",
    # a second way to make every other call
    "io_uring_setup", "io_uring_enter", "io_uring_register",
    # memory that belongs to no process and that no limit here counts
    "shmget", "msgget", "semget", "memfd_create", "memfd_secret",
)  # fmt: skip

_NEW_NAMESPACES = (
    0x00020000, 0x02000000, 0x04000000, 0x08000000, 0x10000000, 0x20000000, 0x40000000,
)  # fmt: skip
_UNIX, _INET, _INET6, _NETLINK = 1, 2, 10, 16
_FAMILIES = 46
_TIOCSTI, _TIOCLINUX = 0x5412, 0x541C
_UNKNOWN = -1  # libseccomp's __NR_SCMP_ERROR


def build_filter() -> bytes:
    """The filter as BPF. Raises LabkitError naming the package where libseccomp is missing."""
    try:
        pyseccomp = _library()
    except (ImportError, RuntimeError, OSError):
        raise LabkitError(
            "Grading needs libseccomp and pyseccomp: install the system package libseccomp2 "
            "and the extra [grade] of labkit."
        ) from None
    rules = pyseccomp.SyscallFilter(pyseccomp.ALLOW)
    refuse = pyseccomp.ERRNO(errno.EPERM)
    for name in DENIED:
        _add(rules, refuse, name)
    for flag in _NEW_NAMESPACES:
        _add(rules, refuse, "clone", pyseccomp.Arg(0, pyseccomp.MASKED_EQ, flag, flag))
    # clone3 takes its flags by pointer, which a filter cannot read; libc falls back to clone.
    _add(rules, pyseccomp.ERRNO(errno.ENOSYS), "clone3")
    for family in range(_FAMILIES):
        if family not in (_UNIX, _INET, _INET6, _NETLINK):
            # AF_VSOCK would reach the hypervisor: it knows no network namespace.
            _add(
                rules,
                pyseccomp.ERRNO(errno.EAFNOSUPPORT),
                "socket",
                pyseccomp.Arg(0, pyseccomp.EQ, family),
            )
    for request in (_TIOCSTI, _TIOCLINUX):
        _add(rules, refuse, "ioctl", pyseccomp.Arg(1, pyseccomp.MASKED_EQ, 0xFFFFFFFF, request))
    with tempfile.TemporaryFile() as file:
        rules.export_bpf(file)
        file.seek(0)
        return file.read()


def _library() -> Any:
    """pyseccomp, which carries no types."""
    return importlib.import_module("pyseccomp")


def _add(rules: Any, action: Any, name: str, *args: Any) -> None:
    """Add one rule; a call that this libseccomp does not know by name has none to break."""
    pyseccomp = _library()
    if pyseccomp.resolve_syscall(pyseccomp.Arch.NATIVE, name) != _UNKNOWN:
        rules.add_rule(action, name, *args)
