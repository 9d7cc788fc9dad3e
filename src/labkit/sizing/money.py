"""Money and time as the pricing modules take them: in USD and hours, bounded so that all is finite.

A month is 730 hours (365 x 24 / 12), the month of AWS's own price calculator.
"""

from __future__ import annotations

from numbers import Real
from typing import Any

from labkit.catalog.specs import Price
from labkit.sizing.bands import Band
from labkit.sizing.checks import SizingError

HOURS_PER_MONTH = 730.0
SECONDS_PER_HOUR = 3600.0
MILLION = 1e6
PRICE_BAND = "price range"
# A cent per billion hours up to a billion dollars per hour: products of a few stay finite.
LEAST, MOST = 1e-9, 1e9


def require_between(name: str, value: Any, low: float, high: float, unit: str) -> None:
    """Raise `SizingError` unless `value` is a number from `low` to `high`; `unit` is for the text.

    >>> require_between("hours", 800, 0, 730, "hours")
    Traceback (most recent call last):
    labkit.sizing.checks.SizingError: hours must lie between 0 and 730 hours, not 800.
    """
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    if not is_number or not low <= value <= high:  # NaN compares false with everything
        raise SizingError(
            f"{name} must lie between {plain(low)} and {plain(high)} {unit}, not {value!r}."
        )


def require_usd(name: str, value: Any, unit: str = "USD/h") -> None:
    """Raise `SizingError` unless `value` is a price above zero (1e-9 to 1e9 `unit`)."""
    require_between(name, value, LEAST, MOST, unit)


def require_hours(name: str, value: Any) -> None:
    """Raise `SizingError` unless `value` is a part of a month of 730 hours, above zero."""
    require_between(name, value, LEAST, HOURS_PER_MONTH, "hours a month")


def plain(value: float) -> str:
    """A number as people write it, without an exponent.

    >>> plain(1e9), plain(1e-9), plain(0.25), plain(730.0)
    ('1,000,000,000', '0.000000001', '0.25', '730')
    """
    text = f"{value:,.9f}"
    return text.rstrip("0").rstrip(".")


def usd(value: float) -> str:
    """An amount for people: cents from one dollar on, four significant digits below.

    >>> usd(1234.5), usd(1.006), usd(0.0001234)
    ('$1,234.50', '$1.01', '$0.0001234')
    """
    return f"${value:,.2f}" if abs(value) >= 1 else f"${value:.4g}"


def price_band(price: Price) -> Band:
    """A price's range in USD/h; low and high are the price itself where it has none."""
    low = price.usd_per_hour if price.low is None else price.low
    high = price.usd_per_hour if price.high is None else price.high
    return Band(low, price.usd_per_hour, high, PRICE_BAND)


def flat(value: float) -> Band:
    """A single price as a range of no width."""
    return Band(value, value, value, PRICE_BAND)
