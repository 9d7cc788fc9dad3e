"""What served tokens and requests cost at the load a fleet really has: idle hours are paid too.

    USD per request = USD paid in the month / requests served in the month

and the same over tokens. At full load this is the price list's best case (`cost`); at 30 % load
every figure is 3.3 times that. How a bill is divided between input and output tokens is a
convention, so the rule is stated: one output token is charged as `output_weight` input tokens.
A weight of 1 is the blended price; `output_weight_by_time` gives the weight that follows the
seconds the two phases take.
"""

from __future__ import annotations

from dataclasses import dataclass

from labkit.catalog.specs import Provenance
from labkit.sizing.bands import Band
from labkit.sizing.checks import SizingError
from labkit.sizing.money import (
    HOURS_PER_MONTH,
    LEAST,
    MILLION,
    MOST,
    SECONDS_PER_HOUR,
    flat,
    plain,
    require_between,
    require_hours,
    require_usd,
)
from labkit.sizing.terms import Term, band_term

_SECTION = "Cost"


def utilisation(load: float, capacity: float) -> float:
    """Load / capacity, both in the same unit (requests/s or tokens/s); in (0, 1].

    Raises `SizingError` for a load above the capacity: such a fleet serves less than is asked.
    """
    require_between("load", load, LEAST, MOST, "per second")
    require_between("capacity", capacity, LEAST, MOST, "per second")
    if load > capacity:
        raise SizingError(
            f"A load of {plain(load)} per second is above the fleet's capacity of "
            f"{plain(capacity)}: add replicas."
        )
    return load / capacity


def split_usd(
    amount: float, input_tokens: float, output_tokens: float, output_weight: float = 1.0
) -> tuple[float, float]:
    """USD per input token and per output token that together make `amount`.

    price_in = amount / (input + weight x output), price_out = weight x price_in. Weight 1 charges
    all tokens alike. Raises `SizingError` for counts or weights that are not above zero.
    """
    require_between("input_tokens", input_tokens, LEAST, MOST, "tokens")
    require_between("output_tokens", output_tokens, LEAST, MOST, "tokens")
    require_between("output_weight", output_weight, LEAST, MOST, "input tokens per output token")
    price_in = amount / (input_tokens + output_weight * output_tokens)
    return price_in, output_weight * price_in


def output_weight_by_time(
    prefill_seconds: float, decode_seconds: float, input_tokens: float, output_tokens: float
) -> float:
    """The weight that divides the cost as the time is divided.

    (decode seconds / output tokens) / (prefill seconds / input tokens), for one request or for
    any period. Both times are the machine's, so a decode step shared by a batch counts once.
    """
    for name, value in (("prefill_seconds", prefill_seconds), ("decode_seconds", decode_seconds)):
        require_between(name, value, LEAST, MOST, "seconds")
    for name, value in (("input_tokens", input_tokens), ("output_tokens", output_tokens)):
        require_between(name, value, LEAST, MOST, "tokens")
    return (decode_seconds / output_tokens) / (prefill_seconds / input_tokens)


@dataclass(frozen=True, slots=True)
class FleetLoad:
    """What a fleet serves against what it could serve.

    `requests_per_s` is the mean over the `busy_hours` of a month in which traffic comes;
    `capacity_requests_per_s` is the whole fleet's, under its SLO. Tokens are means per request.
    """

    requests_per_s: float
    capacity_requests_per_s: float
    prompt_tokens: float
    output_tokens: float
    busy_hours: float = HOURS_PER_MONTH

    def __post_init__(self) -> None:
        utilisation(self.requests_per_s, self.capacity_requests_per_s)
        require_between("prompt_tokens", self.prompt_tokens, LEAST, MOST, "tokens")
        require_between("output_tokens", self.output_tokens, LEAST, MOST, "tokens")
        require_hours("busy_hours", self.busy_hours)

    @property
    def requests_per_month(self) -> float:
        """Requests served in the busy hours of a month."""
        return self.requests_per_s * SECONDS_PER_HOUR * self.busy_hours

    def utilisation(self, paid_hours: float = HOURS_PER_MONTH) -> float:
        """Requests served / requests the fleet could serve in the hours that are paid."""
        return self.requests_per_s * self.busy_hours / (self.capacity_requests_per_s * paid_hours)


@dataclass(frozen=True, slots=True)
class CostReport:
    """What a fleet's load costs. Bands carry the price's range (Spot); a month is 730 h.

    usd_per_million_output_tokens: the whole bill over the output tokens alone, as `estimate`
    prints it. usd_per_million_tokens: over input + output, all alike (blended).
    usd_per_million_input_share and _output_share: the two prices of the `output_weight` rule,
    which together make the same bill. usd_idle_per_month: the part of the bill that paid for
    capacity nobody used.
    """

    usd_per_hour: Band
    paid_hours: float
    usd_per_month: Band
    utilisation: float
    load: FleetLoad
    usd_per_request: Band
    usd_per_million_output_tokens: Band
    usd_per_million_tokens: Band
    output_weight: float
    usd_per_million_input_share: Band
    usd_per_million_output_share: Band
    usd_idle_per_month: Band
    price_source: str

    def terms(self) -> tuple[Term, ...]:
        """The arithmetic, line by line, each with its unit and where it comes from."""
        load, weight = self.load, plain(self.output_weight)
        month = "USD per month / "
        return (
            band_term(_SECTION, "fleet price", self.usd_per_hour, "USD/h", self.price_source),
            Term(_SECTION, "paid hours", self.paid_hours, "h/month", "given; a month is 730 h"),
            band_term(
                _SECTION, "fleet price per month", self.usd_per_month, "USD/month",
                "fleet price x paid hours",
            ),
            Term(_SECTION, "load", load.requests_per_s, "requests/s", "given, mean of busy hours"),
            Term(_SECTION, "busy hours", load.busy_hours, "h/month", "given"),
            Term(
                _SECTION, "capacity", load.capacity_requests_per_s, "requests/s",
                "given, of the whole fleet",
            ),
            Term(
                _SECTION, "utilisation", self.utilisation, "1",
                "load x busy hours / (capacity x paid hours)",
            ),
            band_term(
                _SECTION, "idle capacity", self.usd_idle_per_month, "USD/month",
                "fleet price per month x (1 - utilisation)",
            ),
            Term(
                _SECTION, "requests", load.requests_per_month, "requests/month",
                "load x 3,600 x busy hours",
            ),
            band_term(
                _SECTION, "per request", self.usd_per_request, "USD", month + "requests"
            ),
            band_term(
                _SECTION, "per 1M output tokens", self.usd_per_million_output_tokens, "USD",
                month + "output tokens alone",
            ),
            band_term(
                _SECTION, "per 1M tokens", self.usd_per_million_tokens, "USD",
                month + "(input + output tokens), all alike",
            ),
            band_term(
                _SECTION, "per 1M input tokens, shared", self.usd_per_million_input_share, "USD",
                f"{month}(input + {weight} x output tokens)",
            ),
            band_term(
                _SECTION, "per 1M output tokens, shared", self.usd_per_million_output_share,
                "USD", f"{weight} x the input price",
            ),
        )  # fmt: skip


def cost_report(
    usd_per_hour: Band | float,
    load: FleetLoad,
    *,
    paid_hours: float = HOURS_PER_MONTH,
    output_weight: float = 1.0,
    price: Provenance | None = None,
) -> CostReport:
    """The cost of `load` on a fleet that costs `usd_per_hour` (all replicas, spares included).

    `paid_hours` are those of the month in which the fleet is paid for: 730 for a commitment or a
    fleet that never sleeps. `price` says where the price comes from. Raises `SizingError` where
    traffic comes in hours that are not paid, and for prices or hours out of range.
    """
    band = usd_per_hour if isinstance(usd_per_hour, Band) else flat(usd_per_hour)
    for value in (band.low, band.mid, band.high):
        require_usd("usd_per_hour", value)
    require_hours("paid_hours", paid_hours)
    if load.busy_hours > paid_hours:
        raise SizingError(
            f"Traffic comes in {plain(load.busy_hours)} hours a month, and the fleet is paid for "
            f"{plain(paid_hours)} only: no replica would be there."
        )
    month = band.times(paid_hours)
    used = load.utilisation(paid_hours)
    requests = load.requests_per_month
    # Every request has the same proportion, so one request's split is the month's.
    each = month.times(1 / requests)
    share_in, share_out = split_usd(1.0, load.prompt_tokens, load.output_tokens, output_weight)
    return CostReport(
        usd_per_hour=band,
        paid_hours=paid_hours,
        usd_per_month=month,
        utilisation=used,
        load=load,
        usd_per_request=each,
        usd_per_million_output_tokens=each.times(MILLION / load.output_tokens),
        usd_per_million_tokens=each.times(MILLION / (load.prompt_tokens + load.output_tokens)),
        output_weight=output_weight,
        usd_per_million_input_share=each.times(share_in * MILLION),
        usd_per_million_output_share=each.times(share_out * MILLION),
        usd_idle_per_month=month.times(max(0.0, 1 - used)),
        price_source=f"{price.source}, as of {price.as_of.isoformat()}" if price else "given",
    )
