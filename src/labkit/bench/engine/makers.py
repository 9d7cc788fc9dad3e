"""Makes a mode of each engine. Nothing heavy is imported before it is used."""

from __future__ import annotations

from labkit.bench.engine.environment import find_environment
from labkit.bench.engine.modes import Mode
from labkit.bench.engine.registry import Workbench
from labkit.contract import LabkitError


def sequential(bench: Workbench) -> Mode:
    """`generate`, one request at a time."""
    from labkit.bench.engine.generate import Sequential

    return Sequential(bench.model)


def static(bench: Workbench) -> Mode:
    """`generate` on padded batches."""
    from labkit.bench.engine.generate import Static

    return Static(bench.model, bench.slots)


def continuous(bench: Workbench) -> Mode:
    """transformers' continuous batching."""
    from labkit.bench.engine.continuous import Continuous, Limits

    return Continuous(bench.model, Limits(bench.slots))


def vllm(bench: Workbench) -> Mode:
    """vLLM's server. Prefix caching is off: the same prompts come again in every round."""
    from labkit.bench.engine.served import Served
    from labkit.bench.engine.vllm import Flags, vllm_server

    found = find_environment("vllm")
    if found is None:
        raise LabkitError("vLLM is not installed: `labkit engine install vllm`.")
    spec = vllm_server(found.python, bench.folder, Flags(bench.slots), gpu=found.gpu)
    return Served(spec, bench.report)


def llama_cpp(bench: Workbench) -> Mode:
    """llama.cpp on an FP32 GGUF of the same weights."""
    from labkit.bench.engine.llama_cpp import LlamaCpp

    return LlamaCpp(bench.slots, bench.report)


def url(bench: Workbench) -> Mode:
    """A server that somebody else runs."""
    import os

    from labkit.bench.engine.served import Remote
    from labkit.bench.engine.sse import Endpoint

    endpoint = Endpoint(
        bench.url.rstrip("/"),
        os.environ.get("LABKIT_ENGINE_MODEL", "smollm2"),
        os.environ.get("LABKIT_ENGINE_KEY", ""),
    )
    return Remote(endpoint, lambda text: list(bench.tokenizer(text).input_ids))
