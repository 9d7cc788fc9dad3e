"""Models without a KV cache: BERT (an encoder) and ResNet (a convolutional network).

Parameters are counted as transformers' `BertModel` and `ResNetForImageClassification` hold
them; FLOPs are those of one forward pass over the stated input, 2 per multiply-add.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from labkit.catalog.errors import ConfigError
from labkit.catalog.specs import ModelSpec, ParamCounts

BERT_TOKENS = 128
IMAGE_SIDE = 224


def _whole(raw: Mapping[str, Any], names: tuple[str, ...], label: str) -> list[int]:
    missing = [name for name in names if raw.get(name) is None]
    if missing:
        raise ConfigError(f"{label} lacks {', '.join(missing)}.")
    values = []
    for name in names:
        value = raw[name]
        if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= 10**9:
            raise ConfigError(f"{label} gives {name} = {value!s:.40}: a whole number is needed.")
        values.append(value)
    return values


def bert(raw: Mapping[str, Any], name: str) -> ModelSpec:
    """BERT with its pooler and without a task head.

    FLOPs: each matrix once per token, plus scores and weighted values over `BERT_TOKENS`.
    """
    hidden, layers, heads, width, vocab, positions, types = _whole(
        raw,
        (
            "hidden_size",
            "num_hidden_layers",
            "num_attention_heads",
            "intermediate_size",
            "vocab_size",
            "max_position_embeddings",
            "type_vocab_size",
        ),
        name,
    )
    if hidden % heads:
        raise ConfigError(
            f"{name} gives hidden_size = {hidden}: it must be a multiple of {heads} heads."
        )
    per_layer = 4 * hidden * hidden + 2 * hidden * width
    biases = 5 * hidden + width + 2 * 2 * hidden  # four projections, two MLP matrices, two norms
    pooler = hidden * hidden
    attention_flops = layers * 2 * 2 * BERT_TOKENS * BERT_TOKENS * hidden
    return ModelSpec(
        name=name,
        kind="encoder",
        layers=layers,
        hidden_size=hidden,
        vocab_size=vocab,
        max_context=positions,
        attention=(),
        params=ParamCounts(
            embedding=vocab * hidden,
            head=0,
            positions=(positions + types) * hidden,
            linear=layers * per_layer + pooler,
            other=layers * biases + 2 * hidden + hidden,
        ),
        native_format="fp32",
        rest_format="fp32",
        flops_per_inference=2.0 * BERT_TOKENS * layers * per_layer + attention_flops + 2.0 * pooler,
        note=f"FLOPs are those of one input of {BERT_TOKENS} tokens.",
    )


def resnet(raw: Mapping[str, Any], name: str) -> ModelSpec:
    """A bottleneck ResNet with its classifier, on one 224 x 224 image.

    Follows He et al. 2015 with the stride in the 3 x 3 convolution, as published checkpoints do.
    """
    sizes, depths = raw.get("hidden_sizes"), raw.get("depths")
    if not isinstance(sizes, list) or not isinstance(depths, list) or len(sizes) != len(depths):
        raise ConfigError(f"{name} needs the lists hidden_sizes and depths, of one length.")
    if raw.get("layer_type") != "bottleneck":
        raise ConfigError(
            f"{name} gives layer_type = {raw.get('layer_type')!r}: only "
            "'bottleneck' networks are counted."
        )
    (stem, channels, classes) = _whole(raw, ("embedding_size", "num_channels", "num_labels"), name)
    convolutions = norms = multiply_adds = 0

    def convolve(inputs: int, outputs: int, kernel: int, side: int) -> None:
        nonlocal convolutions, norms, multiply_adds
        weights = inputs * outputs * kernel * kernel
        convolutions += weights
        norms += 2 * outputs
        multiply_adds += weights * side * side

    side = IMAGE_SIDE // 2
    convolve(channels, stem, 7, side)
    side //= 2  # the max-pooling layer
    width = stem
    for stage, (size, depth) in enumerate(zip(sizes, depths, strict=True)):
        for block in range(depth):
            before = side
            if stage and block == 0:
                side //= 2
            if block == 0:
                convolve(width, size, 1, side)  # the projection of the shortcut
            convolve(width, size // 4, 1, before)
            convolve(size // 4, size // 4, 3, side)
            convolve(size // 4, size, 1, side)
            width = size
    return ModelSpec(
        name=name,
        kind="cnn",
        layers=1 + 3 * sum(depths) + 1,
        hidden_size=width,
        vocab_size=0,
        max_context=0,
        attention=(),
        params=ParamCounts(
            embedding=0,
            head=0,
            positions=0,
            linear=convolutions + width * classes,
            other=norms + classes,
        ),
        native_format="fp32",
        rest_format="fp32",
        flops_per_inference=2.0 * (multiply_adds + width * classes),
        note=f"FLOPs are those of one {IMAGE_SIDE} x {IMAGE_SIDE} image.",
    )
