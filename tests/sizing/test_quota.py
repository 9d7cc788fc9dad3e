"""Which quota a fleet counts against, and how much of it."""

from __future__ import annotations

import pytest

from labkit.catalog import Catalog
from labkit.sizing.checks import SizingError
from labkit.sizing.quota import quota_for

CATALOG = Catalog.load()


@pytest.mark.parametrize(
    ("name", "count", "kind", "quota", "amount"),
    [
        ("g5.xlarge", 3, "on-demand", "Running On-Demand G and VT instances", 12),
        ("gr6.4xlarge", 1, "on-demand", "Running On-Demand G and VT instances", 16),
        ("g6e.12xlarge", 2, "spot", "All G and VT Spot Instance Requests", 96),
        ("p4d.24xlarge", 2, "on-demand", "Running On-Demand P instances", 192),
        ("inf2.xlarge", 5, "on-demand", "Running On-Demand Inf instances", 20),
        ("trn1.2xlarge", 1, "spot", "All Trn Spot Instance Requests", 8),
        ("c7i.8xlarge", 2, "on-demand", "Running On-Demand Standard", 64),
    ],
)
def test_ec2_counts_vcpus_by_group_of_families(name, count, kind, quota, amount):
    found = quota_for(CATALOG.instance(name), count, kind)
    assert found.name.startswith(quota)
    assert (found.needed, found.unit) == (amount, "vCPUs")
    assert found.code in found.request


def test_sagemaker_counts_instances_of_each_type():
    found = quota_for(CATALOG.instance("g5.xlarge"), 3, "sagemaker")
    assert found.request == "ml.g5.xlarge for endpoint usage: 3 instances"


@pytest.mark.parametrize("kind", ["on-demand", "spot"])
def test_every_instance_of_the_catalogue_has_a_quota(kind):
    for instance in CATALOG.instances():
        found = quota_for(instance, 1, kind)
        assert found.needed == instance.vcpus
        assert found.code.startswith("L-")


def test_a_fleet_of_nothing_asks_for_nothing():
    with pytest.raises(SizingError, match="count must be a whole number of at least 1"):
        quota_for(CATALOG.instance("g5.xlarge"), 0)
