"""The measurement "attention": SDPA's back ends by sequence length, and one decode step profiled.

The back ends attend over random q, k and v in SmolLM2's shape. The profile is of the real model.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from labkit.bench import clock
from labkit.bench.heap import keep_freed_memory
from labkit.bench.jobs.decode import PROMPT, in_one_block
from labkit.bench.sdpa.backends import Shape
from labkit.bench.sdpa.compare import compare
from labkit.bench.sdpa.profiling import profile_call
from labkit.bench.session import Measured, Session
from labkit.bench.weights import ensure_weights

if TYPE_CHECKING:
    import torch

LENGTHS = (512, 1024, 2048, 4096)
GPU_LENGTHS = (1024, 2048, 4096, 8192)
QUICK_LENGTHS = (512, 1024, 2048)
_CONTEXT_TOKENS = 256
_STEPS = 12
_PROFILED = 10
# The profiler itself adds a fifth to a half to such a step; more than this is somebody else's.
_INTERRUPTED = 2.0


def measure(session: Session) -> Measured:
    """Series sdpa.B.nN and profile.step; facts clock, sdpa and profile (see `bench.attention`)."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    kept = session.device == "cpu" and keep_freed_memory()
    shape, lengths = asked(session.device, session.quick)
    measured = compare(session, shape, lengths)
    weights = ensure_weights(session.report)
    session.say("loading SmolLM2-135M in FP32")
    tokenizer = AutoTokenizer.from_pretrained(weights.folder)
    model: Any = AutoModelForCausalLM.from_pretrained(weights.folder, dtype=torch.float32)
    model.eval().to(session.device)
    if session.device == "cpu":
        in_one_block(model)
    prompt = tokenizer(PROMPT, return_tensors="pt").input_ids.to(session.device)
    measured.extend(profile_decode(session, model, prompt))
    measured.facts |= {
        "clock": clock.clock_of(session.device),
        "freed_memory_kept": kept,
        "weights": weights.source.key,
    }
    return measured


def asked(device: str, quick: bool) -> tuple[Shape, tuple[int, ...]]:
    """Element type and lengths: FP32 on a CPU; on a GPU FP16, which all its back ends take."""
    if device == "cpu":
        return Shape(dtype="float32"), QUICK_LENGTHS if quick else LENGTHS
    return Shape(dtype="float16"), QUICK_LENGTHS if quick else GPU_LENGTHS


def profile_decode(
    session: Session, model: Any, prompt: torch.Tensor, context: int = _CONTEXT_TOKENS
) -> Measured:
    """Series profile.step and the fact profile: one decode step after `context` cached tokens.

    `prompt`: ids of shape [1, n], repeated to that length. Each step attends to the same context:
    what it cached is taken back.
    """
    import torch

    session.say("profiling one decode step")
    measured = Measured()
    with torch.inference_mode():
        step = _one_step(session, model, prompt.repeat(1, context)[:, :context])
        samples = clock.steady(session, step, _STEPS, warmup=3)
        profile = profile_call(step, session.device, _PROFILED)
    step_ms = clock.median_ms(samples, session.device)
    if profile.profiled_ms > _INTERRUPTED * step_ms:
        measured.notes.append(
            "The profiled steps shared their core with other programs: the shares of the operators "
            "hold, their milliseconds are too long."
        )
    label = f"One decode step after {context} tokens"
    clock.add_readings(measured, "profile.step", label, [samples], session.device)
    measured.facts["profile"] = {
        "context_tokens": context,
        "step_ms": step_ms,
        **profile.facts(),
    }
    return measured


def _one_step(session: Session, model: Any, ids: torch.Tensor) -> Callable[[], None]:
    from transformers import DynamicCache

    cache = DynamicCache(config=model.config)
    latest = model(input_ids=ids, past_key_values=cache, use_cache=True, logits_to_keep=1)
    token = latest.logits[:, -1:].argmax(dim=-1)

    def step() -> None:
        logits = model(input_ids=token, past_key_values=cache, use_cache=True).logits
        logits[:, -1:].argmax(dim=-1)
        cache.crop(-1)  # negative: that many tokens off the end
        session.sync()

    return step
