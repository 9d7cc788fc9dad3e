"""Which AWS quota a fleet counts against, and how much of it to ask for.

EC2 counts running vCPUs per account, region and group of families; Spot has quotas of its own. A
SageMaker endpoint counts instances of each ml.* type by itself. A new account's quota for
accelerated instances may be zero, so it is a thing to ask for before anything is launched.

Sources: "Amazon EC2 instance type quotas" and "Spot Instance quotas", EC2 User Guide, and
"Amazon SageMaker AI endpoints and quotas", AWS General Reference, all read 2026-11-30; the codes
are those that Service Quotas lists.
"""

from __future__ import annotations

from dataclasses import dataclass

from labkit.catalog.specs import Instance
from labkit.sizing.checks import SizingError, require_count

SOURCE = "EC2 User Guide, instance type quotas and Spot Instance quotas, read 2026-11-30"
SAGEMAKER_SOURCE = "AWS General Reference, SageMaker AI endpoints and quotas, read 2026-11-30"


_LETTERS = "abcdefghijklmnopqrstuvwxyz"


@dataclass(frozen=True, slots=True)
class Quota:
    """A quota by name and code ("" where each type has its own), and the amount a fleet needs.

    `unit` is what the quota counts: "vCPUs" or "instances".
    """

    service: str
    name: str
    code: str
    unit: str
    needed: int
    source: str
    note: str = ""

    @property
    def request(self) -> str:
        """What to ask for, in one line."""
        code = f" ({self.code})" if self.code else ""
        return f"{self.name}{code}: {self.needed:,} {self.unit}"


@dataclass(frozen=True, slots=True)
class _Group:
    """One group of families with a quota of its own, and its codes on demand and on Spot."""

    on_demand: str
    on_demand_code: str
    spot: str
    spot_code: str
    note: str = ""


_STANDARD = _Group(
    "Running On-Demand Standard (A, C, D, H, I, M, R, T, Z) instances",
    "L-1216C47A",
    "All Standard (A, C, D, H, I, M, R, T, Z) Spot Instance Requests",
    "L-34B43A08",
)
_GROUPS = {
    "g": _Group(
        "Running On-Demand G and VT instances",
        "L-DB2E81BA",
        "All G and VT Spot Instance Requests",
        "L-3819A6DF",
    ),
    "p": _Group(
        "Running On-Demand P instances",
        "L-417A185B",
        "All P Spot Instance Requests",
        "L-7212CCBC",
        note="Some accounts list a Spot quota of its own for P5 (L-C4BD4855).",
    ),
    "inf": _Group(
        "Running On-Demand Inf instances",
        "L-1945791B",
        "All Inf Spot Instance Requests",
        "L-B5D1601B",
    ),
    "trn": _Group(
        "Running On-Demand Trn instances",
        "L-2C3B7624",
        "All Trn Spot Instance Requests",
        "L-6B0D517C",
    ),
    **dict.fromkeys("acdhimrtz", _STANDARD),
}


def quota_for(instance: Instance, count: int, price_kind: str = "on-demand") -> Quota:
    """The quota that `count` running instances use up, paid as "on-demand", "spot" or "sagemaker".

    Graphics variants of standard families (gr6) count as G. Raises `SizingError` for a family
    whose quota is not known here.
    """
    require_count("count", count)
    if price_kind == "sagemaker":
        return Quota(
            "SageMaker",
            f"ml.{instance.name} for endpoint usage",
            "",
            "instances",
            count,
            SAGEMAKER_SOURCE,
        )
    letters = instance.family[: len(instance.family) - len(instance.family.lstrip(_LETTERS))]
    group = _GROUPS.get("g" if letters == "gr" else letters)
    if group is None:
        raise SizingError(f"The EC2 quota of the family {instance.family} is not known here.")
    spot = price_kind == "spot"
    return Quota(
        "EC2",
        group.spot if spot else group.on_demand,
        group.spot_code if spot else group.on_demand_code,
        "vCPUs",
        count * instance.vcpus,
        SOURCE,
        group.note if spot else "",
    )
