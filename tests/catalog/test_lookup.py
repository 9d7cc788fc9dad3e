"""Finding things by name, pinned snapshots, and what loading costs."""

import json
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit.catalog import Catalog, ModelSpec
from labkit.catalog.spellings import squeezed
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


# How measurement tables, logs, model hubs and local runners write the names.
SPELLINGS = {
    "llama-2-7b": [
        "Llama-2-7b",
        "LLaMA 2 7B",
        "Llama2-7B",
        "Llama-2-7B-Chat",
        "meta-llama/Llama-2-7b-hf",
        "NousResearch/Llama-2-7b-chat-hf",
        "llama2:7b",
    ],
    "llama-7b": ["LLaMA-7B", "huggyllama/llama-7b", "llama 7b"],
    "llama-3.1-8b": [
        "Meta-Llama-3.1-8B-Instruct",
        "Llama3.1-8B",
        "meta/llama-3.1-8b-instruct",
        "llama3.1:8b",
    ],
    "qwen2.5-3b": ["Qwen2___5-3B", "Qwen/Qwen2.5-3B-Instruct", "qwen 2.5 3B"],
    "mixtral-8x7b": ["Mixtral 8x7B", "mistralai/Mixtral-8x7B-Instruct-v0.1"],
    "mistral-7b": ["Mistral-7B-Instruct", "Mistral 7B"],
    "gpt-j-6b": ["GPT-J-6B", "gptj-6b", "EleutherAI/gpt-j-6B"],
    "codellama-34b": ["CodeLlama-34B-Phind", "Code-Llama-34b"],
    "bloom-176b": ["bigscience/bloom", "BLOOM"],
    "gemma-2-27b": ["google/gemma-2-27b-it", "gemma2:27b"],
}


@pytest.mark.parametrize(
    ("name", "spelling"), [(n, s) for n, all_ in SPELLINGS.items() for s in all_]
)
def test_models_are_found_under_the_names_that_people_use(name, spelling):
    assert Catalog.load().model(spelling).name == name


@pytest.mark.parametrize(
    ("name", "spelling"),
    [
        ("phi-4", "unsloth/phi-4-bnb-4bit"),
        ("llama-3.1-8b", "unsloth/meta-llama-3.1-8b-instruct-unsloth-bnb-4bit"),
        ("llama-2-13b", "TheBloke/Llama-2-13B-chat-GPTQ"),
        ("qwen2.5-14b", "Qwen/Qwen2.5-14B-Instruct-AWQ"),
        ("qwen3-30b-a3b", "cpatonn/Qwen3-30B-A3B-Thinking-2507-AWQ-4bit"),
        ("deepseek-r1-distill-qwen-32b", "DeepSeek-R1-Distill-Qwen-32B-FP8"),
        ("llama-3.2-1b", "unsloth/Llama-3.2-1B-Instruct-FP8-Block"),
    ],
)
def test_a_quantizers_suffix_is_left_out_only_when_asked(name, spelling):
    catalog = Catalog.load()
    found = catalog.find_model(spelling)
    assert found is not None
    assert found.name == name
    with pytest.raises(LabkitError, match="Unknown model"):
        catalog.model(spelling)  # its bytes are not the named model's


@pytest.mark.parametrize(
    "name",
    ["", " ", "-", "instruct", "7b", "4bit", "llama", "gpt-5", "a/b/llama-2-7b", "Llama-2-8b"],
)
def test_a_loose_reading_does_not_guess(name):
    assert Catalog.load().find_model(name) is None


@given(st.text(max_size=60))
def test_any_text_is_a_model_or_none(name):
    found = Catalog.load().find_model(name)
    assert found is None or found.name in Catalog.load().model_names()


def test_loose_spellings_never_stand_for_two_models():
    seen: dict[str, str] = {}
    for model in Catalog.load().models():
        for spelling in (model.name, *model.aliases):
            assert seen.setdefault(squeezed(spelling), model.name) == model.name, spelling


def test_a_folder_comes_before_a_loose_reading_of_its_name(tmp_path, monkeypatch):
    config = Catalog.load().config("smollm2-135m")
    (tmp_path / "mine" / "llama-2-7b").mkdir(parents=True)
    (tmp_path / "mine" / "llama-2-7b" / "config.json").write_text(json.dumps(config))
    monkeypatch.chdir(tmp_path)
    assert ModelSpec.from_config("mine/llama-2-7b").layers == 30
    assert ModelSpec.from_config("other/llama-2-7b").layers == 32


def test_sagemaker_names_are_the_same_machines():
    assert Catalog.load().instance("ml.g5.xlarge") is Catalog.load().instance("G5.XLARGE")


@pytest.mark.parametrize(
    ("look_up", "name", "says"),
    [
        ("instance", "g5.xlage", "Unknown instance type 'g5.xlage': did you mean g5.xlarge"),
        ("accelerator", "A100", "did you mean A100-[48]0GB"),
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
