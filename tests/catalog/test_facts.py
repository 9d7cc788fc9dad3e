"""The tables against independent numbers, and the corrections that were made to them."""

import math
from datetime import date

import pytest

from labkit.catalog import Catalog, Confidence
from labkit.catalog.formats import FORMATS

MIB, GIB, GB, TERA = 2**20, 2**30, 10**9, 10**12


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return Catalog.load("2026-11-30")


def test_how_many_rows(catalog):
    assert len(catalog.instances()) == 198
    rented = [card.name for card in catalog.accelerators() if card.aws_families]
    assert len(rented) == 18
    # Named by published measurements, and not to be taken for the cards that AWS rents.
    others = {card.name for card in catalog.accelerators()} - set(rented)
    assert others == {"A10", "A100-40GB-PCIe", "A100-80GB-PCIe", "H100-PCIe"}
    assert len(catalog.instances(kind="gpu")) == 61
    assert len(catalog.instances(kind="neuron")) == 13
    assert len(catalog.instances(kind="cpu")) == 124


# name, memory MiB (API), usable MiB, GB/s, dense 16-bit TFLOP/s, ridge FLOP/byte
@pytest.mark.parametrize(
    ("name", "mib", "usable", "gb_s", "tflops", "ridge"),
    [
        ("T4", 16384, 15360, 320, 65, 203.1),
        ("A10G", 22888, 22888, 600, 70, 116.7),
        ("L4", 22888, 22888, 300, 121, 403.3),
        ("L40S", 45776, 45776, 864, 362, 419.0),
        ("A100-40GB", 40960, 40960, 1555, 312, 200.6),
        ("A100-80GB", 81920, 81920, 2039, 312, 153.0),
        ("H100", 81920, 81559, 3350, 989.4, 295.3),
        ("H200", 144384, 144384, 4800, 989.4, 206.1),
        ("RTX PRO 6000", 98304, 97887, 1597, 468, 293.0),
        ("Inferentia2", 32768, 32768, 820, 190, 231.7),
    ],
)
def test_accelerators(catalog, name, mib, usable, gb_s, tflops, ridge):
    card = catalog.accelerator(name)
    assert (card.memory_bytes, card.usable_bytes) == (mib * MIB, usable * MIB)
    assert card.bandwidth_bytes_per_s == gb_s * GB
    assert card.peak_flops("fp16") == tflops * TERA
    assert card.peak_flops("fp16") / card.bandwidth_bytes_per_s == pytest.approx(ridge, abs=0.05)


# The memory clock of the real card, from runs on AWS hosts: MHz x 2 (double rate) x bus bits / 8.
@pytest.mark.parametrize(
    ("name", "mhz", "bus_bits"),
    [
        ("T4", 5000, 256),
        ("A10G", 6251, 384),
        ("L4", 6251, 192),
        ("L40S", 9001, 384),
        ("A100-40GB", 1215, 5120),
        ("A100-80GB", 1593, 5120),
        ("H100", 2619, 5120),
        ("RTX PRO 6000", 12481, 512),
    ],
)
def test_bandwidth_is_clock_times_bus(catalog, name, mhz, bus_bits):
    derived = mhz * 1e6 * 2 * bus_bits / 8
    assert catalog.accelerator(name).bandwidth_bytes_per_s == pytest.approx(derived, rel=0.001)


def test_t4_has_no_bf16(catalog):
    t4 = catalog.accelerator("T4")
    assert t4.peak_flops("bf16") == 0
    assert "bf16" not in t4.weight_formats
    assert "mxfp4" not in t4.weight_formats
    assert {"int4", "int8", "fp8"} <= set(t4.weight_formats)


def test_fp8_compute_starts_with_ada(catalog):
    for card in catalog.accelerators():
        if card.vendor == "NVIDIA" and card.rates_known:
            has = card.peak_flops("fp8") > 0
            assert has == (float(card.compute_capability) >= 8.9)


def test_inferentia2_has_no_four_bit_weights(catalog):
    assert {"int8", "fp8"} <= set(catalog.accelerator("Inf2").weight_formats)
    for card in catalog.accelerators():
        if card.vendor == "AWS":
            assert not {"int4", "mxfp4", "nvfp4"} & set(card.weight_formats)


def test_every_weight_format_is_a_known_one(catalog):
    for card in catalog.accelerators():
        assert set(card.weight_formats) <= set(FORMATS)
        assert set(card.flops) <= set(FORMATS)


# PCIe per lane and direction: Gen3 1 GB/s, Gen4 2, Gen5 4.
@pytest.mark.parametrize(
    ("family", "lanes", "gb_s_per_lane"),
    [
        ("g4dn", 8, 1),
        ("g5", 8, 2),
        ("g6", 8, 2),
        ("gr6", 8, 2),
        ("g6e", 8, 2),
        ("g7e", 16, 4),
    ],
)
def test_pcie_links_as_seen_on_real_hosts(catalog, family, lanes, gb_s_per_lane):
    for instance in catalog.instances(family=family):
        assert instance.link == "pcie"
        assert instance.link_bytes_per_s == 2 * lanes * gb_s_per_lane * GB


@pytest.mark.parametrize(
    ("name", "link", "gb_s"),
    [
        ("p4d.24xlarge", "nvlink", 600),
        ("p5.48xlarge", "nvlink", 900),
        ("p5.4xlarge", "none", 0),
        ("p6-b200.48xlarge", "nvlink", 1800),
        ("inf2.xlarge", "none", 0),
        ("inf2.48xlarge", "neuronlink", 192 * GIB / GB),
        ("trn1.32xlarge", "neuronlink", 384 * GIB / GB),
        ("trn1n.32xlarge", "neuronlink", 768 * GIB / GB),
        ("c7i.xlarge", "none", 0),
    ],
)
def test_other_links(catalog, name, link, gb_s):
    instance = catalog.instance(name)
    assert instance.link == link
    assert instance.link_bytes_per_s == pytest.approx(gb_s * GB)


def test_labels_that_are_not_gigabytes(catalog):
    assert catalog.accelerator("H200").memory_bytes / GB == pytest.approx(151.4, abs=0.05)
    assert catalog.accelerator("B200").memory_bytes / GB == pytest.approx(192.3, abs=0.05)
    assert "141 GiB" in catalog.accelerator("H200").provenance.note


def test_the_unresolved_card_says_so(catalog):
    card = catalog.accelerator("RTX PRO 4500")
    assert card.provenance.confidence is Confidence.LOW
    assert not card.rates_known
    assert {i.provenance.confidence for i in catalog.instances(family="g7")} == {Confidence.LOW}


def test_trainium2_memory_is_per_chip(catalog):
    machine = catalog.instance("trn2.48xlarge")
    assert machine.accelerator_count * machine.accelerator_memory_bytes == 1536 * GIB
    assert machine.price() is None


@pytest.mark.parametrize(
    ("name", "vcpus", "host_gib", "count", "card", "cores"),
    [
        ("g5.xlarge", 4, 16, 1, "A10G", 0),
        ("g5.48xlarge", 192, 768, 8, "A10G", 0),
        ("g6e.12xlarge", 48, 384, 4, "L40S", 0),
        ("g7e.12xlarge", 48, 512, 2, "RTX PRO 6000", 0),
        ("inf2.xlarge", 4, 16, 1, "Inferentia2", 2),
        ("inf2.48xlarge", 192, 768, 12, "Inferentia2", 24),
        ("p5.48xlarge", 192, 2048, 8, "H100", 0),
    ],
)
def test_instances(catalog, name, vcpus, host_gib, count, card, cores):
    i = catalog.instance(name)
    assert i.accelerator is not None
    assert (i.vcpus, i.host_memory_bytes) == (vcpus, host_gib * GIB)
    assert (i.accelerator_count, i.accelerator.name, i.neuron_cores) == (count, card, cores)


def test_a_fraction_of_a_card(catalog):
    eighth = catalog.instance("g6f.xlarge")
    assert eighth.accelerator_fraction == 0.125
    assert eighth.accelerator_memory_bytes == 22888 * MIB // 8
    assert "fraction" in eighth.provenance.note.lower()


def test_shared_sockets(catalog):
    # Graviton4: 12 channels of DDR5-5600 and 96 cores; Sapphire Rapids: 8 of DDR5-4800, 96 vCPUs.
    share = catalog.instance("r8g.24xlarge").cpu_bandwidth_bytes_per_s
    assert share == pytest.approx(12 * 5600e6 * 8, rel=0.005)
    assert catalog.instance("c7i.24xlarge").cpu_bandwidth_bytes_per_s == 8 * 4800e6 * 8
    assert catalog.instance("m5.12xlarge").cpu_bandwidth_bytes_per_s == pytest.approx(127.9e9)


@pytest.mark.parametrize(
    ("name", "usd"),
    [
        ("g4dn.xlarge", 0.526),
        ("g5.xlarge", 1.006),
        ("g6.xlarge", 0.8048),
        ("g6e.xlarge", 1.861),
        ("inf2.xlarge", 0.7582),
        ("p4d.24xlarge", 21.957642),
        ("p5.48xlarge", 55.04),
    ],
)
def test_on_demand_prices(catalog, name, usd):
    price = catalog.instance(name).price()
    assert price is not None
    assert price.usd_per_hour == usd
    assert price.region == "us-east-1"


def test_the_sagemaker_premium(catalog):
    """+40 % on every .xlarge of these families, +25 % on the rest; p4d and p5 +15 %."""
    for family, small, others in (
        ("g4dn", 1.40, 1.25),
        ("g5", 1.40, 1.25),
        ("g6", 1.40, 1.25),
        ("g6e", 1.40, 1.25),
        ("g7e", 1.25, 1.25),
        ("p4d", 1.15, 1.15),
        ("p5", 1.15, 1.15),
        ("inf2", 1.31, 1.20),
    ):
        for instance in catalog.instances(family=family):
            hosted, plain = instance.price("sagemaker"), instance.price()
            if hosted is not None:
                assert plain is not None
                expected = small if instance.name.endswith(".xlarge") else others
                ratio = hosted.usd_per_hour / plain.usd_per_hour
                assert ratio == pytest.approx(expected, abs=0.005)


def test_spot_prices_have_a_range_and_are_no_placeholders(catalog):
    spot = [(name, p) for name, p in catalog.prices() if p.kind == "spot"]
    assert len(spot) >= 25
    for name, price in spot:
        assert price.low is not None
        assert price.high is not None
        assert price.low <= price.usd_per_hour <= price.high
        plain = catalog.instance(name).price(region=price.region)
        assert plain is not None
        assert 0.11 < price.usd_per_hour / plain.usd_per_hour < 0.95


def test_every_row_is_in_base_units(catalog):
    for card in catalog.accelerators():
        assert 2**32 < card.memory_bytes < 2**39
        assert card.usable_bytes <= card.memory_bytes
        assert card.engine_visible_bytes <= card.usable_bytes
        assert 1e10 <= card.bandwidth_bytes_per_s <= 1e13
        assert all(1e12 <= rate <= 1e16 for rate in card.flops.values())
    for i in catalog.instances():
        assert 2**30 <= i.host_memory_bytes <= 2**42
        assert 5e7 < i.network_bytes_per_s < 1e12
        assert i.accelerator_usable_bytes <= i.accelerator_memory_bytes
        assert (i.accelerator is None) == (i.kind == "cpu") == (i.accelerator_count == 0)
        assert i.accelerator is None or i.family in i.accelerator.aws_families
        assert (i.neuron_cores > 0) == (i.kind == "neuron")
        if i.kind == "neuron" and i.accelerator is not None:
            assert i.neuron_cores == i.accelerator_count * i.accelerator.cores
    for _, price in catalog.prices():
        assert 0.01 < price.usd_per_hour < 200
        assert math.isfinite(price.usd_per_hour)


def test_every_row_has_source_date_and_the_right_life(catalog):
    seen = date(2026, 11, 30)
    for fact in (*catalog.accelerators(), *catalog.instances(), *catalog.models()):
        assert fact.provenance is not None
        assert len(fact.provenance.source) > 10
        assert fact.provenance.as_of <= seen
        assert fact.provenance.expires is None
    for _, price in catalog.prices():
        assert len(price.provenance.source) > 10
        assert price.provenance.expires is not None
        assert (price.provenance.expires - price.provenance.as_of).days == 90
        assert price.age_days(seen) == (seen - price.provenance.as_of).days >= 0
