"""Remembering what depends on a model, a machine and a format: by identity, which costs nothing.

Specs are frozen, so one object always gives one answer; but hashing all their fields takes longer
than most of the formulas. An entry holds on to its objects: an id is never reused while it counts.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")
MOST_ENTRIES = 8192


def remembered(
    objects: int, most: int = MOST_ENTRIES
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Decorator: remember the results of a pure function.

    Its first `objects` arguments are compared by identity, the others by value. Only positional
    calls are remembered. When `most` entries are reached it starts anew.

    >>> calls = []
    >>> @remembered(objects=1)
    ... def total(numbers, factor):
    ...     calls.append(factor)
    ...     return factor * sum(numbers)
    >>> numbers = (1, 2, 3)
    >>> total(numbers, 2), total(numbers, 2), total(numbers, 3), calls
    (12, 12, 18, [2, 3])
    """

    def decorate(work: Callable[P, R]) -> Callable[P, R]:
        entries: dict[tuple[Any, ...], tuple[R, tuple[Any, ...]]] = {}

        @wraps(work)
        def answer(*args: P.args, **kwargs: P.kwargs) -> R:
            if kwargs:
                return work(*args, **kwargs)
            held = args[:objects]
            key = (*map(id, held), *args[objects:])
            found = entries.get(key)
            if found is not None:
                return found[0]
            result = work(*args, **kwargs)
            if len(entries) >= most:
                entries.clear()
            entries[key] = (result, held)
            return result

        return answer

    return decorate
