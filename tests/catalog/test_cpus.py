"""CPUs: bandwidth and FLOP/s from their parts, and each instance's share of a socket."""

import pytest

from labkit.catalog import Catalog
from labkit.contract import LabkitError

GB, TERA = 1e9, 1e12
CATALOG = Catalog.load("2026-11-30")


# channels x mega-transfers per second x 8 bytes
@pytest.mark.parametrize(
    ("name", "channels", "transfers"),
    [
        ("Graviton2", 8, 3200),
        ("Graviton3", 8, 4800),
        ("Graviton4", 12, 5600),
        ("Ice Lake", 8, 3200),
        ("Sapphire Rapids", 8, 4800),
        ("Emerald Rapids", 8, 5600),
        ("Granite Rapids", 12, 7200),
        ("Skylake/Cascade Lake", 6, 2666),
        ("Cascade Lake", 6, 2933),
        ("EPYC Milan", 8, 3200),
        ("EPYC Genoa", 12, 4800),
    ],
)
def test_bandwidth_is_channels_times_speed(name, channels, transfers):
    derived = channels * transfers * 1e6 * 8
    assert CATALOG.cpu(name).bandwidth_bytes_per_s == pytest.approx(derived, rel=0.002)


# cores, GHz, FLOP per cycle and core
@pytest.mark.parametrize(
    ("name", "dtype", "cores", "ghz", "per_cycle"),
    [
        # AMX: a 16 x 32 by 32 x 16 tile product every 16 cycles is 2 x 16 x 32 x 16 / 16.
        ("Sapphire Rapids", "bf16", 48, 3.2, 2 * 16 * 32 * 16 / 16),
        ("Sapphire Rapids", "int8", 48, 3.2, 2 * 16 * 64 * 16 / 16),
        # AVX-512: two units of 16 lanes, multiply and add.
        ("Sapphire Rapids", "fp32", 48, 3.2, 2 * 16 * 2),
        ("Ice Lake", "fp32", 32, 3.5, 2 * 16 * 2),
        # Four 128-bit units: 4 FP32 lanes each, or a 2 x 4 by 4 x 2 product of BF16.
        ("Graviton4", "fp32", 96, 2.8, 4 * 4 * 2),
        ("Graviton4", "bf16", 96, 2.8, 4 * 2 * 2 * 4 * 2),
        # Two 256-bit units do the same per cycle.
        ("Graviton3", "fp32", 64, 2.6, 2 * 8 * 2),
    ],
)
def test_flops_are_cycles_times_clock_times_cores(name, dtype, cores, ghz, per_cycle):
    assert CATALOG.cpu(name).peak_flops(dtype) == pytest.approx(cores * ghz * 1e9 * per_cycle)


def test_what_has_no_source_is_not_known():
    for name in ("EPYC Milan", "Granite Rapids", "Graviton2"):
        assert CATALOG.cpu(name).flops == {}
        assert CATALOG.cpu(name).peak_flops("fp32") == 0.0
    assert CATALOG.cpu("Ice Lake").peak_flops("bf16") == 0.0  # neither AMX nor AVX-512 BF16


@pytest.mark.parametrize(
    ("instance", "sockets"),
    [
        ("c7i.24xlarge", 1.0),
        ("c7i.48xlarge", 2.0),
        ("c7i.xlarge", 4 / 96),
        ("r8g.24xlarge", 1.0),
        ("r8g.48xlarge", 2.0),
        ("m6i.16xlarge", 1.0),
        ("m5.12xlarge", 1.0),
        ("r7iz.16xlarge", 1.0),
    ],
)
def test_an_instance_has_its_share_of_the_sockets(instance, sockets):
    machine = CATALOG.instance(instance)
    cpu = CATALOG.cpu(machine.cpu)
    assert cpu.sockets(machine.vcpus) == pytest.approx(sockets)
    assert machine.cpu_flops["fp32"] == pytest.approx(sockets * cpu.peak_flops("fp32"))
    share = machine.cpu_bandwidth_bytes_per_s / cpu.bandwidth_bytes_per_s
    assert share == pytest.approx(sockets, rel=0.005)


def test_every_named_cpu_is_in_the_table_and_under_its_families():
    for machine in CATALOG.instances():
        if machine.cpu:
            assert machine.family in CATALOG.cpu(machine.cpu).aws_families, machine.name
        if machine.kind == "cpu":
            assert machine.cpu_flops


def test_an_unknown_cpu_names_the_nearest():
    with pytest.raises(LabkitError, match="Unknown CPU 'Saphire Rapids': did you mean Sapphire"):
        CATALOG.cpu("Saphire Rapids")
    assert CATALOG.cpu("graviton4") is CATALOG.cpu("Graviton4 (Neoverse V2)")


def test_cpus_are_in_base_units():
    for cpu in CATALOG.cpus():
        assert 1e11 < cpu.bandwidth_bytes_per_s < 1e12
        assert 16 <= cpu.cores <= 256
        assert cpu.threads_per_core in {1, 2}
        assert cpu.clock_hz == 0 or 2e9 <= cpu.clock_hz <= 4e9
        assert all(1e12 < rate < 1e15 for rate in cpu.flops.values())
