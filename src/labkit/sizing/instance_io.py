"""What an instance type can read per second: EBS, network and local drives.

Rows of AWS's DescribeInstanceTypes as dumped in moto 5.2.5 (2026-10-27). An instance bursts from
the baseline to the most for at least 30 minutes a day; where both are equal it sustains it. Network
rates are of one network card: large types have several, and a download to one process fills one.
They are service limits: they expire (`PROVENANCE`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from types import MappingProxyType

from labkit.catalog.specs import Confidence, Provenance

MEGABYTE = 1e6
GIGABIT = 1e9 / 8

PROVENANCE = Provenance(
    source="AWS DescribeInstanceTypes (EbsOptimizedInfo, NetworkCards, InstanceStorageInfo) as "
    "dumped in moto 5.2.5",
    as_of=date(2026, 10, 27),
    expires=date(2027, 4, 25),
    confidence=Confidence.HIGH,
)


@dataclass(frozen=True, slots=True)
class InstanceIO:
    """Bytes per second, baseline and most; `drives` local NVMe drives."""

    ebs_baseline: float
    ebs_most: float
    network_baseline: float
    network_most: float
    drives: int


def instance_io(name: str) -> InstanceIO | None:
    """The limits of an instance type, None where the dump has no row of it."""
    row = _ROWS.get(name)
    if row is None:
        return None
    ebs_baseline, ebs_most, network_baseline, network_most, drives = row
    return InstanceIO(
        ebs_baseline * MEGABYTE,
        ebs_most * MEGABYTE,
        network_baseline * GIGABIT,
        max(network_baseline, network_most) * GIGABIT,
        int(drives),
    )


# type: (EBS baseline, EBS most in MB/s, network baseline, most in Gbit/s, local drives)
_TABLE: dict[str, tuple[float, float, float, float, int]] = {
    "g4dn.xlarge": (118.75, 437.5, 5, 25, 1),
    "g4dn.2xlarge": (143.75, 437.5, 10, 25, 1),
    "g4dn.4xlarge": (593.75, 593.75, 20, 25, 1),
    "g4dn.8xlarge": (1187.5, 1187.5, 50, 50, 1),
    "g4dn.12xlarge": (1187.5, 1187.5, 50, 50, 1),
    "g4dn.16xlarge": (1187.5, 1187.5, 50, 50, 1),
    "g4dn.metal": (2375, 2375, 100, 100, 2),
    "g5.xlarge": (87.5, 437.5, 2.5, 10, 1),
    "g5.2xlarge": (106.25, 437.5, 5, 10, 1),
    "g5.4xlarge": (593.75, 593.75, 10, 25, 1),
    "g5.8xlarge": (2000, 2000, 25, 25, 1),
    "g5.12xlarge": (2000, 2000, 40, 40, 1),
    "g5.16xlarge": (2000, 2000, 25, 25, 1),
    "g5.24xlarge": (2375, 2375, 50, 50, 1),
    "g5.48xlarge": (2375, 2375, 100, 100, 2),
    "g6.xlarge": (125, 625, 2.5, 10, 1),
    "g6.2xlarge": (250, 625, 5, 10, 1),
    "g6.4xlarge": (1000, 1000, 10, 25, 1),
    "g6.8xlarge": (2000, 2000, 25, 25, 2),
    "g6.12xlarge": (2500, 2500, 40, 40, 4),
    "g6.16xlarge": (2500, 2500, 25, 25, 2),
    "g6.24xlarge": (3750, 3750, 50, 50, 4),
    "g6.48xlarge": (7500, 7500, 100, 100, 8),
    "g6e.xlarge": (125, 625, 2.5, 20, 1),
    "g6e.2xlarge": (250, 625, 5, 20, 1),
    "g6e.4xlarge": (1000, 1000, 20, 20, 1),
    "g6e.8xlarge": (2000, 2000, 25, 25, 2),
    "g6e.12xlarge": (2500, 2500, 100, 100, 2),
    "g6e.16xlarge": (2500, 2500, 35, 35, 2),
    "g6e.24xlarge": (3750, 3750, 200, 200, 2),
    "g6e.48xlarge": (7500, 7500, 400, 400, 4),
    "g6f.large": (117, 625, 1.5, 10, 1),
    "g6f.xlarge": (125, 625, 2.5, 10, 1),
    "g6f.2xlarge": (250, 625, 5, 10, 1),
    "g6f.4xlarge": (750, 750, 10, 25, 1),
    "gr6.4xlarge": (1000, 1000, 10, 25, 1),
    "gr6.8xlarge": (2000, 2000, 25, 25, 2),
    "gr6f.4xlarge": (1000, 1000, 10, 25, 1),
    "g7.2xlarge": (500, 1000, 40, 60, 1),
    "g7.4xlarge": (1000, 1000, 80, 100, 1),
    "g7.8xlarge": (2000, 2000, 100, 100, 1),
    "g7.12xlarge": (2500, 2500, 175, 175, 1),
    "g7.24xlarge": (5000, 5000, 350, 350, 1),
    "g7.48xlarge": (10000, 10000, 350, 350, 2),
    "g7e.2xlarge": (250, 625, 50, 50, 1),
    "g7e.4xlarge": (1000, 1000, 50, 50, 1),
    "g7e.8xlarge": (2000, 2000, 100, 100, 1),
    "g7e.12xlarge": (3125, 3125, 400, 400, 1),
    "g7e.24xlarge": (6250, 6250, 400, 400, 2),
    "g7e.48xlarge": (12500, 12500, 400, 400, 4),
    "p4d.24xlarge": (2375, 2375, 100, 100, 8),
    "p4de.24xlarge": (2375, 2375, 100, 100, 8),
    "p5.4xlarge": (1250, 1250, 100, 100, 1),
    "p5.48xlarge": (10000, 10000, 100, 100, 8),
    "p5e.48xlarge": (10000, 10000, 100, 100, 8),
    "p5en.48xlarge": (12500, 12500, 200, 200, 8),
    "p6-b200.48xlarge": (12500, 12500, 200, 200, 8),
    "p6-b300.48xlarge": (12500, 12500, 350, 350, 8),
    "inf1.xlarge": (148.75, 593.75, 5, 25, 0),
    "inf1.2xlarge": (148.75, 593.75, 5, 25, 0),
    "inf1.6xlarge": (593.75, 593.75, 25, 25, 0),
    "inf1.24xlarge": (2375, 2375, 100, 100, 0),
    "inf2.xlarge": (156.25, 1250, 2.083, 15, 0),
    "inf2.8xlarge": (1250, 1250, 16.667, 25, 0),
    "inf2.24xlarge": (3750, 3750, 50, 50, 0),
    "inf2.48xlarge": (7500, 7500, 100, 100, 0),
    "trn1.2xlarge": (625, 2500, 3.125, 12.5, 1),
    "trn1.32xlarge": (10000, 10000, 100, 100, 4),
    "trn1n.32xlarge": (10000, 10000, 100, 100, 4),
    "trn2.3xlarge": (625, 625, 50, 50, 1),
    "trn2.48xlarge": (10000, 10000, 200, 200, 4),
    "c6i.large": (81.25, 1250, 0.781, 12.5, 0),
    "c6i.xlarge": (156.25, 1250, 1.562, 12.5, 0),
    "c6i.2xlarge": (312.5, 1250, 3.125, 12.5, 0),
    "c6i.4xlarge": (625, 1250, 6.25, 12.5, 0),
    "c6i.8xlarge": (1250, 1250, 12.5, 12.5, 0),
    "c6i.12xlarge": (1875, 1875, 18.75, 18.75, 0),
    "c6i.16xlarge": (2500, 2500, 25, 25, 0),
    "c6i.24xlarge": (3750, 3750, 37.5, 37.5, 0),
    "c6i.32xlarge": (5000, 5000, 50, 50, 0),
    "m6i.large": (81.25, 1250, 0.781, 12.5, 0),
    "m6i.xlarge": (156.25, 1250, 1.562, 12.5, 0),
    "m6i.2xlarge": (312.5, 1250, 3.125, 12.5, 0),
    "m6i.4xlarge": (625, 1250, 6.25, 12.5, 0),
    "m6i.8xlarge": (1250, 1250, 12.5, 12.5, 0),
    "m6i.12xlarge": (1875, 1875, 18.75, 18.75, 0),
    "m6i.16xlarge": (2500, 2500, 25, 25, 0),
    "m6i.24xlarge": (3750, 3750, 37.5, 37.5, 0),
    "m6i.32xlarge": (5000, 5000, 50, 50, 0),
    "r6i.large": (81.25, 1250, 0.781, 12.5, 0),
    "r6i.xlarge": (156.25, 1250, 1.562, 12.5, 0),
    "r6i.2xlarge": (312.5, 1250, 3.125, 12.5, 0),
    "r6i.4xlarge": (625, 1250, 6.25, 12.5, 0),
    "r6i.8xlarge": (1250, 1250, 12.5, 12.5, 0),
    "r6i.12xlarge": (1875, 1875, 18.75, 18.75, 0),
    "r6i.16xlarge": (2500, 2500, 25, 25, 0),
    "r6i.24xlarge": (3750, 3750, 37.5, 37.5, 0),
    "r6i.32xlarge": (5000, 5000, 50, 50, 0),
    "c7i.large": (81.25, 1250, 0.781, 12.5, 0),
    "c7i.xlarge": (156.25, 1250, 1.562, 12.5, 0),
    "c7i.2xlarge": (312.5, 1250, 3.125, 12.5, 0),
    "c7i.4xlarge": (625, 1250, 6.25, 12.5, 0),
    "c7i.8xlarge": (1250, 1250, 12.5, 12.5, 0),
    "c7i.12xlarge": (1875, 1875, 18.75, 18.75, 0),
    "c7i.16xlarge": (2500, 2500, 25, 25, 0),
    "c7i.24xlarge": (3750, 3750, 37.5, 37.5, 0),
    "c7i.48xlarge": (5000, 5000, 50, 50, 0),
    "m7i.large": (81.25, 1250, 0.781, 12.5, 0),
    "m7i.xlarge": (156.25, 1250, 1.562, 12.5, 0),
    "m7i.2xlarge": (312.5, 1250, 3.125, 12.5, 0),
    "m7i.4xlarge": (625, 1250, 6.25, 12.5, 0),
    "m7i.8xlarge": (1250, 1250, 12.5, 12.5, 0),
    "m7i.12xlarge": (1875, 1875, 18.75, 18.75, 0),
    "m7i.16xlarge": (2500, 2500, 25, 25, 0),
    "m7i.24xlarge": (3750, 3750, 37.5, 37.5, 0),
    "m7i.48xlarge": (5000, 5000, 50, 50, 0),
    "r7i.large": (81.25, 1250, 0.781, 12.5, 0),
    "r7i.xlarge": (156.25, 1250, 1.562, 12.5, 0),
    "r7i.2xlarge": (312.5, 1250, 3.125, 12.5, 0),
    "r7i.4xlarge": (625, 1250, 6.25, 12.5, 0),
    "r7i.8xlarge": (1250, 1250, 12.5, 12.5, 0),
    "r7i.12xlarge": (1875, 1875, 18.75, 18.75, 0),
    "r7i.16xlarge": (2500, 2500, 25, 25, 0),
    "r7i.24xlarge": (3750, 3750, 37.5, 37.5, 0),
    "r7i.48xlarge": (5000, 5000, 50, 50, 0),
    "r7iz.large": (99, 1250, 0.781, 12.5, 0),
    "r7iz.xlarge": (198, 1250, 1.562, 12.5, 0),
    "r7iz.2xlarge": (396, 1250, 3.125, 12.5, 0),
    "r7iz.4xlarge": (625, 1250, 6.25, 12.5, 0),
    "r7iz.8xlarge": (1250, 1250, 12.5, 12.5, 0),
    "r7iz.12xlarge": (2375, 2375, 25, 25, 0),
    "r7iz.16xlarge": (2500, 2500, 25, 25, 0),
    "r7iz.32xlarge": (5000, 5000, 50, 50, 0),
    "c7g.medium": (39.375, 1250, 0.52, 12.5, 0),
    "c7g.large": (78.75, 1250, 0.937, 12.5, 0),
    "c7g.xlarge": (156.25, 1250, 1.876, 12.5, 0),
    "c7g.2xlarge": (312.5, 1250, 3.75, 15, 0),
    "c7g.4xlarge": (625, 1250, 7.5, 15, 0),
    "c7g.8xlarge": (1250, 1250, 15, 15, 0),
    "c7g.12xlarge": (1875, 1875, 22.5, 22.5, 0),
    "c7g.16xlarge": (2500, 2500, 30, 30, 0),
    "m7g.medium": (39.375, 1250, 0.52, 12.5, 0),
    "m7g.large": (78.75, 1250, 0.937, 12.5, 0),
    "m7g.xlarge": (156.25, 1250, 1.876, 12.5, 0),
    "m7g.2xlarge": (312.5, 1250, 3.75, 15, 0),
    "m7g.4xlarge": (625, 1250, 7.5, 15, 0),
    "m7g.8xlarge": (1250, 1250, 15, 15, 0),
    "m7g.12xlarge": (1875, 1875, 22.5, 22.5, 0),
    "m7g.16xlarge": (2500, 2500, 30, 30, 0),
    "r7g.medium": (39.375, 1250, 0.52, 12.5, 0),
    "r7g.large": (78.75, 1250, 0.937, 12.5, 0),
    "r7g.xlarge": (156.25, 1250, 1.876, 12.5, 0),
    "r7g.2xlarge": (312.5, 1250, 3.75, 15, 0),
    "r7g.4xlarge": (625, 1250, 7.5, 15, 0),
    "r7g.8xlarge": (1250, 1250, 15, 15, 0),
    "r7g.12xlarge": (1875, 1875, 22.5, 22.5, 0),
    "r7g.16xlarge": (2500, 2500, 30, 30, 0),
    "c8g.medium": (39.375, 1250, 0.52, 12.5, 0),
    "c8g.large": (78.75, 1250, 0.937, 12.5, 0),
    "c8g.xlarge": (156.25, 1250, 1.875, 12.5, 0),
    "c8g.2xlarge": (312.5, 1250, 3.75, 15, 0),
    "c8g.4xlarge": (625, 1250, 7.5, 15, 0),
    "c8g.8xlarge": (1250, 1250, 15, 15, 0),
    "c8g.12xlarge": (1875, 1875, 22.5, 22.5, 0),
    "c8g.16xlarge": (2500, 2500, 30, 30, 0),
    "c8g.24xlarge": (3750, 3750, 40, 40, 0),
    "c8g.48xlarge": (5000, 5000, 50, 50, 0),
    "m8g.medium": (39.375, 1250, 0.52, 12.5, 0),
    "m8g.large": (78.75, 1250, 0.937, 12.5, 0),
    "m8g.xlarge": (156.25, 1250, 1.875, 12.5, 0),
    "m8g.2xlarge": (312.5, 1250, 3.75, 15, 0),
    "m8g.4xlarge": (625, 1250, 7.5, 15, 0),
    "m8g.8xlarge": (1250, 1250, 15, 15, 0),
    "m8g.12xlarge": (1875, 1875, 22.5, 22.5, 0),
    "m8g.16xlarge": (2500, 2500, 30, 30, 0),
    "m8g.24xlarge": (3750, 3750, 40, 40, 0),
    "m8g.48xlarge": (5000, 5000, 50, 50, 0),
    "r8g.medium": (39.375, 1250, 0.52, 12.5, 0),
    "r8g.large": (78.75, 1250, 0.937, 12.5, 0),
    "r8g.xlarge": (156.25, 1250, 1.875, 12.5, 0),
    "r8g.2xlarge": (312.5, 1250, 3.75, 15, 0),
    "r8g.4xlarge": (625, 1250, 7.5, 15, 0),
    "r8g.8xlarge": (1250, 1250, 15, 15, 0),
    "r8g.12xlarge": (1875, 1875, 22.5, 22.5, 0),
    "r8g.16xlarge": (2500, 2500, 30, 30, 0),
    "r8g.24xlarge": (3750, 3750, 40, 40, 0),
    "r8g.48xlarge": (5000, 5000, 50, 50, 0),
    "m5.large": (81.25, 593.75, 0.75, 10, 0),
    "m5.xlarge": (143.75, 593.75, 1.25, 10, 0),
    "m5.2xlarge": (287.5, 593.75, 2.5, 10, 0),
    "m5.4xlarge": (593.75, 593.75, 5, 10, 0),
    "m5.8xlarge": (850, 850, 10, 10, 0),
    "m5.12xlarge": (1187.5, 1187.5, 12, 12, 0),
    "m5.16xlarge": (1700, 1700, 20, 20, 0),
    "m5.24xlarge": (2375, 2375, 25, 25, 0),
}
_ROWS: Mapping[str, tuple[float, float, float, float, int]] = MappingProxyType(_TABLE)
