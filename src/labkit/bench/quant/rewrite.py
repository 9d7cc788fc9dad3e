"""Rounded weights in a running model, and the bytes they would take packed."""

from __future__ import annotations

from typing import Any

from labkit.bench.quant.formats import Format
from labkit.bench.quant.schemes import SCHEMES, Matrix, Scheme


class Rewriter:
    """Gives a Llama-like FP32 `model` with a tied head the weights of one format after another.

    Every format starts from the original weights, which are kept beside the model's.
    """

    def __init__(self, model: Any) -> None:
        import torch

        self._model = model
        embedding = model.get_input_embeddings()
        self._embedding = embedding.weight
        if model.get_output_embeddings().weight.data_ptr() != self._embedding.data_ptr():
            raise ValueError("This counts a tied head; the model has one of its own.")
        self._matrices = [
            module.weight
            for module in model.modules()
            if isinstance(module, torch.nn.Linear)
            and module.weight.data_ptr() != self._embedding.data_ptr()
        ]
        self._original: dict[int, Matrix] = {
            id(weight): weight.detach().cpu().numpy().copy()
            for weight in (self._embedding, *self._matrices)
        }

    def apply(self, form: Format) -> None:
        """Put the weights as `form` rounds them in place."""
        self._write(self._embedding, SCHEMES[form.embedding])
        for weight in self._matrices:
            self._write(weight, SCHEMES[form.matrices])

    def counts(self, form: Format) -> dict[str, Any]:
        """`bits`, `bits_per_weight` of the matrices, and `weight_bytes` of all weights."""
        scheme, outer = SCHEMES[form.matrices], SCHEMES[form.embedding]
        matrices = sum(scheme.packed_bytes(*weight.shape) for weight in self._matrices)
        elements = sum(weight.numel() for weight in self._matrices)
        embedding = outer.packed_bytes(*self._embedding.shape)
        total = sum({p.data_ptr(): p.numel() for p in self._model.parameters()}.values())
        norms = 4 * (total - elements - self._embedding.numel())
        return {
            "bits": scheme.bits,
            "bits_per_weight": round(8 * matrices / elements, 4),
            "embedding": form.embedding,
            "weight_bytes": matrices + embedding + norms,
        }

    def _write(self, weight: Any, scheme: Scheme) -> None:
        import torch

        rounded = scheme.round(self._original[id(weight)])
        with torch.no_grad():
            weight.copy_(torch.from_numpy(rounded))
