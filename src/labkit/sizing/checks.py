"""The checks that every input of the engine goes through, and the error they raise."""

from __future__ import annotations

import math

from labkit.contract.errors import LabkitError


class SizingError(LabkitError):
    """An input to the sizing engine that can never be right; the message says what would be."""


MOST = 10**9
LONGEST = 2**20  # tokens: longer than any served model's context; every length needs an end


def require_count(name: str, value: int, minimum: int = 1) -> None:
    """Raise `SizingError` unless `value` is a whole number from `minimum` to 1,000,000,000."""
    if isinstance(value, bool) or not isinstance(value, int) or value < minimum:
        raise SizingError(f"{name} must be a whole number of at least {minimum}, not {value!r}.")
    if value > MOST:
        raise SizingError(f"{name} must be at most {MOST:,}.")


def require_fraction(name: str, value: float, *, zero_ok: bool) -> None:
    """Raise `SizingError` unless `value` lies in (0, 1], or in [0, 1) where zero is allowed."""
    ok = (0.0 <= value < 1.0) if zero_ok else (0.0 < value <= 1.0)
    if not (math.isfinite(value) and ok):
        range_ = "at least 0 and below 1" if zero_ok else "above 0 and at most 1"
        raise SizingError(f"{name} must be {range_}, not {value!r}.")


def require_positive(name: str, value: float) -> None:
    """Raise `SizingError` unless `value` is a finite number above zero."""
    if not math.isfinite(value) or value <= 0.0:
        raise SizingError(f"{name} must be a number above 0, not {value!r}.")


def require_tokens(name: str, tokens: int) -> None:
    """Raise `SizingError` unless `tokens` is a whole number from 1 to 1,048,576."""
    require_count(name, tokens)
    if tokens > LONGEST:
        raise SizingError(f"{name} must be at most {LONGEST:,} tokens, not {tokens:,}.")


def require_share(q: float) -> None:
    """Raise `SizingError` unless `q` lies between 0 and 1, both included."""
    if not 0.0 <= q <= 1.0:
        raise SizingError(f"A quantile's share must lie between 0 and 1, not {q!r}.")
