"""Where an instance can be had, as far as prices say, and the host memory that loading needs."""

from __future__ import annotations

import pytest

from labkit.catalog import Catalog
from labkit.contract.errors import UnknownNameError
from labkit.sizing.availability import availability_of, host_memory_of
from labkit.sizing.recommendation import Setup
from labkit.sizing.weights import resident_weight_bytes

CATALOG = Catalog.load()
GIB = 2**30


def test_regions_are_those_with_a_price():
    for instance in CATALOG.instances():
        found = availability_of(instance)
        priced = {price.region for price in instance.prices if price.kind == "on-demand"}
        assert set(found.regions) == priced
        assert list(found.regions) == sorted(found.regions)
        assert found.sagemaker_hosting == instance.sagemaker_hosting
        assert "other regions are not in the catalogue" in found.words
    assert "does not host ml.p5e" in availability_of(CATALOG.instance("p5e.48xlarge")).words or (
        CATALOG.instance("p5e.48xlarge").sagemaker_hosting
    )
    assert "us-east-1" in availability_of(CATALOG.instance("g5.xlarge")).words


def test_an_unpriced_type_says_so():
    assert "known in no region" in availability_of(CATALOG.instance("trn2.48xlarge")).words


@pytest.mark.parametrize(
    ("name", "engine", "loader", "whole"),
    [
        ("g5.xlarge", "vllm", "streamed", False),
        ("inf2.xlarge", "neuron", "state_dict", True),
        ("c7i.8xlarge", "llama.cpp", "streamed", True),
    ],
)
def test_host_memory_by_loader(name, engine, loader, whole):
    model, instance = CATALOG.model("llama-3-8b"), CATALOG.instance(name)
    found = host_memory_of(model, Setup(name, "bf16", "bf16", 1, engine), instance)
    weights = resident_weight_bytes(model, CATALOG.format("bf16"))
    assert found.loader == loader
    assert found.needed_bytes == pytest.approx(2 * GIB + (weights if whole else 0))
    assert found.instance_bytes == instance.host_memory_bytes
    assert found.words.endswith(".")


def test_the_loader_can_be_named():
    model, instance = CATALOG.model("llama-3-8b"), CATALOG.instance("inf2.xlarge")
    setup = Setup("inf2.xlarge", "bf16", "bf16", 2, "neuron")
    assert host_memory_of(model, setup, instance, "presharded").needed_bytes == 2 * GIB
    with pytest.raises(UnknownNameError, match="presharded"):
        host_memory_of(model, setup, instance, "presharde")
