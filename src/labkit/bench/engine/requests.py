"""The requests every engine gets: prompts from one text, output lengths as uneven as real ones."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass

# Written for this course. A prompt is a piece of it that begins at a sentence.
SENTENCES = (
    "A server that answers many people at once has to decide whose turn it is.",
    "The first person may want one word, and the second a page.",
    "If both must leave together, the first one waits for the second.",
    "A kitchen works in the same way when every table has to be served at the same moment.",
    "The cook could bring each dish when it is ready, and take the next order at once.",
    "Nobody waits for a stranger, and the stove is never cold.",
    "A library lends a book to one reader, and the next reader stands in line.",
    "With ten copies of the book, ten readers can begin on the same day.",
    "Some of them finish in an hour, others keep it for a month.",
    "The desk should hand a returned copy to the next person without delay.",
    "Trains leave by the clock, and a half empty train burns nearly as much as a full one.",
    "A taxi leaves when somebody gets in, which is pleasant and costs more.",
    "A bus that picks up people on its way is somewhere between the two.",
    "Memory is the number of seats, and each passenger brings a suitcase that grows.",
    "When the luggage fills the bus, somebody has to get off and take the next one.",
    "Rain fell on the harbour all night, and in the morning the boats were low in the water.",
    "The old captain counted the barrels twice and wrote the number on the door.",
    "His daughter asked why he never trusted the first count.",
    "He said that a number is only worth as much as the second person who finds it.",
    "In the market a woman sold oranges by weight and lemons by the piece.",
    "Buyers argued about the oranges and never about the lemons.",
    "A map is smaller than the country, and that is why it is useful.",
    "A clock in the hall struck eleven, although it was only ten.",
    "The gardener planted beans in rows so that the tall ones gave shade to the rest.",
    "Every autumn the river rises, and every spring the bridge is painted again.",
    "A letter took three weeks to cross the sea, and the answer took four.",
    "The teacher wrote one question on the board and left the room.",
    "When she came back, the class had found three answers and one better question.",
    "Snow makes a street quiet because it swallows the sound of the wheels.",
    "The baker rises at three, so that others can sleep until seven.",
    "A good tool disappears in the hand, and a bad one is noticed all day.",
    "The last lamp in the street belonged to a man who repaired radios.",
)

COUNT = 32
SLOTS = 8
_MEAN_OUTPUT = 14
_PROMPTS = (8, 56)
# Draws in which static batches of SLOTS waste as much as they do on average over all orders (37 %
# of their rows are useful); a test holds that.
_OUTPUT_DRAW, _PROMPT_DRAW = "2", "prompts"


@dataclass(frozen=True, slots=True)
class Request:
    """Token ids of a prompt, and how many tokens are wanted; the end-of-text token is ignored."""

    id: int
    prompt: tuple[int, ...]
    output_tokens: int


def output_lengths(count: int, mean: float = _MEAN_OUTPUT) -> tuple[int, ...]:
    """`count` quantiles of an exponential distribution of this mean, in a fixed mixed order.

    Answers of chat models spread like that: many are short, a few are long.

    >>> sorted(output_lengths(8))
    [2, 3, 5, 8, 12, 16, 23, 39]
    """
    ranks = [(index + 0.5) / count for index in range(count)]
    lengths = [max(2, round(-mean * math.log(1 - rank))) for rank in ranks]
    return tuple(lengths[index] for index in _mixed(count, _OUTPUT_DRAW))


def prompt_lengths(count: int, bounds: tuple[int, int] = _PROMPTS) -> tuple[int, ...]:
    """`count` lengths spread evenly over `bounds` (both included), in another fixed order."""
    low, high = bounds
    step = (high - low) / max(1, count - 1)
    return tuple(round(low + step * index) for index in _mixed(count, _PROMPT_DRAW))


def mixed_requests(count: int, tokens: Sequence[Sequence[int]]) -> list[Request]:
    """`count` requests; `tokens` are the token ids of each of SENTENCES.

    Request i begins with sentence i, so no two prompts share a beginning that a cache could use.
    """
    return [
        Request(index, tuple(piece(tokens, index, length)), output)
        for index, (length, output) in enumerate(
            zip(prompt_lengths(count), output_lengths(count), strict=True)
        )
    ]


def rounds_of(requests: Sequence[Request], rounds: int) -> list[list[Request]]:
    """The requests dealt to `rounds` groups of nearly equal mean output length, each once.

    Dealt in snake order by length: the group that got the longest gets the shortest next.
    """
    groups: list[list[Request]] = [[] for _ in range(rounds)]
    for place, request in enumerate(sorted(requests, key=lambda r: (-r.output_tokens, r.id))):
        lap, position = divmod(place, rounds)
        groups[position if lap % 2 == 0 else rounds - 1 - position].append(request)
    return [sorted(group, key=lambda r: r.id) for group in groups]


def piece(tokens: Sequence[Sequence[int]], first: int, length: int) -> list[int]:
    """`length` token ids from the sentence `first` on, the text beginning again at its end."""
    found: list[int] = []
    index = first
    while len(found) < length:
        found += tokens[index % len(tokens)]
        index += 1
    return found[:length]


def _mixed(count: int, draw: str) -> list[int]:
    """Every index once, in the order of their hashes: the same shuffle on every machine."""
    return sorted(range(count), key=lambda i: hashlib.sha256(f"{draw}:{i}".encode()).digest())
