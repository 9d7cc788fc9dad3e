"""Bytes and counts in words, for refusals and explanations: GB = 1e9, GiB = 2**30, always named."""

from __future__ import annotations

GIB = 2**30
MIB = 2**20
KIB = 2**10


def gib(size: float) -> str:
    """ "24.24 GiB", "600.0 MiB", "800.0 KiB": the largest binary unit that leaves 1 or more.

    >>> gib(26_031_728_640), gib(600 * 2**20), gib(819_200), gib(-(2**30))
    ('24.24 GiB', '600.0 MiB', '800.0 KiB', '-1.00 GiB')
    """
    if abs(size) >= GIB:
        return f"{size / GIB:,.2f} GiB"
    return f"{size / MIB:,.1f} MiB" if abs(size) >= MIB else f"{size / KIB:,.1f} KiB"


def gb(size: float) -> str:
    """ "26.03 GB".

    >>> gb(26_031_728_640)
    '26.03 GB'
    """
    return f"{size / 1e9:,.2f} GB"


def plural(count: int, noun: str) -> str:
    """ "1 A10G", "4 x A10G".

    >>> plural(1, "A10G"), plural(4, "A10G")
    ('1 A10G', '4 x A10G')
    """
    return f"{count} {noun}" if count == 1 else f"{count} x {noun}"
