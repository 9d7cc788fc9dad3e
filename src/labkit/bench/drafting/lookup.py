"""Prompt lookup: the drafter that is not a model. It finds the last words earlier in the text.

What followed them there is the draft. Where an answer repeats its prompt (summaries, edits of
code, quotes) that is often right; in new text there is seldom anything to find.
"""

from __future__ import annotations

from collections.abc import Sequence

LONGEST = 3


def look_up(tokens: Sequence[int], most: int, longest: int = LONGEST) -> list[int]:
    """Up to `most` tokens that followed the latest earlier place of the longest matching ending.

    Endings of `longest` tokens are tried first, then shorter ones down to one token. Empty where
    none occurs earlier.

    >>> look_up([7, 8, 9, 4, 7, 8], most=2)
    [9, 4]
    >>> look_up([1, 2, 3], most=5)
    []
    """
    if most < 1:
        return []
    known = list(tokens)
    for size in range(min(longest, len(known) - 1), 0, -1):
        ending = known[-size:]
        for start in range(len(known) - size - 1, -1, -1):
            if known[start : start + size] == ending:
                return known[start + size : start + size + most]
    return []
