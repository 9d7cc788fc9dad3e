"""Bits per weight, recomputed from the formats' definitions."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit.catalog import Catalog
from labkit.catalog.formats import FORMATS, number_format
from labkit.contract import LabkitError


@pytest.mark.parametrize(
    ("name", "bits"),
    [
        ("fp32", 32),
        ("fp16", 16),
        ("bf16", 16),
        ("fp8", 8),
        ("int8", 8),
        ("int4", 4 + (16 + 4) / 128),
        ("int4-g128", 4.15625),
        ("int4-g32", 4 + 20 / 32),
        ("mxfp4", 4 + 8 / 32),
        ("nvfp4", 4 + 8 / 16),
    ],
)
def test_bits_per_weight(name, bits):
    assert number_format(name).bits_per_weight == bits
    assert number_format(name).bytes_per_weight == bits / 8


def test_the_default_group_is_one_format():
    assert number_format("int4-g128") == number_format("int4")


@given(st.sampled_from([*FORMATS, "int4-g64"]), st.booleans())
def test_case_and_spaces_do_not_matter(name, upper):
    spelled = f" {name.upper() if upper else name} "
    assert number_format(spelled) == number_format(name)


@pytest.mark.parametrize("name", ["int3", "fp6", "int4-g7", "int4-g", "int4-g99999", "", "4"])
def test_unknown_formats_name_the_valid_ones(name):
    with pytest.raises(LabkitError, match="number format") as caught:
        number_format(name)
    assert any(known in str(caught.value) for known in FORMATS)


def test_the_catalogue_lists_every_format():
    assert [f.name for f in Catalog.load().formats()] == [
        "fp32",
        "fp16",
        "bf16",
        "fp8",
        "int8",
        "int4",
        "mxfp4",
        "nvfp4",
    ]
