"""The registry of ways to pay AWS for an instance: what each covers and what it binds you to.

Facts about the rules, in our own words, each with the AWS page it was read on. What a kind costs
is not here: `purchase` finds it in the catalogue or among the user's rates. Reserved Instances are
left out: AWS itself points new buyers to Savings Plans.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PurchaseKind:
    """One way to pay. `price` names the price it is charged at (a key of `RATE_KINDS`).

    all_month: paid in all 730 hours. several: each of the user's rates is an option of its own
    (terms and payments of a plan). families: only these can be bought so; empty means all.
    """

    name: str
    title: str
    service: str
    price: str
    covers: str
    binds: str
    source: str
    all_month: bool = False
    interruptible: bool = False
    several: bool = False
    families: tuple[str, ...] = ()


_READ = "read 2026-11-30"
_PLANS = f"Savings Plans User Guide and Savings Plans FAQs, {_READ}"
PURCHASE_KINDS: Mapping[str, PurchaseKind] = {
    kind.name: kind
    for kind in (
        PurchaseKind(
            "on-demand",
            "EC2 On-Demand",
            "ec2",
            "on-demand",
            covers="One instance-hour of this type, by the second.",
            binds="Nothing. Nothing is reserved either: a launch can fail for want of capacity.",
            source=f"EC2 User Guide, On-Demand Capacity Reservations, {_READ}",
        ),
        PurchaseKind(
            "spot",
            "EC2 Spot",
            "ec2",
            "spot",
            covers="Spare capacity of this type, at a price that moves with demand.",
            binds="Nothing; AWS may take each instance back with two minutes' notice.",
            source=f"EC2 User Guide, Spot Instance interruptions, {_READ}",
            interruptible=True,
        ),
        PurchaseKind(
            "ec2-instance-savings-plan",
            "EC2 Instance Savings Plan",
            "ec2",
            "ec2-instance-savings-plan",
            covers="EC2 of this family in this region; any size, operating system and tenancy.",
            binds="The commitment is paid in every hour of 1 or 3 years; what is unused is lost.",
            source=_PLANS,
            all_month=True,
            several=True,
        ),
        PurchaseKind(
            "compute-savings-plan",
            "Compute Savings Plan",
            "ec2",
            "compute-savings-plan",
            covers="EC2 of any family, size and region, Fargate and Lambda; not SageMaker.",
            binds="The commitment is paid in every hour of 1 or 3 years; what is unused is lost.",
            source=_PLANS,
            all_month=True,
            several=True,
        ),
        PurchaseKind(
            "capacity-reservation",
            "On-Demand Capacity Reservation",
            "ec2",
            "on-demand",
            covers="Capacity of this type in one zone, held for you; no discount of its own.",
            binds=(
                "The on-demand price is paid while it stands, used or not; it may be ended at any "
                "time. Savings Plans apply to it."
            ),
            source=f"EC2 User Guide, Capacity Reservation pricing and billing, {_READ}",
            all_month=True,
        ),
        PurchaseKind(
            "capacity-block",
            "Capacity Block for ML",
            "ec2",
            "capacity-block",
            covers="Accelerators held in one zone from a future day, for 1 to 182 days.",
            binds=(
                "The price is quoted for each block and paid in advance; it ends on its day, so "
                "it suits a campaign, not a service that stays."
            ),
            source=(
                f"EC2 User Guide, Capacity Blocks for ML; AWS PCS User Guide for P6; both {_READ}"
            ),
            families=("p4d", "p5", "p5e", "p5en", "p6-b200", "p6-b300", "trn1", "trn2"),
        ),
        PurchaseKind(
            "sagemaker",
            "SageMaker hosting",
            "sagemaker",
            "sagemaker",
            covers="One ml.* instance-hour of an endpoint, run by SageMaker. It has no Spot.",
            binds="Nothing.",
            source="SageMaker's service model (botocore 1.44.8): a variant has no Spot setting",
        ),
        PurchaseKind(
            "sagemaker-savings-plan",
            "SageMaker Savings Plan",
            "sagemaker",
            "sagemaker-savings-plan",
            covers="SageMaker's ml.* usage of any family, size and region; nothing of EC2.",
            binds="The commitment is paid in every hour of 1 or 3 years; what is unused is lost.",
            source=_PLANS,
            all_month=True,
            several=True,
        ),
    )
}
