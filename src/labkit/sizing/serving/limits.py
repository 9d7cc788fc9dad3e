"""How many sequences and tokens an engine takes into one step where nothing is said."""

from __future__ import annotations

from dataclasses import dataclass

from labkit.catalog.specs import ModelSpec
from labkit.sizing.device import Device
from labkit.sizing.engine_defaults import sglang_defaults, vllm_defaults
from labkit.sizing.engines import Engine
from labkit.sizing.inputs import EngineConfig
from labkit.sizing.memory import card_of
from labkit.sizing.serving.replica import DEFAULT_MAX_BATCHED_TOKENS

# TensorRT-LLM, TGI, LMDeploy and SGLang take what memory allows, up to hundreds of sequences.
_USUAL_SLOTS = 256


@dataclass(frozen=True, slots=True)
class Limits:
    """`max_num_seqs` and `max_num_batched_tokens` of a replica, and where each comes from."""

    slots: int
    batched_tokens: int
    slots_source: str
    tokens_source: str


def limits_of(
    model: ModelSpec, device: Device, engine: Engine, config: EngineConfig, devices: int
) -> Limits:
    """The set-up's own limits, else the engine's defaults on that device.

    Neuron and llama.cpp hold as many sequences as they were set up for: `batch`. The budget of a
    step is never below the sequences, which take one token each.
    """
    slots, tokens, source = _defaults(model, device, engine, config, devices)
    slots_source = tokens_source = source
    if config.max_num_seqs is not None:
        slots, slots_source = config.max_num_seqs, "given"
    if config.max_num_batched_tokens is not None:
        tokens, tokens_source = config.max_num_batched_tokens, "given"
    return Limits(slots, max(tokens, slots + 1, 2), slots_source, tokens_source)


def _defaults(
    model: ModelSpec, device: Device, engine: Engine, config: EngineConfig, devices: int
) -> tuple[int, int, str]:
    version, card = config.engine_version, card_of(device)
    if engine.name == "vllm":
        found = vllm_defaults(version, card, max_model_len=model.max_context or None)
        return max(config.batch, found.max_num_seqs), found.max_num_batched_tokens, found.source
    if engine.name == "sglang":
        chunk = sglang_defaults(version, card, devices).max_num_batched_tokens
        return max(config.batch, _USUAL_SLOTS), chunk, "SGLang's chunk on that card"
    if engine.family == "serving":
        source = f"taken for {engine.name}: it stops at memory first"
        return max(config.batch, _USUAL_SLOTS), DEFAULT_MAX_BATCHED_TOKENS, source
    return config.batch, DEFAULT_MAX_BATCHED_TOKENS, "batch, which this engine is set up for"
