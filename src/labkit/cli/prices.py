"""What commands that show prices check about the price that is asked for."""

from __future__ import annotations

import re

from labkit.cli.common import fail, nearest

PRICE_KINDS = ("on-demand", "spot", "sagemaker")


def check_price(price: str, region: str) -> None:
    """End with one sentence for a price kind that does not exist or a malformed region."""
    if price not in PRICE_KINDS:
        near = nearest(price, PRICE_KINDS) or PRICE_KINDS
        fail(f"Unknown price {price!r}: use {' or '.join(near)}.")
    if not re.fullmatch(r"[a-z]{2}(-[a-z]+)+-\d", region):
        fail(f"Unknown region {region!r}: write it as AWS does, e.g. us-east-1.")
