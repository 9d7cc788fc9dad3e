"""Paying per use instead of per hour: a per-token API (Bedrock or any other), serverless endpoints.

The rates are always the user's (`user_rates`): model, region and contract decide them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from labkit.sizing.money import LEAST, MILLION, MOST, require_between
from labkit.sizing.refusal import Refusal
from labkit.sizing.terms import Term
from labkit.sizing.user_rates import UserRate, matching, unknown_price


@dataclass(frozen=True, slots=True)
class PerUse:
    """What one request costs when nothing is paid between requests."""

    usd_per_request: float
    terms: tuple[Term, ...]


def token_api_request(
    rates: Sequence[UserRate], model: str, prompt_tokens: float, output_tokens: float
) -> PerUse | Refusal:
    """A request's price on a per-token API: prompt x input price + output x output price.

    Needs the rates token-api-input and token-api-output of `model`, else UNKNOWN_PRICE.
    """
    section, terms, total = f"Token API, {model}", [], 0.0
    for option, words, tokens in (
        ("token-api-input", "input", prompt_tokens),
        ("token-api-output", "output", output_tokens),
    ):
        require_between(f"{words} tokens", tokens, LEAST, MOST, "tokens")
        rate = _newest(rates, option, model)
        if isinstance(rate, Refusal):
            return rate
        total += tokens * rate.value / MILLION
        terms += [
            Term(section, f"{words} tokens", tokens, "tokens/request", "given"),
            Term(section, f"{words} price", rate.value, rate.unit, _source(rate)),
        ]
    terms.append(Term(section, "per request", total, "USD", "tokens x price, both kinds"))
    return PerUse(total, tuple(terms))


def serverless_request(
    rates: Sequence[UserRate], endpoint: str, memory_gb: float, seconds: float
) -> PerUse | Refusal:
    """A request's price on a serverless endpoint: memory (GB) x seconds x price per GB-second.

    Needs the rate serverless-compute of `endpoint`, else UNKNOWN_PRICE. Data fees are left out.
    SageMaker's serverless endpoints have no accelerators: this is for small models on CPUs.
    """
    require_between("memory_gb", memory_gb, LEAST, MOST, "GB")
    require_between("seconds", seconds, LEAST, MOST, "seconds")
    rate = _newest(rates, "serverless-compute", endpoint)
    if isinstance(rate, Refusal):
        return rate
    section, total = f"Serverless, {endpoint}", memory_gb * seconds * rate.value
    return PerUse(
        total,
        (
            Term(section, "memory", memory_gb, "GB", "given"),
            Term(section, "billed time", seconds, "s/request", "given"),
            Term(section, "price", rate.value, rate.unit, _source(rate)),
            Term(section, "per request", total, "USD", "memory x time x price"),
        ),
    )


def _newest(rates: Sequence[UserRate], option: str, subject: str) -> UserRate | Refusal:
    given = matching(rates, option, subject)
    return max(given, key=lambda rate: rate.as_of) if given else unknown_price(option, subject)


def _source(rate: UserRate) -> str:
    return f"{rate.provenance.source}, as of {rate.as_of.isoformat()}"
