"""GGUF files of the small model, written by gguf-py from the weights in the cache, and kept there.

One file per format, from the same FP32 weights that torch scores, so that a file's size, its speed
in llama.cpp and its loss belong together. The five files take 1.1 GB of the cache.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from labkit.bench.quant.formats import Format
from labkit.bench.weights import Weights

# Part of the folder's name: a new number when the files would come out differently.
_VERSION = 1
_FILE_TYPES = {"F32": "ALL_F32"}  # the others are called MOSTLY_… in GGUF's table


def file_of(weights: Weights, form: Format) -> Path:
    """Where the file of `form` lies, or would lie."""
    folder = weights.folder.parent / f"{weights.source.key}-gguf-{_VERSION}"
    return folder / f"{form.matrices}.gguf"


def ensure_file(weights: Weights, form: Format) -> Path:
    """The file of `form`, written first where it is not there yet. Needs gguf and safetensors."""
    path = file_of(weights, form)
    if path.is_file():
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(f".{os.getpid()}.part")
    try:
        write_file(weights.folder, part, form)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
    return path


def write_file(folder: Path, path: Path, form: Format) -> None:
    """Write the Llama-like model of a Hugging Face `folder` as GGUF, as `form` quantises it."""
    import gguf

    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    writer = gguf.GGUFWriter(path, "llama")
    _add_shape(writer, config)
    kind = _FILE_TYPES.get(form.matrices, f"MOSTLY_{form.matrices}")
    writer.add_file_type(int(gguf.LlamaFileType[kind]))
    writer.add_quantization_version(gguf.GGML_QUANT_VERSION)
    _add_tokenizer(writer, folder, config)
    _add_tensors(writer, folder, config, form)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _add_shape(writer: Any, config: dict[str, Any]) -> None:
    rope = config.get("rope_parameters") or config
    writer.add_block_count(config["num_hidden_layers"])
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(config["hidden_size"])
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_head_count(config["num_attention_heads"])
    writer.add_head_count_kv(config["num_key_value_heads"])
    writer.add_rope_freq_base(float(rope["rope_theta"]))
    writer.add_rope_dimension_count(_head_dim(config))
    writer.add_layer_norm_rms_eps(float(config["rms_norm_eps"]))
    writer.add_vocab_size(config["vocab_size"])


def _add_tokenizer(writer: Any, folder: Path, config: dict[str, Any]) -> None:
    """The byte-level BPE vocabulary: tokens in order, their merges, and which are control."""
    import gguf

    found = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))
    ids = dict(found["model"]["vocab"])
    special = {item["content"]: item["id"] for item in found["added_tokens"]}
    ids |= special
    tokens = sorted(ids, key=lambda token: ids[token])
    merges = [m if isinstance(m, str) else " ".join(m) for m in found["model"]["merges"]]
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("smollm")
    writer.add_token_list(tokens)
    writer.add_token_merges(merges)
    control, normal = gguf.TokenType.CONTROL, gguf.TokenType.NORMAL
    writer.add_token_types([int(control if t in special else normal) for t in tokens])
    writer.add_bos_token_id(config["bos_token_id"])
    writer.add_eos_token_id(config["eos_token_id"])


def _add_tensors(writer: Any, folder: Path, config: dict[str, Any], form: Format) -> None:
    import gguf
    import torch
    from safetensors import safe_open

    names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.LLAMA, config["num_hidden_layers"])
    heads = {
        "q_proj.weight": config["num_attention_heads"],
        "k_proj.weight": config["num_key_value_heads"],
    }
    with safe_open(folder / "model.safetensors", framework="pt") as tensors:
        for name in tensors.keys():  # noqa: SIM118  it is no mapping
            values = tensors.get_tensor(name).to(torch.float32).numpy()
            target = names.get_name(name, try_suffixes=(".weight",))
            if target is None:
                raise ValueError(f"GGUF has no name for the tensor {name!r}.")
            for suffix, count in heads.items():
                if name.endswith(suffix):
                    values = pair_rows(values, count)
            scheme = form.embedding if "embed_tokens" in name else form.matrices
            kind = gguf.GGMLQuantizationType[scheme if values.ndim > 1 else "F32"]
            packed = gguf.quants.quantize(values, kind)
            writer.add_tensor(target, packed, raw_dtype=kind)


def pair_rows(weights: Any, heads: int) -> Any:
    """Rows of a Q or K matrix in GGUF's order for Llama, head by head.

    Hugging Face rotates row i with row i + d/2 of a head, llama.cpp row 2i with row 2i + 1. Whole
    rows move, so no block of a quantised row changes.
    """
    rows = weights.shape[0]
    halves = weights.reshape(heads, 2, rows // heads // 2, *weights.shape[1:])
    return halves.swapaxes(1, 2).reshape(weights.shape)


def _head_dim(config: dict[str, Any]) -> int:
    given = config.get("head_dim")
    return int(given or config["hidden_size"] // config["num_attention_heads"])
