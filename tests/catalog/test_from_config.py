"""Configurations of all kinds: what is read, what is refused, and with which sentence."""

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from labkit.catalog import Catalog, ConfigError, ModelSpec
from labkit.catalog.models import records
from labkit.contract import LabkitError

LLAMA = {
    "model_type": "llama",
    "hidden_size": 64,
    "num_hidden_layers": 4,
    "num_attention_heads": 8,
    "num_key_value_heads": 2,
    "intermediate_size": 128,
    "vocab_size": 1000,
    "max_position_embeddings": 512,
    "torch_dtype": "bfloat16",
}


def without(*names: str) -> dict:
    return {k: v for k, v in LLAMA.items() if k not in names}


def kinds(spec: ModelSpec) -> dict[str, int]:
    return {a.kind: a.layers for a in spec.attention}


def test_by_name_path_folder_and_object(tmp_path: Path):
    folder = tmp_path / "my-model"
    folder.mkdir()
    file = folder / "config.json"
    file.write_text(json.dumps(LLAMA))
    from_object = ModelSpec.from_config(LLAMA)
    for source in (file, folder, str(file), str(folder)):
        spec = ModelSpec.from_config(source)
        assert spec.name == "my-model"
        assert spec.params == from_object.params
    named = ModelSpec.from_config("meta-llama/Llama-2-13B-HF")
    assert named is Catalog.load().model("llama-2-13b")


@pytest.mark.parametrize(
    ("fields", "heads", "kv_heads", "head_dim"),
    [
        (LLAMA, 8, 2, 8),  # grouped
        (without("num_key_value_heads"), 8, 8, 8),  # multi-head
        ({**LLAMA, "num_key_value_heads": 1}, 8, 1, 8),  # multi-query
        ({**LLAMA, "head_dim": 32}, 8, 2, 32),  # wider than hidden / heads
        ({**LLAMA, "head_dim": None}, 8, 2, 8),
    ],
)
def test_heads(fields, heads, kv_heads, head_dim):
    (layer,) = ModelSpec.from_config(fields).attention
    assert (layer.heads, layer.kv_heads, layer.head_dim) == (heads, kv_heads, head_dim)


def test_latent_attention_keeps_one_latent_and_the_rotary_part():
    (layer,) = Catalog.load().model("deepseek-v3").attention
    assert layer.kind == "mla"
    assert (layer.latent_dim, layer.rope_dim) == (512, 64)
    assert (layer.head_dim, layer.value_head_dim) == (128 + 64, 128)


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"sliding_window": None}, {"full": 4}),
        ({"sliding_window": 0}, {"full": 4}),
        ({"sliding_window": 64}, {"sliding": 4}),
        ({"sliding_window": 64, "use_sliding_window": False}, {"full": 4}),
        ({"sliding_window": 64, "sliding_window_pattern": 4}, {"sliding": 3, "full": 1}),
        (
            {
                "sliding_window": 64,
                "layer_types": ["full_attention"] * 3 + ["sliding_attention"],
            },
            {"full": 3, "sliding": 1},
        ),
        (
            {
                "model_type": "qwen2",
                "sliding_window": 64,
                "use_sliding_window": True,
                "max_window_layers": 3,
            },
            {"full": 3, "sliding": 1},
        ),
    ],
)
def test_sliding_windows(fields, expected):
    spec = ModelSpec.from_config({**LLAMA, **fields})
    assert kinds(spec) == expected
    assert {a.window for a in spec.attention if a.kind == "sliding"} <= {64}
    assert {a.window for a in spec.attention if a.kind == "full"} <= {None}


def test_shipped_sliding_patterns():
    catalog = Catalog.load()
    assert kinds(catalog.model("gemma-2-9b")) == {"sliding": 21, "full": 21}
    assert kinds(catalog.model("gemma-3-27b")) == {"sliding": 52, "full": 10}
    assert kinds(catalog.model("gpt-oss-120b")) == {"sliding": 18, "full": 18}
    assert kinds(catalog.model("qwen2.5-7b")) == {"full": 28}


def test_experts():
    moe = Catalog.load().model("deepseek-v3").moe
    assert moe is not None
    assert (moe.experts, moe.experts_per_token, moe.shared_experts) == (256, 8, 1)
    assert moe.moe_layers == 61 - 3
    params = Catalog.load().model("mixtral-8x7b").params
    assert params.per_expert == 3 * 4096 * 14336
    assert params.experts == 32 * 8 * params.per_expert


def test_moe_layer_freq_as_a_number_and_as_a_list():
    fields = {
        **LLAMA,
        "model_type": "some_moe",
        "num_experts": 4,
        "num_experts_per_tok": 1,
        "moe_intermediate_size": 8,
    }
    every_second = ModelSpec.from_config({**fields, "moe_layer_freq": 2}).moe
    listed = ModelSpec.from_config({**fields, "moe_layer_freq": [0, 1, 1, 1]}).moe
    assert every_second is not None
    assert listed is not None
    assert (every_second.moe_layers, listed.moe_layers) == (2, 3)


def test_a_multimodal_wrapper_is_counted_without_its_vision_part():
    wrapped = {
        "model_type": "some_vlm",
        "torch_dtype": "float16",
        "vision_config": {"hidden_size": 9999},
        "text_config": without("torch_dtype"),
    }
    spec = ModelSpec.from_config(wrapped)
    assert spec.params == ModelSpec.from_config(LLAMA).params
    assert spec.native_format == "fp16"
    assert "Only the text decoder" in spec.note


def test_an_unlisted_architecture_is_counted_aloud():
    spec = ModelSpec.from_config({**LLAMA, "model_type": "newcomer"})
    assert spec.params == ModelSpec.from_config(LLAMA).params
    assert "'newcomer' is not a listed one" in spec.note
    assert ModelSpec.from_config(LLAMA).note == ""


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("not json", "not valid JSON"),
        ("", "not valid JSON"),
        ("[1, 2]", "holds a JSON list"),
        ("null", "holds a JSON NoneType"),
        ("[" * 100_000, "not valid JSON"),
        ("\x00\xff", "not valid JSON"),
    ],
)
def test_a_file_that_holds_no_object(tmp_path, content, says):
    file = tmp_path / "config.json"
    file.write_bytes(content.encode("latin-1"))
    with pytest.raises(ConfigError, match=says) as caught:
        ModelSpec.from_config(file)
    assert str(file) in str(caught.value)


def test_missing_files_and_folders(tmp_path):
    for source in (tmp_path / "none.json", tmp_path, "./none.json", str(tmp_path / "none")):
        with pytest.raises(ConfigError, match="No such model configuration"):
            ModelSpec.from_config(source)


def test_a_huge_file_is_not_read(tmp_path):
    file = tmp_path / "config.json"
    file.write_text('{"a": "' + "x" * 5_000_000 + '"}')
    with pytest.raises(ConfigError, match="larger than 4 MB"):
        ModelSpec.from_config(file)


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        (without("hidden_size"), "lacks the field hidden_size."),
        (
            without("hidden_size", "vocab_size"),
            "lacks the fields hidden_size and vocab_size.",
        ),
        ({}, "lacks the fields hidden_size, num_hidden_layers, num_attention_heads and vocab_size"),
        ({**LLAMA, "hidden_size": None}, "lacks the field hidden_size."),
        (without("intermediate_size"), "lacks the field intermediate_size."),
        ({**LLAMA, "hidden_size": -1}, "hidden_size = -1: a whole number from 1"),
        ({**LLAMA, "hidden_size": 0}, "hidden_size = 0: a whole number from 1"),
        ({**LLAMA, "hidden_size": 4096.5}, "hidden_size = 4096.5"),
        ({**LLAMA, "hidden_size": "4096"}, "hidden_size = 4096: a whole number"),
        ({**LLAMA, "hidden_size": True}, "hidden_size = True: a whole number"),
        ({**LLAMA, "hidden_size": 10**30}, "hidden_size = 1000000"),
        ({**LLAMA, "num_hidden_layers": 10**8}, "from 1 to 10,000"),
        ({**LLAMA, "vocab_size": [1]}, r"vocab_size = \[1\]"),
        ({**LLAMA, "tie_word_embeddings": "yes"}, "tie_word_embeddings = yes: true or false"),
        ({**LLAMA, "num_key_value_heads": 3}, "first must be a multiple of the second"),
        ({**LLAMA, "hidden_size": 65}, "without head_dim"),
        ({**LLAMA, "layer_types": ["full_attention"]}, "1 layer_types for num_hidden_layers = 4"),
        ({**LLAMA, "layer_types": ["mamba"] * 4}, "layer type 'mamba': known are"),
        ({**LLAMA, "layer_types": "full"}, "layer_types = full: a list with one entry"),
        ({**LLAMA, "layer_types": ["sliding_attention"] * 4}, "lacks the field sliding_window"),
        ({**LLAMA, "num_experts": 4}, "4 experts but lacks the field num_experts_per_tok"),
        (
            {**LLAMA, "num_experts": 4, "num_experts_per_tok": 5},
            "num_experts_per_tok = 5: there are only 4",
        ),
        ({**LLAMA, "kv_lora_rank": 8}, "lacks qk_nope_head_dim and qk_rope_head_dim and v_head"),
        ({**LLAMA, "is_encoder_decoder": True}, "encoder-decoder"),
        ({"model_type": "bert", "hidden_size": 4}, "lacks num_hidden_layers"),
        ({"model_type": "resnet"}, "needs the lists hidden_sizes and depths"),
        ({**LLAMA, "text_config": {"hidden_size": 3}}, "lacks the fields"),
    ],
)
def test_senseless_fields_get_one_sentence(fields, says):
    with pytest.raises(ConfigError, match=says) as caught:
        ModelSpec.from_config(fields)
    sentence = str(caught.value)
    assert sentence.endswith(".")
    assert "\n" not in sentence
    assert len(sentence) < 300


def test_an_unknown_name_suggests_the_nearest():
    with pytest.raises(LabkitError, match=r"did you mean llama-2-13b.*config\.json works too"):
        ModelSpec.from_config("lama-2-13b")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 300) | st.floats() | st.sampled_from(["", "x"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["hidden_size", "bits", "weights"]), inner, max_size=2)
    ),
    max_leaves=4,
)
FIELDS = sorted(
    {field for record in records(Catalog.load().snapshot).values() for field in record["config"]}
    | {"layer_types", "moe_layer_freq", "quantization_config", "text_config", "num_experts"}
)


def spec_or_sentence(fields: dict) -> tuple[ModelSpec | None, str]:
    """Anything but a spec or a known error would escape and fail the test."""
    try:
        return ModelSpec.from_config(fields), ""
    except LabkitError as error:
        return None, str(error)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    base=st.sampled_from(sorted(records(Catalog.load().snapshot))),
    changes=st.dictionaries(st.sampled_from(FIELDS), JSON, max_size=4),
)
def test_whatever_stands_in_a_config_it_is_a_spec_or_one_sentence(base, changes):
    fields = {**records(Catalog.load().snapshot)[base]["config"], **changes}
    spec, sentence = spec_or_sentence(fields)
    if spec is None:
        assert sentence.endswith((".", "?"))
        assert "\n" not in sentence
    else:
        assert spec.params.total > 0
        assert sum(a.layers for a in spec.attention) in {0, spec.layers}
