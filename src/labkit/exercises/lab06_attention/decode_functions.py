"""Greedy speculative decoding over toy models, and the ways in which people get it wrong.

A toy model is a table of scores [vocabulary, vocabulary]: row t rates every token as the one that
follows t. One pass over many tokens is one look-up of their rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np

    Array = np.ndarray[Any, Any]

VOCABULARY = 32
Decoded = tuple[list[int], list[int]]


def chosen(model: Array, tokens: Sequence[int]) -> list[int]:
    """One pass: what the model says after each of these tokens."""
    found: list[int] = model[list(tokens)].argmax(axis=1).tolist()
    return found


def toy_models(seed: int, wrong: int) -> tuple[Array, Array]:
    """A target that goes round all tokens, and a drafter that errs after `wrong` of them."""
    import numpy as np

    rng = np.random.default_rng(seed)
    order = rng.permutation(VOCABULARY)
    after = np.empty(VOCABULARY, dtype=int)
    after[order] = np.roll(order, -1)
    says = after.copy()
    for token in rng.permutation(VOCABULARY)[:wrong]:
        says[token] = (after[token] + rng.integers(1, VOCABULARY)) % VOCABULARY
    return _scores(rng, after), _scores(rng, says)


def _scores(rng: Any, best: Array) -> Array:
    """Random scores below 1, and 2 for the best of each row."""
    import numpy as np

    table: Array = rng.random((VOCABULARY, VOCABULARY), dtype=np.float32)
    table[np.arange(VOCABULARY), best] = 2.0
    return table


def drafted(draft: Array, last: int, gamma: int) -> list[int]:
    """`gamma` tokens of the drafter, each after the one before."""
    found: list[int] = []
    for _ in range(gamma):
        found.append(chosen(draft, [found[-1] if found else last])[0])
    return found


def speculative_decode(
    target: Array,
    draft: Array,
    prompt: Sequence[int],
    new_tokens: int,
    gamma: int,
    *,
    fault: str = "",
) -> Decoded:
    """(the new tokens, how many of them each pass of the target gave); `fault` names a mistake."""
    text: list[int] = []
    gained: list[int] = []
    while len(text) < new_tokens:
        last = text[-1] if text else prompt[-1]
        proposal = drafted(draft, prompt[-1] if fault == "stale" else last, gamma)
        choices = chosen(target, [last, *proposal])
        if fault == "shifted":
            choices = [*choices[1:], choices[-1]]
        kept = _kept(proposal, choices, fault)
        if fault != "overshoot":
            kept = kept[: new_tokens - len(text)]
        text += kept
        gained.append(len(kept))
    return text, gained


def _kept(proposal: Sequence[int], choices: Sequence[int], fault: str) -> list[int]:
    if fault == "unverified":
        return list(proposal)
    pairs = list(zip(proposal, choices, strict=False))
    if fault == "past-refusal":
        return [*(p for p, c in pairs if p == c), choices[-1]]
    count = next((i for i, (p, c) in enumerate(pairs) if p != c), len(pairs))
    if fault == "no-bonus" and count == len(pairs):
        return list(proposal)
    return [*proposal[:count], choices[count]]


def one_by_one(
    target: Array, _draft: Array, prompt: Sequence[int], new_tokens: int, _gamma: int
) -> Decoded:
    """Plain greedy decoding: a pass of the target for every token."""
    text: list[int] = []
    for _ in range(new_tokens):
        text.append(chosen(target, [text[-1] if text else prompt[-1]])[0])
    return text, [1] * new_tokens
