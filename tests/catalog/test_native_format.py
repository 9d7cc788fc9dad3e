"""Which format a checkpoint is stored in, from its dtype and quantization fields."""

import pytest

from labkit.catalog import Catalog
from labkit.catalog.native_format import native_format


@pytest.mark.parametrize(
    ("dtype", "name"),
    [
        ("bfloat16", "bf16"),
        ("float16", "fp16"),
        ("float32", "fp32"),
        ("torch.bfloat16", "bf16"),
    ],
)
def test_plain_dtypes(dtype, name):
    native = native_format({"torch_dtype": dtype})
    assert (native.name, native.rest, native.note) == (name, name, "")
    assert set(native.parts) == {"linear", "experts", "embedding", "head"}


@pytest.mark.parametrize(
    ("quantization", "name"),
    [
        ({"quant_method": "gptq", "bits": 4, "group_size": 128}, "int4"),
        ({"quant_method": "gptq", "bits": 4, "group_size": 32}, "int4-g32"),
        ({"quant_method": "gptq", "bits": 8}, "int8"),
        ({"quant_method": "awq", "w_bit": 4, "q_group_size": 64}, "int4-g64"),
        ({"quant_method": "fp8", "weight_block_size": [128, 128]}, "fp8"),
        ({"quant_method": "bitsandbytes", "load_in_4bit": True}, "int4-g64"),
        ({"quant_method": "bitsandbytes", "load_in_8bit": True}, "int8"),
        (
            {
                "quant_method": "compressed-tensors",
                "config_groups": {
                    "group_0": {"weights": {"num_bits": 4, "type": "int", "group_size": 128}}
                },
            },
            "int4",
        ),
        (
            {
                "quant_method": "compressed-tensors",
                "config_groups": {"group_0": {"weights": {"num_bits": 8, "type": "float"}}},
            },
            "fp8",
        ),
        ({"quant_method": "modelopt", "quant_algo": "NVFP4"}, "nvfp4"),
    ],
)
def test_quantized_checkpoints_keep_embeddings_and_head_in_16_bits(quantization, name):
    native = native_format({"torch_dtype": "float16", "quantization_config": quantization})
    assert (native.name, native.rest) == (name, "fp16")
    assert native.parts == ("linear", "experts")


def test_gpt_oss_quantizes_only_its_experts():
    spec = Catalog.load().model("gpt-oss-20b")
    assert (spec.native_format, spec.native_parts) == ("mxfp4", ("experts",))
    assert spec.rest_format == "bf16"


def test_deepseek_v3_is_stored_in_fp8():
    spec = Catalog.load().model("deepseek-v3")
    assert (spec.native_format, spec.rest_format) == ("fp8", "bf16")


@pytest.mark.parametrize(
    "fields",
    [
        {"torch_dtype": "float16", "quantization_config": {"quant_method": "hqq"}},
        {"torch_dtype": "float16", "quantization_config": {"quant_method": "gptq", "bits": 3}},
        {"torch_dtype": "float16", "quantization_config": {"quant_method": None}},
        {"torch_dtype": "complex64"},
        {},
    ],
)
def test_what_is_not_understood_is_said(fields):
    assert native_format(fields).note
