"""Inputs that the pricing tests draw from: plain and strange, all within the stated bounds."""

from __future__ import annotations

import math
from dataclasses import replace
from datetime import date

from hypothesis import strategies as st

from labkit.catalog.specs import Instance, Price, Provenance
from labkit.sizing.user_rates import RATE_KINDS, UserRate
from tests.sizing.sizing_specs import A10G, instance

USD = st.floats(1e-9, 1e9)
HOURS = st.floats(1e-9, 730)
SHARE = st.floats(0, 0.99)
READ = date(2026, 11, 1)
TODAY = date(2026, 11, 30)


def rate(option: str, value: float, subject: str = "g5.xlarge", **more: str) -> UserRate:
    """A rate with all that it needs."""
    kind = RATE_KINDS[option]
    if kind.regional:
        more.setdefault("region", "us-east-1")
    return UserRate(value, kind.unit, "a price page", READ, option=option, subject=subject, **more)


def priced(name: str = "g5.xlarge", *, hosted: bool = True, **usd: float) -> Instance:
    """An instance with the given prices: on_demand, spot, sagemaker."""
    seen = Provenance(source="written for a test", as_of=READ)
    prices = tuple(
        Price(kind.replace("_", "-"), value, "us-east-1", seen) for kind, value in usd.items()
    )
    return replace(instance(name, A10G, sagemaker=hosted), prices=prices)


def all_finite(*values: float | None) -> bool:
    """Whether every number is one."""
    return all(value is None or math.isfinite(value) for value in values)
