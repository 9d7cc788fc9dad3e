"""The measurement "big_decode": decode with a random-weight model that fills 60 % of a GPU.

A 135M model on a big GPU measures Python and launches; this one is big enough to measure memory.
Its weights are drawn on the device, so nothing is downloaded. Random weights decode nonsense at
the same speed as trained ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from labkit.bench import device
from labkit.bench.jobs.decode import measure_model
from labkit.bench.session import Measured, Session
from labkit.contract import LabkitError

if TYPE_CHECKING:
    from transformers import LlamaConfig

FILL = 0.60
_PROMPT_TOKENS = 32
_SEED = 20260101


@dataclass(frozen=True, slots=True)
class Shape:
    """Widths of a Llama-like layer; the number of layers then fills the memory."""

    hidden: int = 4096
    inner: int = 14336
    heads: int = 32
    kv_heads: int = 8
    vocabulary: int = 32000

    @property
    def layer_parameters(self) -> int:
        """q and o, k and v, three matrices of the SwiGLU, two norms."""
        head = self.hidden // self.heads
        attention = 2 * self.hidden * self.hidden + 2 * self.hidden * self.kv_heads * head
        return attention + 3 * self.hidden * self.inner + 2 * self.hidden

    @property
    def outer_parameters(self) -> int:
        """Embedding, untied head, last norm."""
        return 2 * self.vocabulary * self.hidden + self.hidden

    def layers(self, memory_bytes: int, bytes_per_parameter: int = 2) -> int:
        """How many layers fill 60 % of `memory_bytes`. Raises LabkitError when not even two do."""
        room = FILL * memory_bytes / bytes_per_parameter - self.outer_parameters
        count = int(room // self.layer_parameters)
        if count < 2:
            raise LabkitError(
                f"A GPU with {memory_bytes / 2**30:.1f} GiB is too small for this measurement: use "
                "bench.decode(), or bench.big_decode(replay=True)."
            )
        return count


def measure(session: Session) -> Measured:
    """As `decode`, in BF16, with the big model."""
    memory = device.pick(session.device).memory_bytes
    if memory is None:
        raise LabkitError(f"torch does not tell how much memory this {session.device} device has.")
    return measure_shape(session, Shape(), memory)


def measure_shape(session: Session, shape: Shape, memory_bytes: int) -> Measured:
    """Build the model of that `shape` for that much memory, and time it."""
    import torch
    from transformers import LlamaForCausalLM

    layers = shape.layers(memory_bytes)
    session.say(f"drawing random weights for {layers} layers")
    torch.manual_seed(_SEED)
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.bfloat16)
    try:
        with torch.device(session.device):
            model: Any = LlamaForCausalLM(_config(shape, layers))
    finally:
        torch.set_default_dtype(before)
    model.eval()
    prompt = torch.randint(0, shape.vocabulary, (1, _PROMPT_TOKENS), device=session.device)
    tokens = 16 if session.quick else 64
    measured = measure_model(session, model, prompt, tokens)
    measured.facts["layers"] = layers
    measured.notes.append("The weights are random: speed and bytes are real, the text is not.")
    return measured


def _config(shape: Shape, layers: int) -> LlamaConfig:
    from transformers import LlamaConfig

    return LlamaConfig(
        hidden_size=shape.hidden,
        intermediate_size=shape.inner,
        num_attention_heads=shape.heads,
        num_key_value_heads=shape.kv_heads,
        num_hidden_layers=layers,
        vocab_size=shape.vocabulary,
        tie_word_embeddings=False,
    )
