"""Parameter counts by transformers itself: models built on torch's meta device, without a weight.

A meta tensor has a shape and no storage, so a model of 47 billion parameters takes no memory. The
configurations are the catalogue's; nothing is drawn and nothing is fetched.
"""

from __future__ import annotations

from typing import Any

from labkit.catalog import Catalog
from labkit.catalog.models import records

MODELS = (
    "smollm2-135m",
    "llama-2-7b",
    "mistral-7b",
    "qwen2.5-7b",
    "llama-3-8b",
    "mixtral-8x7b",
)


def count_on_meta(name: str) -> int:
    """Parameters of the catalogue's model `name`; a tensor that two layers share counts once.

    Raises UnknownNameError.
    """
    catalog = Catalog.load()
    return count_config(records(catalog.snapshot)[catalog.model(name).name]["config"])


def count_config(fields: dict[str, Any]) -> int:
    """Parameters of transformers' model of these configuration fields (`model_type` and on)."""
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM

    # Quantised storage packs several weights into one element: it has no place in a count.
    fields = {key: value for key, value in fields.items() if key != "quantization_config"}
    build: Any = AutoModelForCausalLM.from_config
    with torch.device("meta"):
        model = build(AutoConfig.for_model(**fields))
    return sum(parameter.numel() for parameter in model.parameters())
