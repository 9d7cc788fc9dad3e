"""Cost per token: an hourly price spread over the tokens that hour produces."""

from __future__ import annotations

from labkit.sizing.bands import Band
from labkit.sizing.inputs import require_positive

SECONDS_PER_HOUR = 3600


def usd_per_million_tokens(usd_per_hour: float, tokens_per_s: float) -> float:
    """USD per 1,000,000 tokens at a sustained rate: price / (rate x 3,600) x 1e6.

    $1.006/h at 1,060 tokens/s is $0.264. Raises `SizingError` for a rate of zero or less.
    """
    require_positive("tokens_per_s", tokens_per_s)
    return usd_per_hour / (tokens_per_s * SECONDS_PER_HOUR) * 1e6


def usd_per_million_band(usd_per_hour: float, tokens_per_s: Band) -> Band:
    """The same with a range: the highest rate gives the lowest cost."""
    return tokens_per_s.under(usd_per_hour / SECONDS_PER_HOUR * 1e6)


def usd_per_request(usd_per_hour: float, requests_per_s: float) -> float:
    """USD per request at a sustained rate. Raises `SizingError` for a rate of zero or less."""
    require_positive("requests_per_s", requests_per_s)
    return usd_per_hour / (requests_per_s * SECONDS_PER_HOUR)
