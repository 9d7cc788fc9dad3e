"""Load time: known arithmetic, limits, and what it must refuse."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit.catalog import Catalog
from labkit.contract.errors import UnknownNameError
from labkit.sizing.inputs import SizingError
from labkit.sizing.instance_io import PROVENANCE, instance_io
from labkit.sizing.loading import GP3, SOURCES, load_seconds, load_stages

CATALOG = Catalog.load()
MIB = 2**20


@pytest.mark.parametrize(
    ("size", "seconds"),
    [
        (26_031_728_640, 198.6),  # 13B FP16
        (13_476_831_232, 102.82),  # 7B BF16
        (7.25e9, 55.3),  # 13B GPTQ
    ],
)
def test_a_gp3_volume_at_its_default_reads_125_mib_per_second(size, seconds):
    band = load_seconds(size, "ebs", CATALOG.instance("g5.2xlarge"))
    assert band.mid == pytest.approx(seconds, rel=2e-3)
    assert band.kind == "prior"


def test_the_instance_s_own_limit_binds_a_fast_volume():
    """g5.xlarge bursts to 437.5 MB/s and sustains 87.5: a 1,000 MiB/s volume does not help more."""
    band = load_seconds(26e9, "ebs", CATALOG.instance("g5.xlarge"), volume_mib_per_s=1_000)
    assert band.mid == pytest.approx(26e9 / 437.5e6)
    assert band.high > 26e9 / 87.5e6


def test_the_network_s_baseline_is_not_a_floor():
    """13.5 GB over g5.xlarge: 43 s at the 2.5 Gbit/s baseline, 10.8 s at the 10 Gbit/s burst."""
    band = load_seconds(13.5e9, "network", CATALOG.instance("g5.xlarge"))
    assert band.low == pytest.approx(10.8)
    assert band.high > 43.2


def test_s3_may_have_to_pass_the_volume_first():
    g5 = CATALOG.instance("g5.xlarge")
    s3, network = (load_seconds(13.5e9, source, g5) for source in ("s3", "network"))
    assert s3.low == network.low
    assert s3.high > network.high + 100


def test_several_devices_load_side_by_side():
    p4d = CATALOG.instance("p4d.24xlarge")
    one, eight = (load_seconds(140e9, "nvme", p4d, devices=n) for n in (1, 8))
    assert eight.high < one.high
    assert {stage.name for stage in load_stages(140e9, "nvme", p4d)} == {
        "local NVMe",
        "host to device",
    }


def test_neuron_and_cpu_have_no_known_link_so_only_the_read_counts():
    for name in ("inf2.xlarge", "c7i.4xlarge"):
        assert [s.name for s in load_stages(1e9, "ebs", CATALOG.instance(name))] == ["gp3 volume"]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda i: load_seconds(1e9, "nvme", CATALOG.instance("inf2.xlarge")), "no local NVMe"),
        (lambda i: load_seconds(0, "ebs", i), "weight_bytes must be a number above 0"),
        (lambda i: load_seconds(1e9, "ebs", i, volume_mib_per_s=5_000), "between 125 and 2,000"),
        (lambda i: load_seconds(1e9, "ebs", i, devices=4), "has 1 devices to load, not 4"),
    ],
)
def test_nonsense_is_one_sentence(call, message):
    with pytest.raises(SizingError, match=message):
        call(CATALOG.instance("g5.xlarge"))


def test_an_unknown_source_names_the_known_ones():
    with pytest.raises(UnknownNameError, match="ebs"):
        load_seconds(1e9, "ebss", CATALOG.instance("g5.xlarge"))


def test_limits_expire_and_cover_the_catalogue():
    assert PROVENANCE.expires is not None
    assert GP3.expires is not None
    unknown = {i.name for i in CATALOG.instances() if instance_io(i.name) is None}
    assert all(name.startswith("p3.") for name in unknown)


@given(
    name=st.sampled_from(["g4dn.xlarge", "g5.12xlarge", "g6e.xlarge", "p5.48xlarge", "p3.2xlarge"]),
    source=st.sampled_from(SOURCES),
    size=st.floats(1.0, 2e12),
)
def test_bands_are_ordered_and_grow_with_the_model(name, source, size):
    instance = CATALOG.instance(name)
    if source == "nvme" and not instance.nvme_bytes:
        return
    band = load_seconds(size, source, instance)
    assert 0 < band.low <= band.mid <= band.high
    assert load_seconds(2 * size, source, instance).mid == pytest.approx(2 * band.mid)
