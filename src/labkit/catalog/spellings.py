"""Model names as people write them: hub ids, tuning suffixes, quantizers' suffixes, odd dashes.

"meta-llama/Meta-Llama-3.1-8B-Instruct", "Llama-2-7B-Chat", "Qwen2___5-3B" and "llama2 7b" all
name a shipped model. Words that say how a checkpoint was tuned do not change its shape and are
dropped. Words that say how it was quantized change its bytes: they are dropped only by
`without_quantizer`, for callers who learn the number format elsewhere.
"""

from __future__ import annotations

import re

_TUNING = frozenset(
    ("meta", "instruct", "instruction", "chat", "it", "hf", "base", "pt", "sft", "dpo", "rlhf")
)
_QUANTIZERS = frozenset(
    (
        *("awq", "gptq", "bnb", "unsloth", "gguf", "ggml", "exl2", "marlin", "g128", "onnx", "mlx"),
        *("fp8", "fp16", "bf16", "int8", "int4", "nf4", "mxfp4", "nvfp4", "4bit", "8bit"),
        *("w4a16", "w8a8", "w8a16", "quantized", "dynamic", "block", "kv", "thinking"),
    )
)
_BITS = re.compile(r"\b([48])[ -]bit\b")
_HUB_ID = re.compile(r"[\w.-]*\w[\w.-]*/[^/]+")  # owner/name: not a path
_DATE = re.compile(r"(20)?2[3-9][01]\d")  # 2407, 2507, 202412


def squeezed(name: str) -> str:
    """The letters, digits and points of `name`, tuning words and the owner left out.

    >>> squeezed("meta-llama/Meta-Llama-3.1-8B-Instruct") == squeezed("llama 3.1 8b")
    True
    """
    return "".join(_words(name, _TUNING))


def without_quantizer(name: str) -> str:
    """Like `squeezed`, and without the words that name a quantizer, a format or a date.

    >>> without_quantizer("unsloth/phi-4-bnb-4bit") == squeezed("microsoft/phi-4")
    True
    """
    words = _words(name, _TUNING)
    while len(words) > 1 and (words[-1] in _QUANTIZERS or _DATE.fullmatch(words[-1])):
        words.pop()
    return "".join(words)


def _words(name: str, dropped: frozenset[str]) -> list[str]:
    last = name.strip().casefold()
    if _HUB_ID.fullmatch(last):
        last = last.split("/")[1]
    # ModelScope writes a point in a folder's name as three underscores.
    last = _BITS.sub(r"\1bit", last).replace("___", ".")
    words = [word for word in re.split(r"[\s_\-:()]+", last) if word]
    kept = [word for word in words if word not in dropped]
    return kept or words
