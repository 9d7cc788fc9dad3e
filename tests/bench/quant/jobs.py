"""The quantization job on a two-layer model, in a real worker process."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

from labkit.bench.progress import Report, silent
from labkit.bench.session import Session
from labkit.bench.weights import SOURCES, Weights


def _folder(options: dict[str, Any]) -> Path:
    """The tiny GGUF as a Hugging Face folder: its matrices lie on the Q4_1 grid."""
    from labkit.bench.convert import convert

    target = Path(options["target"])
    if not (target / "config.json").is_file():
        target.mkdir()
        convert(Path(options["gguf"]), target, silent)
    return target


def _session(options: dict[str, Any], report: Report) -> Session:
    """On a fake GPU the tensors stay where they are, and torch's word for it is faked."""
    device = options.get("device", "cpu")
    if device == "cuda":
        import torch

        from labkit.bench.quant import bnb

        torch.cuda.synchronize = lambda: None
        torch.cuda.get_device_capability = lambda _: (9, 0)
        load = bnb.load
        bnb.load = lambda folder, form, _: load(folder, form, "cpu")
    return Session(device, quick=True, threads=1, report=report, options=options)


def _run(options: dict[str, Any], report: Report) -> Any:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    from labkit.bench.jobs import quantization

    folder = _folder(options)
    source = SOURCES[0 if options.get("original") else 1]
    model: Any = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    rng = torch.Generator().manual_seed(3)
    windows = torch.randint(30, 280, (4, 100), generator=rng)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    weights = Weights(folder, source, {})
    return quantization.Run(_session(options, report), weights, model.eval(), tokenizer, windows)


def whole(options: dict[str, Any], report: Report) -> dict[str, Any]:
    """The whole job; `absent` names packages that are not to be found."""
    absent = options.get("absent", [])
    find = importlib.util.find_spec
    importlib.util.find_spec = lambda name, *rest: None if name in absent else find(name, *rest)
    run = _run(options, report)
    run.speeds()
    run.scores()
    found = run.finish()
    return {
        "facts": found.facts,
        "notes": found.notes,
        "series": {series.name: list(series.samples) for series in found.series},
    }


def scores_twice(options: dict[str, Any], report: Report) -> dict[str, Any]:
    """Losses of the FP32 weights before and after every other format was in their place."""
    import torch

    from labkit.bench.quant.formats import FORMATS
    from labkit.bench.quant.kv import KvFormat, measure_kv
    from labkit.bench.quant.rewrite import Rewriter
    from labkit.bench.quant.score import window_losses

    run = _run(options, report)
    model, windows = run._model, run._windows
    before = window_losses(model, windows)
    writer = Rewriter(model)
    for key in ("rtn2", "q4_0", "fp8", "fp32"):
        writer.apply(FORMATS[key])
    exact = measure_kv(model, windows, KvFormat("exact", "unrounded", 4, 0, lambda x: x))
    wiped = measure_kv(model, windows, KvFormat("zero", "all zero", 4, 0, torch.zeros_like))
    return {
        "before": before,
        "after": window_losses(model, windows),
        "exact": exact,
        "wiped": wiped,
        "attention": model.config._attn_implementation,
    }


def files(options: dict[str, Any], report: Report) -> dict[str, Any]:
    """Each GGUF file against the folder it was written from, as transformers reads both."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    from labkit.bench.quant import ggufs
    from labkit.bench.quant.formats import FORMATS
    from labkit.bench.quant.rewrite import Rewriter

    folder = _folder(options)
    weights = Weights(folder, SOURCES[1], {})
    model: Any = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    writer = Rewriter(model)
    ids = torch.arange(30, 62).reshape(1, 32)
    found: dict[str, Any] = {}
    for form in FORMATS.values():
        if not form.gguf:
            continue
        path = ggufs.ensure_file(weights, form)
        stamp = path.stat().st_mtime_ns
        again = ggufs.ensure_file(weights, form).stat().st_mtime_ns
        read: Any = AutoModelForCausalLM.from_pretrained(
            path.parent, gguf_file=path.name, dtype=torch.float32
        )
        writer.apply(form)
        with torch.inference_mode():
            difference = (read(input_ids=ids).logits - model(input_ids=ids).logits).abs().max()
        tokenizer = AutoTokenizer.from_pretrained(path.parent, gguf_file=path.name)
        found[form.key] = {
            "difference": float(difference),
            "tensor_bytes": _tensor_bytes(path),
            "weight_bytes": writer.counts(form)["weight_bytes"],
            "kept": stamp == again,
            "same_tokens": tokenizer("Groups of 64")["input_ids"]
            == AutoTokenizer.from_pretrained(folder)("Groups of 64")["input_ids"],
            "leftovers": [p.name for p in path.parent.glob("*.part")],
        }
    return json.loads(json.dumps(found))


def _tensor_bytes(path: Path) -> int:
    import gguf

    return sum(int(tensor.n_bytes) for tensor in gguf.GGUFReader(path).tensors)
