"""From a Hugging Face `config.json` to a `ModelSpec`: the one path by which all models come.

The models that labkit ships are stored as the same configuration fields and go through here too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from labkit.catalog import architecture, encoders, parameters
from labkit.catalog.adapters import adapt
from labkit.catalog.architecture import Architecture
from labkit.catalog.errors import ConfigError
from labkit.catalog.families import family_name, family_of
from labkit.catalog.family import Family
from labkit.catalog.hf_config import canonical, read_config, text_part, validate
from labkit.catalog.native_format import native_format
from labkit.catalog.specs import Attention, ModelSpec, MoE

_WITHOUT_CACHE: Mapping[str, Callable[[Mapping[str, Any], str], ModelSpec]] = MappingProxyType(
    {"bert": encoders.bert, "resnet": encoders.resnet}
)


def spec_from_file(path: Path) -> ModelSpec:
    """The model that a `config.json` (or the folder that holds one) describes."""
    raw = read_config(path)
    folder = path if path.is_dir() else path.parent
    return spec_from_fields(raw, folder.resolve().name or "model", label=str(path))


def spec_from_fields(raw: Mapping[str, Any], name: str, label: str = "") -> ModelSpec:
    """The model that configuration fields describe.

    Raises `ConfigError`, one sentence, where fields are missing, senseless or contradictory.
    """
    label = label or f"The configuration of {name}"
    if not isinstance(raw, Mapping):
        raise ConfigError(f"{label} must be an object, not a {type(raw).__name__}.")
    outer_type = raw.get("model_type") or ""
    if not isinstance(outer_type, str):
        raise ConfigError(f"{label} gives model_type = {outer_type!s:.40}: a text is needed.")
    if outer_type in _WITHOUT_CACHE:
        spec = _WITHOUT_CACHE[outer_type](raw, name)
        return replace(spec, architecture=outer_type)
    if raw.get("is_encoder_decoder") is True:
        raise ConfigError(f"{label} is an encoder-decoder model: only decoders are counted.")
    inner, wrapped = text_part(raw)
    fields = canonical(inner)
    model_type = str(fields.get("model_type") or outer_type)
    family = family_of(model_type)
    notes = []
    if wrapped:
        notes.append("Only the text decoder of a multimodal model is counted.")
    if family is None:
        shown = f"{model_type!r} " if model_type else ""
        notes.append(
            f"The architecture {shown}is not a listed one: its parameters are counted by the "
            "general decoder rules and may be off."
        )
        family = Family(qkv_bias="attention_bias", out_bias="attention_bias", mlp_bias="mlp_bias")
    config = validate(adapt(family_name(model_type), {**family.defaults, **fields}), label)
    shape = architecture.build(config, family, label)
    native = native_format(fields)
    if native.note:
        notes.append(native.note)
    if "linear" in shape.kinds:
        notes.append("Its linear-attention layers are counted as if they were ordinary ones.")
    return ModelSpec(
        name=name,
        kind="decoder",
        layers=shape.layers,
        hidden_size=shape.hidden,
        vocab_size=shape.vocab,
        max_context=config.max_position_embeddings or 0,
        attention=_attention(shape),
        params=parameters.count(shape, family),
        native_format=native.name,
        native_parts=native.parts,
        rest_format=native.rest,
        moe=_moe(shape),
        architecture=model_type,
        note=" ".join(notes),
    )


def _attention(shape: Architecture) -> tuple[Attention, ...]:
    """Layers grouped by kind, in the order in which the kinds first appear."""
    latent = shape.latent
    return tuple(
        Attention(
            kind=kind,
            layers=layers,
            heads=shape.heads,
            kv_heads=shape.heads if latent else shape.kv_heads,
            head_dim=shape.head_dim,
            value_head_dim=latent.value_dim if latent else 0,
            window=shape.window if kind == "sliding" else None,
            latent_dim=latent.kv_rank if latent else 0,
            rope_dim=latent.rope_dim if latent else 0,
        )
        for kind, layers in Counter(shape.kinds).items()
    )


def _moe(shape: Architecture) -> MoE | None:
    if shape.experts is None or not any(shape.moe_mask):
        return None
    return MoE(
        experts=shape.experts.count,
        experts_per_token=shape.experts.per_token,
        shared_experts=shape.experts.shared,
        moe_layers=sum(shape.moe_mask),
    )
