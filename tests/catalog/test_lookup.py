"""Finding things by name, pinned snapshots, and what loading costs."""

import subprocess
import sys

import pytest

from labkit.catalog import Catalog
from labkit.contract import LabkitError

PROMISED = [
    "llama-2-7b",
    "llama-2-13b",
    "llama-2-70b",
    "llama-3-8b",
    "llama-3-70b",
    "llama-3.1-8b",
    "llama-3.1-70b",
    "mistral-7b",
    "mixtral-8x7b",
    "qwen2.5-0.5b",
    "qwen2.5-7b",
    "qwen2.5-32b",
    "qwen2.5-72b",
    "qwen3-8b",
    "qwen3-32b",
    "gemma-2-9b",
    "deepseek-v2-lite",
    "gpt-oss-20b",
    "phi-3-mini",
    "tinyllama-1.1b",
    "smollm2-135m",
    "llama-3.3-70b",
    "qwen3-30b-a3b",
    "gpt-oss-120b",
    "deepseek-v3",
    "gemma-3-27b",
    "opt-6.7b",
    "opt-13b",
    "bert-base",
    "resnet-50",
]


def test_the_promised_models_are_there():
    assert set(PROMISED) <= set(Catalog.load().model_names())


def test_every_alias_leads_home():
    catalog = Catalog.load()
    for model in catalog.models():
        assert any("/" in alias or alias == "bert-base-uncased" for alias in model.aliases)
        for alias in model.aliases:
            for spelling in (alias, alias.upper(), f" {alias.lower()} "):
                assert catalog.model(spelling) is model
    for card in catalog.accelerators():
        for alias in card.aliases:
            assert catalog.accelerator(alias.lower()) is card


def test_no_two_things_share_a_spelling():
    for things in (Catalog.load().models(), Catalog.load().accelerators()):
        spellings = [s.casefold() for t in things for s in {t.name, *t.aliases}]
        assert len(spellings) == len(set(spellings))


def test_sagemaker_names_are_the_same_machines():
    assert Catalog.load().instance("ml.g5.xlarge") is Catalog.load().instance("G5.XLARGE")


@pytest.mark.parametrize(
    ("look_up", "name", "says"),
    [
        ("instance", "g5.xlage", "Unknown instance type 'g5.xlage': did you mean g5.xlarge"),
        ("accelerator", "A100", "did you mean A100-[48]0GB or A100-[48]0GB"),
        ("accelerator", "TPU", "Unknown accelerator 'TPU': known: T4"),
        ("model", "lama-3-8b", "did you mean llama-3-8b"),
        ("format", "int5", "Unknown number format 'int5'"),
    ],
)
def test_unknown_names_suggest_the_nearest(look_up, name, says):
    with pytest.raises(LabkitError, match=says):
        getattr(Catalog.load(), look_up)(name)


def test_filters_refuse_unknown_values():
    with pytest.raises(LabkitError, match="instance family 'g9'"):
        Catalog.load().instances(family="g9")
    with pytest.raises(LabkitError, match="instance kind 'tpu'"):
        Catalog.load().instances(kind="tpu")


def test_a_pinned_snapshot_is_explicit():
    pinned = Catalog.load("2026-11-30")
    assert pinned.snapshot == "2026-11-30"
    assert pinned is Catalog.load(snapshot="2026-11-30")
    assert Catalog.load().snapshot == Catalog.snapshots()[-1]
    with pytest.raises(LabkitError, match="Unknown catalogue snapshot '1999-01-01'"):
        Catalog.load("1999-01-01")
    with pytest.raises(LabkitError, match="Unknown catalogue snapshot"):
        Catalog.load("../../../etc")


def test_a_region_without_a_price_gives_none():
    instance = Catalog.load().instance("g5.xlarge")
    assert instance.price(region="mars-north-1") is None
    assert instance.price("savings-plan") is None


COST = """
import sys, time
from labkit.catalog import Catalog
start = time.process_time()
catalog = Catalog.load()
assert len(catalog.instances()) == 198
print((time.process_time() - start) * 1000)
print(",".join(sorted({m.split(".")[0] for m in sys.modules})))
"""


def test_loading_is_fast_and_light():
    done = subprocess.run(
        [sys.executable, "-c", COST], capture_output=True, text=True, check=True, timeout=60
    )
    milliseconds, modules = done.stdout.splitlines()
    assert float(milliseconds) < 60
    heavy = {"torch", "transformers", "pandas", "numpy", "pydantic", "pint", "matplotlib"}
    assert not heavy & set(modules.split(","))
