"""How much of a prefill's weight reading hides behind its arithmetic.

Matrix kernels fetch the next tile while they multiply this one. Full overlap would take the later
of the two times, none their sum; measured prefills lie between. (a^p + b^p)^(1/p) joins the two
ends smoothly: p = 1 is the sum, a large p the later one. p = 1.5 is where both operator tables
(13B, 512 tokens: 66 ms on an L40S, 60 ms on an A100) and served runs (7B, 128 and 2,048 tokens on
an A100: 16 and 133 ms) fit. Decode steps of published runs fit a plain sum.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, overload

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

POWER = 1.5


@overload
def hidden_seconds(reading: float, multiplying: float) -> float: ...


@overload
def hidden_seconds(
    reading: NDArray[np.float64], multiplying: NDArray[np.float64]
) -> NDArray[np.float64]: ...


def hidden_seconds(
    reading: float | NDArray[np.float64], multiplying: float | NDArray[np.float64]
) -> float | NDArray[np.float64]:
    """Seconds that reading weights and multiplying share: their sum less the joined time.

    Both at least 0, numbers or arrays; never more than the smaller of the two.
    """
    return reading + multiplying - (reading**POWER + multiplying**POWER) ** (1 / POWER)
