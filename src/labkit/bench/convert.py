"""A GGUF file made into a Hugging Face folder, once, so that loading it takes a second.

The result is FP32. Q4_1 stores a block of 32 weights as two FP16 numbers, d and m, and sixteen
levels: w = q·d + m. Such a sum needs up to twenty-odd bits and BF16 has eight, so rounding it to
BF16 would move the weights off the grid that Lab 04 is about. FP32 keeps what transformers
computes, bit for bit.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr
from pathlib import Path
from typing import Any

from labkit.bench.progress import Progress, Report


def convert(gguf: Path, target: Path, report: Report) -> dict[str, Any]:
    """Write model and tokenizer of the Llama-like `gguf` into the existing folder `target`.

    Returns facts for the provenance: parameters and versions. Needs torch, transformers, gguf,
    accelerate. The caller makes it atomic by renaming `target` into place.
    """
    import torch
    import transformers
    from transformers import AutoModelForCausalLM, AutoTokenizer, LlamaConfig, LlamaForCausalLM

    with _quiet_transformers():
        report(Progress("SmolLM2 tokenizer, converting"))
        tokenizer = AutoTokenizer.from_pretrained(gguf.parent, gguf_file=gguf.name)
        report(Progress("SmolLM2 weights, converting to FP32"))
        loaded = AutoModelForCausalLM.from_pretrained(
            gguf.parent, gguf_file=gguf.name, dtype=torch.float32
        )
        # A model loaded from GGUF refuses to be saved; a plain one with its weights does not.
        fields = loaded.config.to_dict()
        fields.pop("quantization_config", None)
        fields["_name_or_path"] = ""
        # GGUF holds it as the nearest FP32 number, 9.99999974e-06.
        fields["rms_norm_eps"] = float(f"{fields['rms_norm_eps']:.6g}")
        model = LlamaForCausalLM(LlamaConfig(**fields))
        model.load_state_dict(loaded.state_dict())
        model.generation_config = loaded.generation_config
        report(Progress("SmolLM2 weights, writing"))
        model.save_pretrained(target)
        tokenizer.save_pretrained(target)
    return {
        "parameters": sum(p.numel() for p in model.parameters()),
        "torch": str(torch.__version__),
        "transformers": str(transformers.__version__),
    }


@contextmanager
def _quiet_transformers() -> Iterator[None]:
    """Without its progress bars, one of which heeds no switch: ours is the only one."""
    from transformers.utils import logging

    control: Any = logging  # its functions carry no types
    shown = control.is_progress_bar_enabled()
    control.disable_progress_bar()
    try:
        with redirect_stderr(io.StringIO()):
            yield
    finally:
        if shown:
            control.enable_progress_bar()
