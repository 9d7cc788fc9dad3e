"""The measurement "memory": what the KV cache of a real model holds, counted to the byte.

SmolLM2-135M reads token after token into one cache. After so many tokens the K and V tensors of
all layers are counted as they are, in FP32 and in BF16. Beside the counts two things are sampled
that cannot be exact: the process's resident memory around building a cache, and the time it takes.
"""

from __future__ import annotations

import ctypes
import gc
import itertools
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from labkit.bench.jobs.meta import MODELS, count_on_meta
from labkit.bench.sampling import Samples
from labkit.bench.session import Measured, Session
from labkit.bench.weights import ensure_weights
from labkit.contract import Series

if TYPE_CHECKING:
    import torch

TOKENS = (1, 16, 64, 128, 256, 512)
# The share of a GPU's memory that a serving engine claims by default.
BUDGET_SHARE = 0.9
# A longer piece would leave activations in resident memory that are larger than the cache.
_PIECE = 64
_QUICK_BUILD = 64
_NOTE = (
    "The byte counts are exact on any machine. Resident memory is not: the allocator keeps and "
    "re-uses pages, so its growth can be more than the cache, or nothing."
)


def measure(session: Session) -> Measured:
    """Facts kv, config, meta_parameters (and cuda); series rss.growth (MB) and kv.build (ms)."""
    import torch
    from transformers import AutoModelForCausalLM

    weights = ensure_weights(session.report)
    if session.device == "cuda":
        torch.cuda.reset_peak_memory_stats()
    session.say("loading SmolLM2-135M in FP32")
    model: Any = AutoModelForCausalLM.from_pretrained(weights.folder, dtype=torch.float32)
    model.eval().to(session.device)
    measured = measure_model(session, model, TOKENS)
    measured.facts["weights"] = weights.source.key
    session.say(f"counting {len(MODELS)} models without weights")
    measured.facts["meta_parameters"] = {name: count_on_meta(name) for name in MODELS}
    return measured


def measure_model(session: Session, model: Any, tokens: Sequence[int]) -> Measured:
    """Count and time the cache of any Llama-like FP32 `model`; leaves it in BF16."""
    import torch

    measured = Measured()
    vocabulary = model.config.vocab_size
    ids = torch.arange(max(tokens), device=session.device).remainder(vocabulary).reshape(1, -1)
    kv: dict[str, dict[str, list[int]]] = {}
    with torch.inference_mode():
        session.say("building the cache, FP32")
        kv["fp32"] = _growth(model, ids, tokens)
        built = _QUICK_BUILD if session.quick else max(tokens)
        growth, samples = _build(session, model, ids[:, :built])
        if session.device == "cuda":
            held = _fill(model, ids)
            measured.facts["cuda"] = device_memory(torch.cuda, model, cache_bytes(held))
            del held
        session.say("building the cache, BF16")
        kv["bf16"] = _growth(model.to(torch.bfloat16), ids, tokens)
    measured.series.append(
        Series("rss.growth", "MB", growth, f"Resident memory: growth by {built} tokens of cache")
    )
    measured.add_times("kv.build", f"Building {built} tokens of cache, FP32", samples)
    measured.facts |= {"kv": kv, "built_tokens": built, "config": shape_of(model.config)}
    measured.notes.append(_NOTE)
    return measured


def shape_of(config: Any) -> dict[str, int]:
    """The five numbers of a config that decide the size of a KV cache."""
    heads = int(config.num_attention_heads)
    return {
        "num_hidden_layers": int(config.num_hidden_layers),
        "num_attention_heads": heads,
        "num_key_value_heads": int(config.num_key_value_heads),
        "head_dim": int(getattr(config, "head_dim", None) or config.hidden_size // heads),
        "hidden_size": int(config.hidden_size),
    }


def cache_bytes(cache: Any) -> int:
    """Bytes of the K and V tensors of all layers: their elements, not what was reserved."""
    return sum(
        tensor.numel() * tensor.element_size()
        for layer in cache.layers
        for tensor in (layer.keys, layer.values)
    )


def device_memory(cuda: Any, model: Any, kv_bytes: int) -> dict[str, Any]:
    """What torch's `cuda` says about allocated memory, beside the bytes that were counted."""
    free, total = cuda.mem_get_info()
    weights = {p.data_ptr(): p.numel() * p.element_size() for p in model.parameters()}
    return {
        "total_bytes": int(total),
        "free_bytes": int(free),
        "budget_share": BUDGET_SHARE,
        "budget_bytes": int(total * BUDGET_SHARE),
        "allocated_bytes": int(cuda.memory_allocated()),
        "max_allocated_bytes": int(cuda.max_memory_allocated()),
        "weights_bytes": sum(weights.values()),
        "kv_bytes": kv_bytes,
    }


def _feed(model: Any, cache: Any, ids: torch.Tensor) -> None:
    """Read `ids` (shape [1, n]) into `cache`, in pieces; only the last row goes to the head."""
    for start in range(0, ids.shape[1], _PIECE):
        piece = ids[:, start : start + _PIECE]
        model(input_ids=piece, past_key_values=cache, use_cache=True, logits_to_keep=1)


def _fill(model: Any, ids: torch.Tensor) -> Any:
    from transformers import DynamicCache

    cache = DynamicCache(config=model.config)
    _feed(model, cache, ids)
    return cache


def _growth(model: Any, ids: torch.Tensor, tokens: Sequence[int]) -> dict[str, list[int]]:
    """One cache that grows; its bytes after each of the rising `tokens`."""
    cache = _fill(model, ids[:, : tokens[0]])
    counted = [cache_bytes(cache)]
    for before, after in itertools.pairwise(tokens):
        _feed(model, cache, ids[:, before:after])
        counted.append(cache_bytes(cache))
    return {"tokens": list(tokens), "bytes": counted}


def _build(session: Session, model: Any, ids: torch.Tensor) -> tuple[tuple[float, ...], Samples]:
    """Build the whole cache several times; growth of resident memory (MB) and time of each."""
    grown: list[float] = []

    def step() -> None:
        before = resident_bytes()
        cache = _fill(model, ids)
        grown.append(round((resident_bytes() - before) / 1e6, 3))
        del cache
        release_pages()

    release_pages()
    count = 3 if session.quick else 5
    # No warm-up: this model has just filled a cache. No second try: the counts do not need it.
    samples = session.time(step, warmup=0, min_samples=count, max_samples=count, attempts=1)
    return tuple(grown), samples


def resident_bytes() -> int:
    """Resident memory of this process."""
    import psutil  # type: ignore[import-untyped]  # it ships no types

    return int(psutil.Process().memory_info().rss)


def release_pages() -> None:
    """Give freed pages back to the system where the C library can (glibc), so that growth shows."""
    gc.collect()
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # musl has none
        if trim is not None:
            trim(0)
