"""Paying per use: the user's rates, or a refusal that names them."""

from __future__ import annotations

import pytest

from labkit.sizing.checks import SizingError
from labkit.sizing.per_use import PerUse, serverless_request, token_api_request
from labkit.sizing.refusal import Refusal
from tests.sizing.pricing_inputs import rate

API = (
    rate("token-api-input", 0.22, "a-model"),
    rate("token-api-output", 0.88, "a-model"),
    rate("token-api-output", 99.0, "another-model"),
)


def test_a_token_api_request_by_hand():
    use = token_api_request(API, "a-model", 512, 256)
    assert isinstance(use, PerUse)
    assert use.usd_per_request == pytest.approx((512 * 0.22 + 256 * 0.88) / 1e6)
    assert use.terms[1].source == "given by the user: a price page, as of 2026-11-01"
    assert use.terms[-1].value == use.usd_per_request


def test_a_missing_half_of_the_price_is_refused():
    refusal = token_api_request(API, "another-model", 512, 256)
    assert isinstance(refusal, Refusal)
    assert refusal.code == "UNKNOWN_PRICE"
    assert refusal.detail == (
        "No token API's input price of another-model is known: give it as the rate "
        "token-api-input in USD/1M tokens, with its source and date."
    )


def test_a_serverless_request_by_hand():
    use = serverless_request([rate("serverless-compute", 2e-5, "small")], "small", 4, 1.5)
    assert isinstance(use, PerUse)
    assert use.usd_per_request == pytest.approx(4 * 1.5 * 2e-5)
    missing = serverless_request([], "small", 4, 1.5)
    assert isinstance(missing, Refusal)
    assert "serverless-compute in USD/GB-s" in missing.detail


def test_bad_input_is_named_in_one_sentence():
    with pytest.raises(SizingError, match=r"^input tokens must lie between .* tokens, not -1\.$"):
        token_api_request(API, "a-model", -1, 256)
    with pytest.raises(SizingError, match=r"^memory_gb must lie between .* GB, not nan\.$"):
        serverless_request([], "small", float("nan"), 1)
