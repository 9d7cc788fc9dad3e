"""The course's reference tables: parameters and KV-cache bytes per token, typed from the page."""

import pytest

from labkit.catalog import Catalog

GB = 10**9


@pytest.mark.parametrize(
    ("name", "parameters", "kv_bytes_per_token", "gqa"),
    [
        ("llama-2-7b", 6_738_415_616, 524_288, 1),
        ("llama-2-13b", 13_015_864_320, 819_200, 1),
        ("llama-2-70b", 68_976_648_192, 327_680, 8),
        ("llama-3-8b", 8_030_261_248, 131_072, 4),
        ("llama-3-70b", 70_553_706_496, 327_680, 8),
        ("mistral-7b", 7_241_732_096, 131_072, 4),
        ("mixtral-8x7b", 46_702_792_704, 131_072, 4),
        ("qwen2.5-7b", 7_615_616_512, 57_344, 7),
        ("tinyllama-1.1b", 1_100_048_384, 22_528, 8),
        ("smollm2-135m", 134_515_008, 23_040, 3),
    ],
)
def test_models(name, parameters, kv_bytes_per_token, gqa):
    model = Catalog.load().model(name)
    assert model.params.total == parameters
    (layers,) = model.attention
    assert 2 * layers.layers * layers.kv_heads * layers.head_dim * 2 == kv_bytes_per_token
    assert layers.heads // layers.kv_heads == gqa


def test_active_parameters_of_mixtral():
    model = Catalog.load().model("mixtral-8x7b")
    assert model.moe is not None
    idle = model.moe.experts - model.moe.experts_per_token
    idle_parameters = idle * model.moe.moe_layers * model.params.per_expert
    assert model.params.total - idle_parameters == 12_879_925_248


@pytest.mark.parametrize(
    ("name", "gigabytes"),
    [
        ("llama-2-7b", 3.89),
        ("llama-2-13b", 7.25),
        ("llama-3-8b", 5.73),
        ("qwen2.5-7b", 5.57),
        ("tinyllama-1.1b", 0.77),
        ("llama-3-70b", 39.77),
    ],
)
def test_int4_checkpoints_quantize_the_linear_layers_only(name, gigabytes):
    params = Catalog.load().model(name).params
    int4 = Catalog.load().format("int4").bytes_per_weight
    rest = params.embedding + params.head + params.other
    assert (params.linear * int4 + rest * 2) / GB == pytest.approx(gigabytes, abs=0.005)


@pytest.mark.parametrize(
    ("name", "gflops"),
    # BERT: 12 layers x 2 x 128 tokens x 7.08M + scores; ResNet-50: 4.1 G multiply-adds, published.
    [("bert-base", 22.35), ("resnet-50", 2 * 4.089)],
)
def test_flops_of_models_without_a_cache(name, gflops):
    model = Catalog.load().model(name)
    assert model.attention == ()
    assert model.flops_per_inference == pytest.approx(gflops * 1e9, rel=0.001)


def test_a_tied_table_is_counted_once():
    params = Catalog.load().model("smollm2-135m").params
    assert params.tied
    assert params.head == 0
    assert params.embedding == 49_152 * 576
