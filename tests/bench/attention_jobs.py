"""Jobs with torch for the tests of attention and drafting, run in a real worker process."""

from __future__ import annotations

import time
from typing import Any

from labkit.bench.progress import Report
from labkit.bench.sdpa import compare as comparing
from labkit.bench.sdpa.allocated import peak_bytes
from labkit.bench.sdpa.backends import BACK_ENDS, BackEnd, Shape, find
from labkit.bench.sdpa.profiling import profile_call
from labkit.bench.session import Measured, Session, Steps

SMALL = Shape(heads=2, head_dim=16)
LENGTHS = (64, 128)


def _session(report: Report) -> Session:
    return Session("cpu", quick=True, threads=1, report=report, steps=Steps(10))


def _plain(found: Measured) -> dict[str, Any]:
    return {
        "facts": found.facts,
        "series": {series.name: list(series.samples) for series in found.series},
    }


def known_allocations(options: dict[str, Any], report: Report) -> dict[str, Any]:
    """Peaks of steps whose allocations are known: 3 MB, of which 2 at once; and a result of 4."""
    import torch

    def step() -> None:
        first = torch.empty(1_000_000, dtype=torch.uint8)
        second = torch.empty(1_000_000, dtype=torch.uint8)
        del first
        third = torch.empty(1_000_000, dtype=torch.uint8)
        del second, third

    held = torch.empty(9_000_000, dtype=torch.uint8)  # before the step: not counted
    found = {
        "two_of_three": peak_bytes(step, "cpu"),
        "result": peak_bytes(lambda: torch.empty(4_000_000, dtype=torch.uint8), "cpu"),
        "nothing": peak_bytes(lambda: held.view(3_000, 3_000), "cpu"),
    }
    return found | {"held": held.numel()}


def presence(options: dict[str, Any], report: Report) -> dict[str, Any]:
    """Real back ends, one that torch does not know, and one that another answers for."""
    flash = BACK_ENDS[1]
    odd = (
        BackEnd("unheard", "UNHEARD_OF", "aten::_unheard"),
        BackEnd("imposter", "MATH", flash.operator),
    )
    found = {backend.name: find(backend, SMALL, "cpu") for backend in (*BACK_ENDS, *odd)}
    return {name: [there.operator, there.why] for name, there in found.items()}


def small_compare(options: dict[str, Any], report: Report) -> dict[str, Any]:
    """The real comparison on short sequences; with `wrong`, flash gives other numbers."""
    if options.get("wrong"):
        honest = comparing.runner

        def wrong(backend: BackEnd, qkv: Any) -> Any:
            run = honest(backend, qkv)
            return (lambda: run() * 1.001) if backend.name == "flash" else run

        comparing.runner = wrong
    return _plain(comparing.compare(_session(report), SMALL, LENGTHS))


def order_of_lengths(options: dict[str, Any], report: Report) -> dict[str, Any]:
    """Which lengths each back end met, in order, before its first sample and after."""
    honest, met = comparing.runner, []

    def watched(backend: BackEnd, qkv: Any) -> Any:
        run = honest(backend, qkv)

        def call() -> Any:
            met.append((backend.name, int(qkv[0].shape[-2])))
            return run()

        return call

    comparing.runner = watched
    comparing.compare(_session(report), SMALL, LENGTHS)
    return {"met": met}


def profile_toys(options: dict[str, Any], report: Report) -> dict[str, Any]:
    """A call that only multiplies matrices, and one that mostly waits in Python."""
    import torch

    left = torch.rand(600, 600)

    def busy() -> None:
        for _ in range(8):
            left @ left

    def idle() -> None:
        left @ left
        time.sleep(0.2)

    busy()
    return {
        name: profile_call(step, "cpu", repeats=3).facts()
        for name, step in (("busy", busy), ("idle", idle))
    }


def tiny_profile(options: dict[str, Any], report: Report) -> dict[str, Any]:
    """The real job's profile on a two-layer model."""
    import torch

    from labkit.bench.jobs.attention import profile_decode

    prompt = torch.arange(5).reshape(1, 5)
    return _plain(profile_decode(_session(report), tiny_llama(), prompt, context=16))


def tiny_speculation(options: dict[str, Any], report: Report) -> dict[str, Any]:
    """The real job's measuring on a four-layer model with random weights."""
    from labkit.bench.jobs.speculative import measure_model

    prompts = {"copy": [1, 2, 3, 4] * 4, "open": [9, 8, 7]}
    found, said = measure_model(
        _session(report),
        tiny_llama(),
        prompts,
        tokens=15,
        gammas=(2, 5),
        layers=options["layers"],
        sizes=(1, 3),
    )
    return _plain(found) | {"said": said, "notes": found.notes}


def drafters_of_a_model(options: dict[str, Any], report: Report) -> dict[str, Any]:
    """What first_layers and with_int8_weights share with, and change in, a model."""
    import torch

    from labkit.bench.drafting.drafters import (
        first_layers,
        streamed_parameters,
        with_int8_weights,
    )

    model = tiny_llama(tied=options["tied"])
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    ids = torch.arange(6).reshape(1, 6)
    with torch.inference_mode():
        small, int8 = first_layers(model, 2), with_int8_weights(model)
        states = model(input_ids=ids, output_hidden_states=True).hidden_states
        by_hand = model.lm_head(model.model.norm(states[2]))
        whole = first_layers(model, 4)(input_ids=ids).logits
        logits = model(input_ids=ids).logits
        off = int8(input_ids=ids).logits - logits
        linear = model.model.layers[0].mlp.up_proj.weight
        twin = int8.model.layers[0].mlp.up_proj
        error = (twin.weight * twin.scale[:, None] - linear).abs() / twin.scale[:, None]
        return {
            "small": float((small(input_ids=ids).logits - by_hand).abs().max()),
            "whole": float((whole - logits).abs().max()),
            "shared": small.model.layers[0] is model.model.layers[0],
            "layers": [len(small.model.layers), len(model.model.layers)],
            "config": [small.config.num_hidden_layers, model.config.num_hidden_layers],
            "int8_off": float(off.abs().max() / logits.abs().max()),
            "int8_error_in_steps": float(error.max()),
            "int8_dtype": str(twin.weight.dtype),
            "untouched": all(
                bool((before[name] == tensor).all()) for name, tensor in model.state_dict().items()
            ),
            "streamed": [streamed_parameters(m) for m in (model, small, int8)],
        }


def tiny_llama(tied: bool = True) -> Any:
    """Four layers, random weights that are large enough for clear choices."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(3)
    model: Any = LlamaForCausalLM(
        LlamaConfig(
            hidden_size=64,
            intermediate_size=128,
            num_attention_heads=4,
            num_key_value_heads=2,
            num_hidden_layers=4,
            vocab_size=50,
            tie_word_embeddings=tied,
            initializer_range=0.3,
        )
    )
    return model.eval()


def memory_kept(options: dict[str, Any], report: Report) -> dict[str, Any]:
    """Resident memory after 300 MB were freed, before and after the heap is told to keep it."""
    from labkit.bench.heap import keep_freed_memory
    from labkit.bench.jobs.memory import resident_bytes

    def growth() -> int:
        before = resident_bytes()
        block = bytearray(300_000_000)
        del block
        return resident_bytes() - before

    first = growth()
    return {"given_back": first, "told": keep_freed_memory(), "kept": growth()}
