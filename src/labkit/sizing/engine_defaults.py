"""What an engine does where nothing is said: its share of memory and its limits, by version.

vLLM's eras (`VLLM_ERAS`) are the releases at which its memory behaviour changed. They and the
defaults were read in the engines' own sources and pull requests, named in `source`. A version
that is not given is the newest era; a version before the first era falls into the first.

SGLang takes `mem_fraction_static` of what is free before loading. Left to itself it keeps
512 MiB + 1.5 MiB per token of a prefill chunk + 2 MiB per sequence of its largest CUDA graph
+ 128 MiB per device of the group, and at least 10 GiB on cards above 60 GiB (0.5.3 on); before
that it was a constant by group size.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from labkit.sizing.units import GIB, MIB
from labkit.sizing.versions import parse_version

BIG_CARD_BYTES = 70 * GIB
_VERY_BIG_CARD_BYTES = 160 * GIB
# vLLM's first engine (V0) cut long prompts into chunks only above this context length.
_V0_CHUNKED_ABOVE = 32_768
_V0_LEAST_TOKENS = 2_048


@dataclass(frozen=True, slots=True)
class Card:
    """What the defaults look at: bytes the engine sees, and the generation of the GPU."""

    usable_bytes: float
    is_a100: bool = False
    before_ampere: bool = False


@dataclass(frozen=True, slots=True)
class Defaults:
    """An engine's defaults on a card. `max_num_batched_tokens`: of one step, all sequences."""

    gpu_memory_utilization: float
    max_num_seqs: int
    max_num_batched_tokens: int
    source: str


@dataclass(frozen=True, slots=True)
class Era:
    """vLLM from release `since` on.

    sampler: "sort" (top-k/top-p by sorting all logits) or "kernel" (one fused pass);
    sampler_may_fuse: FlashInfer's fused sampler took over wherever that library was installed;
    graphs_inside: CUDA graphs are counted within the share of memory;
    chunked: prompts are cut into chunks of `max_num_batched_tokens`.
    """

    since: tuple[int, ...]
    sampler: str
    sampler_may_fuse: bool
    graphs_inside: bool
    chunked: bool
    utilization: float
    source: str


VLLM_ERAS = (
    Era((0,), "sort", False, False, False, 0.90, "vLLM before 0.8 (V0 engine)"),
    Era(
        (0, 8),
        "sort",
        True,
        False,
        True,
        0.90,
        "vLLM 0.8 to 0.16 (V1 engine; top-k/top-p sorts the logits unless FlashInfer is installed)",
    ),
    Era(
        (0, 17),
        "kernel",
        False,
        False,
        True,
        0.90,
        "vLLM 0.17 to 0.19 (Triton top-k/top-p kernels, vllm-project/vllm pull 33538)",
    ),
    Era((0, 20), "kernel", False, False, True, 0.92, "vLLM 0.20 (default share 0.92)"),
    Era(
        (0, 21),
        "kernel",
        False,
        True,
        True,
        0.92,
        "vLLM from 0.21 (CUDA graphs counted inside, vllm-project/vllm pull 30515)",
    ),
)
_V0, _V1 = VLLM_ERAS[0], VLLM_ERAS[1]
_V1_ON_OLD_CARDS = (
    0,
    11,
)  # the release without a V0 engine for cards before Ampere to fall back on

_SGLANG_HEURISTIC_SINCE = (0, 5, 3)
# (below this capacity, tokens of a prefill chunk, largest graph batch for TP < 4, for TP >= 4)
_SGLANG_STEPS = (
    (20 * GIB, 2_048, 8, 8),
    (35 * GIB, 2_048, 24, 80),
    (60 * GIB, 4_096, 32, 160),
    (90 * GIB, 8_192, 256, 512),
)
_SGLANG_BIGGEST = (16_384, 512, 512)
_SGLANG_BEFORE = ((16, 0.79), (8, 0.81), (4, 0.85), (2, 0.87), (1, 0.88))


@lru_cache(maxsize=256)
def vllm_era(version: str | None, before_ampere: bool = False) -> Era:
    """The era a vLLM version belongs to; None is the newest.

    Cards before Ampere ran on the old engine (V0) up to 0.10.
    Raises `SizingError` for a text that is no version.
    """
    if version is None:
        return VLLM_ERAS[-1]
    numbers = parse_version(version)
    if before_ampere and numbers < _V1_ON_OLD_CARDS:
        return _V0
    return next((era for era in reversed(VLLM_ERAS) if numbers >= era.since), _V0)


def vllm_defaults(version: str | None, card: Card, *, max_model_len: int | None = None) -> Defaults:
    """vLLM's `gpu_memory_utilization`, `max_num_seqs` and `max_num_batched_tokens` on a card.

    Sequences: 256; 1,024 on cards of 70 GiB and more other than A100. Tokens of a step: 2,048;
    8,192 on those cards, 16,384 from 160 GiB. The V0 engine runs prompts up to 32,768 tokens
    whole: a step is then as long as `max_model_len`.
    """
    era = vllm_era(version, card.before_ampere)
    if not era.chunked:
        whole = max_model_len is not None and max_model_len <= _V0_CHUNKED_ABOVE
        tokens = max(_V0_LEAST_TOKENS, max_model_len or 0) if whole else _V0_LEAST_TOKENS
        return Defaults(era.utilization, 256, tokens, era.source)
    big = card.usable_bytes >= BIG_CARD_BYTES and not card.is_a100
    tokens = 2_048
    if big:
        tokens = 16_384 if card.usable_bytes >= _VERY_BIG_CARD_BYTES else 8_192
    return Defaults(era.utilization, 1_024 if big else 256, tokens, era.source)


def sglang_defaults(version: str | None, card: Card, tensor_parallel_size: int = 1) -> Defaults:
    """SGLang's `mem_fraction_static`, graph batch and prefill chunk on a card (see the module)."""
    steps = next((s[1:] for s in _SGLANG_STEPS if card.usable_bytes < s[0]), _SGLANG_BIGGEST)
    chunk, batch = steps[0], steps[1] if tensor_parallel_size < 4 else steps[2]
    if version is not None and parse_version(version) < _SGLANG_HEURISTIC_SINCE:
        share = next(s for n, s in _SGLANG_BEFORE if tensor_parallel_size >= n)
        return Defaults(share, batch, chunk, "SGLang before 0.5.3 (a constant by group size)")
    kept = (512 + 1.5 * chunk + 2 * batch + 128 * tensor_parallel_size) * MIB
    if card.usable_bytes > 60 * GIB:
        kept = max(kept, 10 * GIB)
    share = max(0.0, round((card.usable_bytes - kept) / card.usable_bytes, 3))
    return Defaults(share, batch, chunk, "SGLang from 0.5.3 (sgl-project/sglang pull 10975)")
