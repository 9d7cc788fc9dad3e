"""Bytes and counts in words, for refusals and explanations: GB = 1e9, GiB = 2**30, always named."""

from __future__ import annotations

GIB = 2**30
MIB = 2**20


def gib(size: float) -> str:
    """ "24.24 GiB"; below a tenth of a GiB in MiB.

    >>> gib(26_031_728_640), gib(614_400 * 100), gib(-2**30)
    ('24.24 GiB', '58.6 MiB', '-1.00 GiB')
    """
    if abs(size) < 0.1 * GIB:
        return f"{size / MIB:,.1f} MiB"
    return f"{size / GIB:,.2f} GiB"


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
