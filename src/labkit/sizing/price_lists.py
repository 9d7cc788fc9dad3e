"""The same machine on two price lists: EC2 and SageMaker hosting (ml.*).

SageMaker's hourly price includes what running the endpoint costs AWS; the premium differs by
family and size, so it is read from the two dated lists and never assumed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from labkit.catalog.specs import Instance, Price
from labkit.sizing.refusal import Refusal, RefusalCode
from labkit.sizing.terms import Term
from labkit.sizing.user_rates import UserRate, matching, unknown_price


@dataclass(frozen=True, slots=True)
class PricePair:
    """Both prices of one instance type in one region, each with its own date."""

    instance: str
    region: str
    ec2: Price
    sagemaker: Price

    @property
    def premium(self) -> float:
        """SageMaker / EC2 - 1: 0.4 is 40 % more."""
        return self.sagemaker.usd_per_hour / self.ec2.usd_per_hour - 1

    @property
    def usd_per_hour_more(self) -> float:
        """The premium in USD per instance-hour."""
        return self.sagemaker.usd_per_hour - self.ec2.usd_per_hour

    def terms(self) -> tuple[Term, ...]:
        """Both prices with their dates, and the premium."""
        section = "EC2 and SageMaker"
        return (
            Term(section, self.instance, self.ec2.usd_per_hour, "USD/h", dated(self.ec2)),
            Term(
                section,
                f"ml.{self.instance}",
                self.sagemaker.usd_per_hour,
                "USD/h",
                dated(self.sagemaker),
            ),
            Term(section, "premium", self.premium, "1", "SageMaker / EC2 - 1"),
        )


def price_pair(
    instance: Instance, region: str, rates: Sequence[UserRate] = ()
) -> PricePair | Refusal:
    """Both list prices, or why there is no pair: NOT_OFFERED or UNKNOWN_PRICE."""
    if not instance.sagemaker_hosting:
        return not_hosted(instance)
    found = []
    for kind in ("on-demand", "sagemaker"):
        price = list_price(instance, kind, region, rates)
        if isinstance(price, Refusal):
            return price
        found.append(price)
    return PricePair(instance.name, region, *found)


def list_price(
    instance: Instance, kind: str, region: str, rates: Sequence[UserRate] = ()
) -> Price | Refusal:
    """The user's rate where there is one, else the catalogue's price, else UNKNOWN_PRICE.

    Of several rates the newest is taken.
    """
    given = matching(rates, kind, instance.name, region)
    if given:
        return max(given, key=lambda rate: rate.as_of).as_price()
    price = instance.price(kind, region)
    return price if price is not None else unknown_price(kind, instance.name, region)


def not_hosted(instance: Instance) -> Refusal:
    """NOT_OFFERED: SageMaker hosting has no such type."""
    return Refusal(RefusalCode.NOT_OFFERED, f"SageMaker hosting does not offer ml.{instance.name}.")


def dated(price: Price) -> str:
    """The source of a price with its day, and a word where the source itself has none."""
    day = price.provenance.as_of.isoformat()
    when = f"as of {day}" if price.provenance.dated else f"undated, read {day}"
    return f"{price.provenance.source}, {when}"
