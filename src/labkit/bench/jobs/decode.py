"""The measurement "decode": SmolLM2-135M in FP32, greedy, one sequence, with a KV cache.

Prefill is done and left out. Beside the whole step two parts of it are timed on the same weights:
reading them (the bandwidth bound of these very tensors) and only the matrix products, so that the
gap to the roofline falls into kernels and framework.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from labkit.bench.sampling import Samples
from labkit.bench.session import Measured, Session
from labkit.bench.weights import ensure_weights

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedModel

PROMPT = (
    "A decoder reads its whole prompt at once and then writes one token after another. "
    "Each new token needs every weight of the model exactly once, which is why"
)
_WARM_TOKENS = 4


def measure(session: Session) -> Measured:
    """Series decode.step and decode.rate (per token), decode.products, decode.read; byte counts."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    weights = ensure_weights(session.report)
    session.say("loading SmolLM2-135M in FP32")
    tokenizer = AutoTokenizer.from_pretrained(weights.folder)
    model: Any = AutoModelForCausalLM.from_pretrained(weights.folder, dtype=torch.float32)
    model.eval().to(session.device)
    prompt = tokenizer(PROMPT, return_tensors="pt").input_ids.to(session.device)
    measured = measure_model(session, model, prompt, tokens=24 if session.quick else 96)
    measured.facts["weights"] = weights.source.key
    measured.facts["weights_label"] = weights.source.label
    return measured


def measure_model(
    session: Session, model: PreTrainedModel, prompt: torch.Tensor, tokens: int
) -> Measured:
    """Time `tokens` greedy steps of any Llama-like `model` after `prompt` (ids of shape [1, n])."""
    import torch

    measured = Measured()
    with torch.inference_mode():
        samples, context = _decode(session, model, prompt, tokens)
        session.say("the same weights: matrix products alone")
        products = session.time(_products(model, session), min_samples=7, budget_s=1.0)
        session.say("the same weights: reading alone")
        reading = session.time(_reading(model), min_samples=7, budget_s=1.0)
    measured.add_times("decode.step", "One token, whole step", samples)
    measured.add_rate("decode.rate", "Decode rate", "tok/s", 1.0, samples)
    measured.add_times("decode.products", "of it: matrix products alone", products)
    measured.add_times("decode.read", "Reading those weights once", reading)
    measured.facts |= byte_counts(model)
    measured.facts |= {
        "batch": 1,
        "prompt_tokens": int(prompt.shape[1]),
        "output_tokens": tokens,
        "mean_context_tokens": context,
    }
    return measured


def byte_counts(model: Any) -> dict[str, Any]:
    """Bytes as counted from the loaded model.

    Resident: every parameter. Streamed per token: every parameter but the input embedding, of
    which one row is read; where embedding and head are one tensor (tied), the head streams it.
    KV per token: 2 (K and V) · layers · KV heads · head size · bytes.
    """
    config = model.config
    parameters = {p.data_ptr(): p for p in model.parameters()}.values()
    resident = sum(p.numel() * p.element_size() for p in parameters)
    embedding = model.get_input_embeddings().weight
    head = model.get_output_embeddings().weight
    tied = embedding.data_ptr() == head.data_ptr()
    table = embedding.numel() * embedding.element_size()
    head_dim = getattr(config, "head_dim", None) or (
        config.hidden_size // config.num_attention_heads
    )
    width = config.num_key_value_heads * head_dim * embedding.element_size()
    return {
        "parameters": sum(p.numel() for p in parameters),
        "bytes_per_parameter": embedding.element_size(),
        "tied_head": tied,
        "resident_bytes": resident,
        "streamed_bytes_per_token": resident if tied else resident - table,
        "kv_bytes_per_token": 2 * config.num_hidden_layers * width,
    }


def _decode(
    session: Session, model: PreTrainedModel, prompt: torch.Tensor, tokens: int
) -> tuple[Samples, float]:
    """Per-token samples, and the mean number of cached tokens that a step attended to."""
    from transformers import DynamicCache

    call: Any = model
    cache = DynamicCache(config=model.config)
    session.say("prefill")
    logits = call(input_ids=prompt, past_key_values=cache, use_cache=True).logits
    latest = [logits[:, -1:].argmax(dim=-1)]

    def step() -> None:
        logits = call(input_ids=latest[0], past_key_values=cache, use_cache=True).logits
        latest[0] = logits[:, -1:].argmax(dim=-1)

    session.say(f"decoding {tokens} tokens")
    # No second try: a further set would have a longer context. Noise is judged as it is.
    samples = session.time(
        step, warmup=_WARM_TOKENS, min_samples=tokens, max_samples=tokens, attempts=1
    )
    first = int(prompt.shape[1]) + _WARM_TOKENS
    return samples, first + (tokens - 1) / 2


def _products(model: PreTrainedModel, session: Session) -> Any:
    """All the Linear layers' products for one row, back to back."""
    import torch

    layers = [m.weight for m in model.modules() if isinstance(m, torch.nn.Linear)]
    rows = {
        w.shape[1]: torch.rand(1, w.shape[1], dtype=w.dtype, device=session.device) for w in layers
    }

    def run() -> None:
        for weight in layers:
            torch.nn.functional.linear(rows[weight.shape[1]], weight)

    return run


def _reading(model: PreTrainedModel) -> Any:
    """A sum over each Linear layer's weights: as little work as reading them can be."""
    import torch

    layers = [m.weight for m in model.modules() if isinstance(m, torch.nn.Linear)]

    def run() -> None:
        for weight in layers:
            weight.sum()

    return run
