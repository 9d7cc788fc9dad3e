"""The formats of the measurement "quantization": what each does to matrices and to the embedding.

Norms stay in FP32 everywhere; they are 0.03 % of the weights.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Format:
    """One format. `matrices` and `embedding` name schemes; the embedding is also the head.

    `torch_dtype`: run natively by torch in this dtype. `bitsandbytes`: the option of transformers'
    BitsAndBytesConfig that loads it. `gguf`: also written as a file and run by llama.cpp.
    """

    key: str
    label: str
    kind: str
    matrices: str = ""
    embedding: str = ""
    torch_dtype: str = ""
    bitsandbytes: str = ""
    gguf: bool = False
    bits: int = 0


def _block(key: str) -> Format:
    """A GGUF block format. The embedding is Q8_0, as llama.cpp's own files have it at least."""
    name = key.upper()
    return Format(key, name, "gguf", name, "Q8_0", gguf=True)


def _rounded(bits: int) -> Format:
    label = f"RTN {bits}-bit, g64"
    return Format(f"rtn{bits}", label, "rtn", f"RTN{bits}", "Q8_0")


FORMATS = {
    form.key: form
    for form in (
        Format("fp32", "FP32", "float", "F32", "F32", torch_dtype="float32", gguf=True),
        Format("bf16", "BF16", "float", "BF16", "BF16", torch_dtype="bfloat16"),
        Format("fp16", "FP16", "float", "F16", "F16", torch_dtype="float16", gguf=True),
        _block("q8_0"),
        Format("fp8", "FP8 E4M3", "fp8", "E4M3", "BF16"),
        Format("bnb_int8", "INT8 (bitsandbytes)", "bitsandbytes", bitsandbytes="8bit", bits=8),
        _block("q4_1"),
        _block("q4_0"),
        Format("bnb_nf4", "NF4 (bitsandbytes)", "bitsandbytes", bitsandbytes="4bit", bits=4),
        _rounded(4),
        _rounded(3),
        _rounded(2),
    )
}
