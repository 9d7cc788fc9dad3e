"""The measurement "decode": SmolLM2-135M in FP32, greedy, one sequence, with a KV cache.

Prefill is done and left out. Beside the whole step two parts of it are timed on the same weights:
reading them (the bandwidth bound of these very tensors) and only the matrix products, so that the
gap to the roofline falls into kernels and framework. Those parts are taken before, amid and after
the tokens, so that they meet the same conditions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from labkit.bench.rounds import ROUNDS, Rounds
from labkit.bench.sampling import Samples, pool
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
    if session.device == "cpu":
        in_one_block(model)
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
        decoder = _Decoder(session, model, prompt)
        parts = _Parts(session, model)
        parts.take_round()
        first = decoder.decode(tokens // 2, warmup=_WARM_TOKENS)
        parts.take_round()
        samples = pool([first, decoder.decode(tokens - tokens // 2)])
        parts.take_round()
    measured.add_times("decode.step", "One token, whole step", samples)
    measured.add_rate("decode.rate", "Decode rate", "tok/s", 1.0, samples)
    products, reading = parts.products.pooled(), parts.reading.pooled()
    measured.add_times("decode.products", "of it: matrix products alone", products)
    measured.add_times("decode.read", "Reading those weights once", reading)
    measured.facts |= byte_counts(model)
    measured.facts |= {
        "batch": 1,
        "prompt_tokens": int(prompt.shape[1]),
        "output_tokens": tokens,
        # cached tokens that a step attended to, from the first counted step to the last
        "mean_context_tokens": int(prompt.shape[1]) + _WARM_TOKENS + (tokens - 1) / 2,
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


def in_one_block(model: Any) -> None:
    """Move the parameters into one block of memory, where they can have huge pages.

    Each on its own they lie in small pages of a mapped file, and the bandwidth they meet depends
    on chance; so they lie like the buffers whose bandwidth the measurement "machine" takes.
    Parameters that share memory (a tied head) still do.
    """
    import torch

    by_place: dict[int, list[torch.nn.Parameter]] = {}
    for parameter in model.parameters():
        by_place.setdefault(parameter.data_ptr(), []).append(parameter)
    first = [same[0] for same in by_place.values()]
    block = torch.empty(sum(p.numel() for p in first), dtype=first[0].dtype)
    places = torch.split(block, [p.numel() for p in first])
    for same, place in zip(by_place.values(), places, strict=True):
        view = place.view(same[0].shape)
        view.copy_(same[0].detach())
        for parameter in same:
            parameter.data = view


class _Decoder:
    """Greedy decode of one sequence, in stretches; the prompt is prefilled at once, untimed."""

    def __init__(self, session: Session, model: PreTrainedModel, prompt: torch.Tensor) -> None:
        from transformers import DynamicCache

        self._session = session
        self._model: Any = model
        self._cache = DynamicCache(config=model.config)
        session.say("prefill")
        self._latest = self._next(prompt)

    def _next(self, ids: torch.Tensor) -> torch.Tensor:
        logits = self._model(input_ids=ids, past_key_values=self._cache, use_cache=True).logits
        token: torch.Tensor = logits[:, -1:].argmax(dim=-1)
        return token

    def _step(self) -> None:
        self._latest = self._next(self._latest)

    def decode(self, tokens: int, warmup: int = 0) -> Samples:
        """One sample per token, after `warmup` tokens that are not counted."""
        self._session.say(f"decoding {tokens} tokens")
        # No second try: a further set would have a longer context. Noise is judged as it is.
        return self._session.time(
            self._step, warmup=warmup, min_samples=tokens, max_samples=tokens, attempts=1
        )


class _Parts:
    """Rounds of two parts of a step on the same weights: matrix products, and mere reading."""

    def __init__(self, session: Session, model: PreTrainedModel) -> None:
        self._session = session
        self._run_products = _products(model, session)
        self._run_reading = _reading(model)
        budget = 0.2 if session.quick else 0.4
        self.products = Rounds(session, budget)
        self.reading = Rounds(session, budget)

    def take_round(self) -> None:
        """Products, then reading."""
        number = len(self.products.taken) + 1
        self._session.say(f"its products and reads alone, round {number} of {ROUNDS}")
        self.products.take(self._run_products)
        self.reading.take(self._run_reading)


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
