"""A target without torch: its next token is a function of all that it has been fed."""

from __future__ import annotations

import zlib
from collections.abc import Sequence

VOCABULARY = 7


def next_token(history: Sequence[int]) -> int:
    """Some token that depends on every token so far."""
    return zlib.crc32(bytes(history)) % VOCABULARY


def plain(prompt: Sequence[int], tokens: int) -> list[int]:
    """What greedy decoding says: one token of the prefill and `tokens` more."""
    history = list(prompt)
    for _ in range(tokens + 1):
        history.append(next_token(history))
    return history[len(prompt) :]


class ToyTarget:
    """Stands in for a CachedModel; `forgetful` leaves refused tokens in its cache."""

    def __init__(self, forgetful: bool = False) -> None:
        self.fed: list[int] = []
        self.forwards = 0
        self.forgetful = forgetful

    @property
    def length(self) -> int:
        return len(self.fed)

    def start(self, tokens: Sequence[int]) -> int:
        self.fed = []
        return self.feed(tokens)[-1]

    def feed(self, tokens: Sequence[int], keep: int = 0) -> list[int]:
        assert tokens, "a forward over nothing"
        self.forwards += 1
        chosen = []
        for token in tokens:
            self.fed.append(token)
            chosen.append(next_token(self.fed))
        return chosen[-keep:]

    def rewind(self, length: int) -> None:
        if not self.forgetful:
            del self.fed[length:]


class Scripted:
    """A drafter that says what it is told to, whatever the text."""

    def __init__(self, drafts: Sequence[Sequence[int]]) -> None:
        self.drafts = [list(draft) for draft in drafts]
        self.asked: list[int] = []

    def start(self, prompt: Sequence[int]) -> None:
        self.asked = []

    def propose(self, tokens: Sequence[int], most: int) -> list[int]:
        draft = self.drafts[len(self.asked) % len(self.drafts)]
        self.asked.append(most)
        return draft[:most]
