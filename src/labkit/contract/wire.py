"""JSON lines between runner and judge: strict to read, small to write.

The judge reads what a hostile process wrote, so the reader refuses oversized lines, NaN and
infinities, duplicate keys and deep nesting before anything else looks at the message.
"""

from __future__ import annotations

import json
from typing import Any

from labkit.contract.errors import LabkitError

MAX_LINE = 1 << 20
MAX_TOTAL = 16 << 20
MAX_DEPTH = 32
FD_ANSWERS = 3


class WireError(LabkitError):
    """A message that breaks the format; says which rule it broke."""


def dumps(message: dict[str, Any]) -> bytes:
    """One message as a line of JSON, newline included.

    Raises WireError when it holds NaN or infinity, or is longer than `MAX_LINE`.
    """
    try:
        text = json.dumps(message, allow_nan=False, separators=(",", ":"))
    except (ValueError, TypeError, RecursionError) as error:
        raise WireError(f"This message cannot be written as JSON: {error}.") from None
    line = text.encode("ascii") + b"\n"
    if len(line) > MAX_LINE:
        raise WireError(f"This message has {len(line):,} bytes; the limit is {MAX_LINE:,}.")
    return line


def loads(line: bytes) -> dict[str, Any]:
    """One message from a line. Raises WireError on any breach; returns a JSON object."""
    if len(line) > MAX_LINE:
        raise WireError(f"A line of {len(line):,} bytes; the limit is {MAX_LINE:,}.")
    if not line.lstrip().startswith(b"{"):
        raise WireError("Not a JSON message: a message is a JSON object.")
    # Counting brackets is quick; looking at every byte is only worth it where there are many.
    if line.count(b"[") + line.count(b"{") > MAX_DEPTH and _depth(line) > MAX_DEPTH:
        raise WireError(f"Nested deeper than {MAX_DEPTH}.")
    try:
        message = json.loads(
            line.decode("utf-8"), parse_constant=_no_constant, object_pairs_hook=_unique
        )
    except (UnicodeDecodeError, ValueError, RecursionError) as error:
        raise WireError(f"Not a JSON message: {error}.") from None
    if not isinstance(message, dict):
        raise WireError("A message is a JSON object.")
    return message


def _no_constant(name: str) -> Any:
    raise WireError(f"{name} is not a number that travels.")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        raise WireError("A key occurs twice in one object.")
    return result


def _depth(line: bytes) -> int:
    """Deepest nesting, found without recursion; brackets inside strings do not count."""
    deepest = depth = 0
    in_string = escaped = False
    for byte in line:
        if in_string:
            if escaped:
                escaped = False
            elif byte == 0x5C:
                escaped = True
            elif byte == 0x22:
                in_string = False
        elif byte == 0x22:
            in_string = True
        elif byte in b"[{":
            depth += 1
            deepest = max(deepest, depth)
        elif byte in b"]}":
            depth -= 1
    return deepest
