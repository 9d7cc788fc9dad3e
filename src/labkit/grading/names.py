"""Turns any learner's name into one safe file name, and any text into a safe CSV field."""

from __future__ import annotations

import hashlib
import os
import re

_UNSAFE = re.compile(rb"[^A-Za-z0-9._@+(),= -]")
_MAX = 120
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def file_name(name: str) -> str:
    """A file name that only this name has: other characters become %XX, as in an address.

    >>> file_name("a.b+c"), file_name("123 (abc)"), file_name("../x")
    ('a.b+c', '123 (abc)', '%2E.%2Fx')
    """
    raw = _UNSAFE.sub(lambda match: b"%%%02X" % match.group()[0], os.fsencode(name)).decode()
    if raw.startswith((".", " ", "-")):
        raw = f"%{ord(raw[0]):02X}{raw[1:]}"
    if raw.endswith((".", " ")):
        raw = f"{raw[:-1]}%{ord(raw[-1]):02X}"
    if len(raw) > _MAX:
        raw = f"{raw[:_MAX]}~{hashlib.sha256(os.fsencode(name)).hexdigest()[:12]}"
    return raw or "%"


def identity(folder: str) -> str:
    """The name itself; for one that is no printable text its `file_name`, which only it has.

    >>> identity("Zoë"), identity("two\\nlines")
    ('Zoë', 'two%0Alines')
    """
    return folder if folder.isprintable() else file_name(folder)


def csv_text(text: str) -> str:
    """Text that a spreadsheet takes for text, even where it begins like a formula."""
    return f"'{text}" if text.startswith(_FORMULA) else text
