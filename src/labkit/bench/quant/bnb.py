"""SmolLM2 as bitsandbytes quantises it while loading; its matrix kernels then run it."""

from __future__ import annotations

import importlib.util
import logging
from pathlib import Path
from typing import Any

from labkit.bench.quant.formats import Format
from labkit.bench.quant.sizes import distinct_bytes, held_bytes, scales, weight_bytes
from labkit.contract.remedies import set_up_again


def missing() -> str | None:
    """Why bitsandbytes cannot be used and what to do, or None where it is installed."""
    if importlib.util.find_spec("bitsandbytes") is not None:
        return None
    remedy = set_up_again("`pip install bitsandbytes`")
    return f"bitsandbytes is not installed: get it with {remedy}."


def load(folder: Path, form: Format, device: str) -> Any:
    """The model with its matrices quantised; embedding and norms in FP32, as is the arithmetic."""
    import torch
    from transformers import AutoModelForCausalLM, BitsAndBytesConfig

    configure: Any = BitsAndBytesConfig  # carries no types
    # It says at every product that INT8 casts its input to FP16.
    logging.getLogger("bitsandbytes").setLevel(logging.ERROR)
    if form.bitsandbytes == "8bit":
        options: dict[str, Any] = {"load_in_8bit": True}
    else:
        options = {
            "load_in_4bit": True,
            "bnb_4bit_quant_type": "nf4",
            "bnb_4bit_compute_dtype": torch.float32,
        }
    model: Any = AutoModelForCausalLM.from_pretrained(
        folder,
        dtype=torch.float32,
        quantization_config=configure(**options),
        device_map={"": device},
    )
    return model.eval()


def counts(model: Any, form: Format) -> dict[str, Any]:
    """`bits`, `bits_per_weight` of the quantised matrices, `weight_bytes` and `held_bytes`.

    Of a model that has not run yet: INT8's first product takes the scales from the weights.
    """
    from bitsandbytes.nn.modules import Linear4bit, Linear8bitLt

    packed = elements = 0
    for module in model.modules():
        if isinstance(module, (Linear4bit, Linear8bitLt)):
            packed += distinct_bytes([module.weight, *scales(module.weight)])
            elements += module.in_features * module.out_features
    return {
        "bits": form.bits,
        "bits_per_weight": round(8 * packed / elements, 4),
        "embedding": "F32",
        "weight_bytes": weight_bytes(model),
        "held_bytes": held_bytes(model),
    }
