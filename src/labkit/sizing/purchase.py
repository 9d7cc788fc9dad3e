"""Every way to pay for a fleet of one instance type: what it costs, covers and binds you to.

The kinds of purchase are data (`purchase_kinds`). Prices come from the instance's catalogue row or
from the user (`user_rates`); a kind whose price nobody knows stays in the list with its refusal,
so that a reader sees what could be asked for. Prices are for Linux on shared tenancy.

Hours: most kinds are paid while the fleet is on. A commitment and a standing reservation are paid
in all 730 hours of the month, however few of them the fleet is on.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from labkit.catalog.interruptions import InterruptionBand
from labkit.catalog.specs import Instance, Price
from labkit.sizing.bands import Band
from labkit.sizing.checks import SizingError, require_count
from labkit.sizing.money import HOURS_PER_MONTH, price_band, require_between, require_hours
from labkit.sizing.price_lists import dated, list_price, not_hosted
from labkit.sizing.pricing import CostReport, FleetLoad, cost_report
from labkit.sizing.purchase_kinds import PURCHASE_KINDS, PurchaseKind
from labkit.sizing.refusal import Refusal, RefusalCode
from labkit.sizing.spot_price import MOST_REPLICAS, HeadRoom, SpotPolicy, head_room
from labkit.sizing.terms import Term, band_term
from labkit.sizing.user_rates import RATE_KINDS, UserRate, matching, unknown_price


@dataclass(frozen=True, slots=True)
class PurchaseOption:
    """One way to pay for this fleet, priced or refused.

    `fleet_size` replicas must serve for `hours` a month; `instances` are paid for (Spot adds
    spares), in `paid_hours`. `price` is per instance-hour and None where it is refused. On Spot
    the policy's on-demand base is charged at `base_price`.
    """

    kind: PurchaseKind
    instance: str
    region: str
    fleet_size: int
    hours: float
    instances: int
    price: Price | None
    refusal: Refusal | None = None
    label: str = ""
    head_room: HeadRoom | None = None
    base_price: Price | None = None
    interruption: InterruptionBand | None = None

    @property
    def paid_hours(self) -> float:
        """Hours of the month that are paid: all 730 under a commitment."""
        return HOURS_PER_MONTH if self.kind.all_month else self.hours

    @property
    def usd_per_instance_hour(self) -> Band | None:
        """USD per instance-hour, with the range where the price has one (Spot)."""
        return price_band(self.price) if self.price else None

    @property
    def usd_per_hour(self) -> Band | None:
        """USD for the whole fleet in an hour that is paid."""
        each = self.usd_per_instance_hour
        if each is None:
            return None
        base = self.head_room.base if self.head_room and self.base_price else 0
        fixed = base * self.base_price.usd_per_hour if self.base_price else 0.0
        some = self.instances - base
        return Band(
            fixed + some * each.low, fixed + some * each.mid, fixed + some * each.high, each.kind
        )

    @property
    def usd_per_month(self) -> Band | None:
        """USD for the whole fleet in a month."""
        hourly = self.usd_per_hour
        return hourly.times(self.paid_hours) if hourly else None

    def cost(self, load: FleetLoad, *, output_weight: float = 1.0) -> CostReport | Refusal:
        """What `load` costs when it is paid for this way: per request, per token, per month.

        Idle hours of a commitment count. A refused option returns its refusal. Raises as
        `cost_report` where traffic comes in hours that are not paid.
        """
        hourly = self.usd_per_hour
        if hourly is None or self.price is None or self.refusal is not None:
            return self.refusal or unknown_price(self.kind.price, self.instance, self.region)
        return cost_report(
            hourly,
            load,
            paid_hours=self.paid_hours,
            output_weight=output_weight,
            price=self.price.provenance,
        )

    def age(self, on: date) -> str:
        """The price's age for people ("67 d"), "unknown" where there is no price.

        Raises `SizingError` for a price of the future.
        """
        if self.price is None:
            return "unknown"
        if self.price.provenance.as_of > on:
            raise SizingError(
                f"The {self.kind.title} price of {self.instance} is dated "
                f"{self.price.provenance.as_of.isoformat()}, after {on.isoformat()}."
            )
        return self.price.age(on)

    def terms(self) -> tuple[Term, ...]:
        """The arithmetic of the month's bill, spares included."""
        section, each, hourly = self.kind.title, self.usd_per_instance_hour, self.usd_per_hour
        month = self.usd_per_month
        if self.price is None or each is None or hourly is None or month is None:
            why = self.refusal.detail if self.refusal else ""
            return (Term(section, "price", None, "USD/h", why),)
        spares = self.head_room.terms() if self.head_room else ()
        if self.interruption:
            spares = (_band_term(section, self.interruption), *spares)
        # A replica that the policy keeps on demand is charged at its own price.
        base = (
            (
                Term(
                    section,
                    "base price",
                    self.base_price.usd_per_hour,
                    "USD/h",
                    dated(self.base_price),
                ),
            )
            if self.base_price
            else ()
        )
        paid = "all hours of a month" if self.kind.all_month else "hours the fleet is on"
        return (
            band_term(section, "price", each, "USD/h", dated(self.price)),
            *base,
            *spares,
            Term(section, "instances", self.instances, "instances", "replicas and spares"),
            Term(section, "paid hours", self.paid_hours, "h/month", paid),
            band_term(section, "fleet", hourly, "USD/h", "price x instances"),
            band_term(section, "fleet per month", month, "USD/month", "fleet x paid hours"),
        )

    def as_dict(self, on: date) -> dict[str, Any]:
        """Plain JSON types, the price's age on the day `on` included."""
        hourly, month = self.usd_per_hour, self.usd_per_month
        each, facts = self.usd_per_instance_hour, self.price.provenance if self.price else None
        return {
            "option": self.kind.name,
            "title": self.kind.title,
            "label": self.label,
            "instances": self.instances,
            "usd_per_instance_hour": each.as_dict() if each else None,
            "usd_per_hour": hourly.as_dict() if hourly else None,
            "usd_per_month": month.as_dict() if month else None,
            "paid_hours": self.paid_hours,
            "covers": self.kind.covers,
            "binds": self.kind.binds,
            "rule_source": self.kind.source,
            "price_source": facts.source if facts else None,
            "price_as_of": facts.as_of.isoformat() if facts else None,
            "price_age": self.age(on),
            "price_expired": facts.stale(on) if facts else None,
            "price_confidence": str(facts.confidence) if facts else None,
            "interruptions_per_month": self.interruption.words if self.interruption else None,
            "refusal": (
                {"code": str(self.refusal.code), "detail": self.refusal.detail}
                if self.refusal
                else None
            ),
        }


def purchase_options(
    instance: Instance,
    fleet_size: int,
    hours: float,
    region: str,
    rates: Sequence[UserRate] = (),
    *,
    interruption: InterruptionBand | None = None,
    spot: SpotPolicy | None = None,
) -> tuple[PurchaseOption, ...]:
    """Every way to pay for `fleet_size` replicas that are on for `hours` of a month of 730 h.

    The order is that of `PURCHASE_KINDS`. `rates` are the user's; one stands before the
    catalogue's price, and each rate of a plan is an option of its own. `interruption` is the
    published band of this type (`catalog.interruptions`), `spot` how Spot shall hold the fleet.
    Raises `SizingError` for sizes and hours out of range.
    """
    require_between("fleet_size", fleet_size, 1, MOST_REPLICAS, "replicas")
    require_count("fleet_size", fleet_size)
    require_hours("hours", hours)
    if interruption is not None and interruption.instance != instance.name:
        raise SizingError(
            f"The interruption band is of {interruption.instance}, not of {instance.name}."
        )
    room = head_room(
        fleet_size, interruption.cautious_share if interruption else None, spot or SpotPolicy()
    )
    return tuple(
        option
        for kind in PURCHASE_KINDS.values()
        for option in _of_kind(kind, instance, fleet_size, hours, region, rates, room, interruption)
    )


def _of_kind(
    kind: PurchaseKind,
    instance: Instance,
    fleet_size: int,
    hours: float,
    region: str,
    rates: Sequence[UserRate],
    room: HeadRoom,
    interruption: InterruptionBand | None,
) -> Iterator[PurchaseOption]:
    for label, price in _prices(kind, instance, region, rates):
        refusal = price if isinstance(price, Refusal) else None
        on_spot = kind.interruptible
        base = None
        if on_spot and room.base and refusal is None:
            found = list_price(instance, "on-demand", region, rates)
            if isinstance(found, Refusal):
                refusal = found
            else:
                base = found
        yield PurchaseOption(
            kind=kind,
            instance=instance.name,
            region=region,
            fleet_size=fleet_size,
            hours=hours,
            instances=room.replicas if on_spot else fleet_size,
            price=None if refusal or isinstance(price, Refusal) else price,
            refusal=refusal,
            label=label,
            head_room=room if on_spot else None,
            base_price=base,
            interruption=interruption if on_spot else None,
        )


def _prices(
    kind: PurchaseKind, instance: Instance, region: str, rates: Sequence[UserRate]
) -> list[tuple[str, Price | Refusal]]:
    """The labelled prices of one kind: one, or as many as the user's rates of a plan."""
    if kind.families and instance.family not in kind.families:
        sold = ", ".join(kind.families)
        return [
            (
                "",
                Refusal(
                    RefusalCode.NOT_OFFERED,
                    f"A {kind.title} is sold for {sold} only, not for {instance.family}.",
                ),
            )
        ]
    if kind.service == "sagemaker" and not instance.sagemaker_hosting:
        return [("", not_hosted(instance))]
    given = matching(rates, kind.price, instance.name, region)
    if given and kind.several:
        return [(rate.label, rate.as_price()) for rate in given]
    return [("", list_price(instance, kind.price, region, rates))]


def _band_term(section: str, band: InterruptionBand) -> Term:
    end = "its upper end" if band.high is not None else "open above, so at least"
    source = f"{band.provenance.source}, {band.words} in {band.provenance.as_of.isoformat()}; {end}"
    return Term(section, "interrupted in a month", band.cautious_share, "1", source)


def unused_rates(rates: Sequence[UserRate], instances: Sequence[str]) -> tuple[UserRate, ...]:
    """Hourly rates that price none of these instance types: worth a warning, never silence."""
    known = set(instances)
    return tuple(
        rate for rate in rates if RATE_KINDS[rate.option].regional and rate.subject not in known
    )
