"""Engine versions: how a version string is read, and how two are compared.

Engines write "0.10.1.1", "0.8.5.post1", "0.26.1rc1.dev156+g0eec856cc" or "0.13.0+faa43dbf.nv26.01".
Memory behaviour changes between minor releases, so only the leading numbers count: a release
candidate or a local build behaves like its release.
"""

from __future__ import annotations

import re

from labkit.sizing.checks import SizingError

_LEADING = re.compile(r"v?(\d{1,4}(?:\.\d{1,4}){1,3})(?!\d)", re.ASCII)

Version = tuple[int, ...]


def parse_version(text: str) -> Version:
    """The leading numbers of a version: "v0.10.1.1" -> (0, 10, 1, 1).

    Raises `SizingError` for a text that does not start with at least two numbers and a dot.

    >>> parse_version("0.26.1rc1.dev156+g0eec856cc"), parse_version("v0.8.5.post1")
    ((0, 26, 1), (0, 8, 5))
    """
    found = _LEADING.match(text.strip())
    if found is None:
        raise SizingError(f"engine_version must look like 0.11.0, not {text!r}.")
    return tuple(int(part) for part in found[1].split("."))
