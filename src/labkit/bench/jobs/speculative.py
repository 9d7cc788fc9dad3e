"""The measurement "speculation": SmolLM2-135M decodes greedily, with and without drafters.

Every drafter must give the plain text, token by token; what differs is how many forwards of the
target it takes and what each costs. Then the cost of verifying in batches, where the gain ends.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from labkit.bench import clock
from labkit.bench.drafting.batches import measure_batches
from labkit.bench.drafting.cached import CachedModel
from labkit.bench.drafting.drafters import (
    Lookup,
    ModelDrafter,
    first_layers,
    streamed_parameters,
    with_int8_weights,
)
from labkit.bench.drafting.prompts import PROMPTS
from labkit.bench.drafting.runs import PLAIN, Case, Runs
from labkit.bench.heap import keep_freed_memory
from labkit.bench.jobs.decode import in_one_block
from labkit.bench.session import Measured, Session
from labkit.bench.weights import ensure_weights

GAMMAS = (2, 5, 10)
GAMMA = 5
LAYERS = 10
BATCHES = (1, 2, 4, 8, 16, 32)
# A GPU has room for many more tokens before they cost anything.
GPU_BATCHES = (1, 4, 16, 64, 256)
QUICK_BATCHES = (1, 8)
TOKENS, QUICK_TOKENS = 40, 20


def measure(session: Session) -> Measured:
    """Series step, run.…, draft.… and batch.…, and their facts (see `bench.speculation`)."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    kept = session.device == "cpu" and keep_freed_memory()
    weights = ensure_weights(session.report)
    session.say("loading SmolLM2-135M in FP32")
    tokenizer = AutoTokenizer.from_pretrained(weights.folder)
    model: Any = AutoModelForCausalLM.from_pretrained(weights.folder, dtype=torch.float32)
    model.eval().to(session.device)
    if session.device == "cpu":
        in_one_block(model)
    prompts = {name: list(tokenizer(text).input_ids) for name, text in PROMPTS.items()}
    measured, continuations = measure_model(
        session,
        model,
        prompts,
        tokens=QUICK_TOKENS if session.quick else TOKENS,
        gammas=(GAMMA,) if session.quick else GAMMAS,
        layers=LAYERS,
        sizes=batches(session),
    )
    measured.facts["prompts"] = {
        name: {
            "text": text,
            "tokens": len(prompts[name]),
            "continuation": tokenizer.decode(continuations[name]),
        }
        for name, text in PROMPTS.items()
    }
    measured.facts |= {"freed_memory_kept": kept, "weights": weights.source.key}
    return measured


def batches(session: Session) -> tuple[int, ...]:
    """The batches to verify in: on a GPU up to where tokens begin to cost something."""
    if session.quick:
        return QUICK_BATCHES
    return BATCHES if session.device == "cpu" else GPU_BATCHES


def measure_model(
    session: Session,
    model: Any,
    prompts: dict[str, list[int]],
    *,
    tokens: int,
    gammas: Sequence[int],
    layers: int,
    sizes: Sequence[int],
) -> tuple[Measured, dict[str, list[int]]]:
    """The same for any Llama-like `model`; with what plain greedy decoding said to each prompt."""
    import torch

    with torch.inference_mode():
        runs = Runs(
            session=session,
            target=CachedModel(model, session.device, session.sync),
            prompts=prompts,
            tokens=tokens,
            cases=_cases(session, model, gammas, layers),
        )
        runs.take()
    measured = runs.found()
    measured.extend(measure_batches(session, model, sizes, GAMMA))
    measured.facts |= {"clock": clock.clock_of(session.device), "output_tokens": tokens}
    different = [run for run in measured.facts["runs"] if not run["identical"]]
    measured.notes += [
        f'Not identical to plain greedy: {run["drafter"]} on "{run["prompt"]}". Two tokens were '
        "so close that rounding decided; its speed-up does not count."
        for run in different
    ]
    return measured, {name: runs.taken[PLAIN, name][0].output for name in prompts}


def _cases(session: Session, model: Any, gammas: Sequence[int], layers: int) -> list[Case]:
    small, int8 = first_layers(model, layers), with_int8_weights(model)
    whole = int(model.config.num_hidden_layers)

    def drafter(of: Any) -> ModelDrafter:
        return ModelDrafter(CachedModel(of, session.device, session.sync))

    return [
        Case(PLAIN, "no drafter", None, 0),
        *(Case(f"lookup{n}", f"prompt lookup, γ = {n}", Lookup(), n) for n in gammas),
        Case(
            f"layers{layers}",
            f"its first {layers} of {whole} layers",
            drafter(small),
            GAMMA,
            streamed_parameters(small),
            repeated=False,
        ),
        Case(
            "int8",
            "itself, INT8 weights dequantised",
            drafter(int8),
            GAMMA,
            streamed_parameters(int8),
            repeated=False,
        ),
    ]
