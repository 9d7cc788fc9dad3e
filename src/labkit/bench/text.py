"""The held-out text that perplexity is measured on, shipped so that everybody scores the same.

Two chapters of the Python 3.11 language reference, as the standard library's `pydoc_data.topics`
holds them. They are shipped because that module differs from one Python to the next. A model may
have seen them in training; what the labs compare is formats of one model on the same tokens.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from labkit.contract import LabkitError


@dataclass(frozen=True, slots=True)
class Text:
    """A text file of `data/`: where it is from, its licence, and the hash it must have."""

    name: str
    source: str
    licence: str
    sha256: str


HELD_OUT = Text(
    name="execmodel.txt",
    source="pydoc_data.topics of Python 3.11: execmodel, context-managers",
    licence="PSF-2.0",
    sha256="781c0dce1da2cba773420d8fb35dca685ed0bb82a45a4ed0de208a7461d35a61",
)


def read_text(text: Text = HELD_OUT, folder: Path | None = None) -> str:
    """The text, checked against its hash. Raises LabkitError when it is not the shipped one."""
    path = (folder or Path(__file__).parent / "data") / text.name
    try:
        data = path.read_bytes()
    except OSError as error:
        raise LabkitError(f"The text {text.name} cannot be read ({error.strerror}).") from error
    found = hashlib.sha256(data).hexdigest()
    if found != text.sha256:
        raise LabkitError(
            f"{text.name} is not the text that the recordings were made on (SHA-256 {found[:16]}…, "
            f"expected {text.sha256[:16]}…): install labkit afresh."
        )
    return data.decode("utf-8")


def windows(tokenizer: Any, count: int, tokens: int) -> list[list[int]]:
    """`count` windows of `tokens` token ids each, one after another from the start of the text.

    `tokenizer` maps a text to ids: `tokenizer(text).input_ids`. The model reads each window on its
    own, so the windows' losses are independent of each other.
    """
    ids = list(tokenizer(read_text()).input_ids)
    if len(ids) < count * tokens:
        raise LabkitError(
            f"The text has {len(ids)} tokens; {count} windows of {tokens} need {count * tokens}."
        )
    return [ids[start : start + tokens] for start in range(0, count * tokens, tokens)]
