"""Softmax attention in blocks of keys, and the ways in which people get the online softmax wrong.

q [queries, d], k [keys, d], v [keys, d_v] → [queries, d_v]; one head, no mask. The online softmax
is Milakov and Gimelshein's (2018), as FlashAttention (Dao et al., 2022) uses it.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]


def naive_attention(q: Array, k: Array, v: Array, block: int = 0) -> Array:
    """The whole score matrix at once; `block` is not used."""
    import numpy as np

    scores = q @ k.T / np.sqrt(q.shape[1])
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    found: Array = weights @ v / weights.sum(axis=1, keepdims=True)
    return found


def block_attention(
    q: Array,
    k: Array,
    v: Array,
    block: int,
    *,
    scaled: bool = True,
    shifted: bool = True,
    rescale_sum: bool = True,
    rescale_out: bool = True,
    start: float = -math.inf,
) -> Array:
    """The right one; the keywords leave out one thing each. `start` is the first largest score."""
    import numpy as np

    scale = 1 / np.sqrt(q.shape[1]) if scaled else 1.0
    largest = np.full(len(q), start if shifted else 0.0)
    total = np.zeros(len(q))
    out = np.zeros((len(q), v.shape[1]))
    with np.errstate(over="ignore", invalid="ignore"):
        for at in range(0, len(k), block):
            scores = q @ k[at : at + block].T * scale
            new = np.maximum(largest, scores.max(axis=1)) if shifted else largest
            shrink = np.exp(largest - new)
            weights = np.exp(scores - new[:, None])
            total = total * (shrink if rescale_sum else 1.0) + weights.sum(axis=1)
            out = out * (shrink[:, None] if rescale_out else 1.0) + weights @ v[at : at + block]
            largest = new
        found: Array = out / total[:, None]
    return found


def averaged_blocks(q: Array, k: Array, v: Array, block: int) -> Array:
    """A softmax of each block by itself, and the mean of the blocks."""
    import numpy as np

    starts = range(0, len(k), block)
    blocks = [naive_attention(q, k[at : at + block], v[at : at + block]) for at in starts]
    mean: Array = np.mean(blocks, axis=0)
    return mean


def not_divided(q: Array, k: Array, v: Array, block: int) -> Array:
    """The weighted sum, never divided by the sum of the weights."""
    import numpy as np

    scores = q @ k.T / np.sqrt(q.shape[1])
    found: Array = np.exp(scores - scores.max(axis=1, keepdims=True)) @ v
    return found


def whole_blocks_only(q: Array, k: Array, v: Array, block: int) -> Array:
    """The last block is left out where it is not full."""
    size = min(block, len(k))
    full = len(k) // size * size
    return block_attention(q, k[:full], v[:full], size)
