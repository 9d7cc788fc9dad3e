"""`labkit estimate MODEL INSTANCE`: what fits, how fast, for how much, and why not."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import typer

from labkit.catalog import Catalog, ModelSpec
from labkit.cli.common import console, emit_json, fail, nearest
from labkit.sizing import SLO, EngineConfig, Workload, as_dict
from labkit.sizing import estimate as run_estimate
from labkit.sizing.defaults import default_kv_format

PRICE_KINDS = ("on-demand", "spot", "sagemaker")


def estimate(
    model: Annotated[
        str, typer.Argument(help="A model of the catalogue, or a path to a config.json.")
    ],
    instance: Annotated[str, typer.Argument(help="An EC2 instance type, e.g. g5.xlarge.")],
    weights: Annotated[
        str | None,
        typer.Option(help="Weight format: bf16, fp16, fp8, int8, int4, … (default: the model's)"),
    ] = None,
    kv: Annotated[
        str | None,
        typer.Option(help="KV-cache format (default: the 16-bit one the weights compute in)."),
    ] = None,
    tp: Annotated[
        int | None,
        typer.Option(
            help="tensor_parallel_size: GPUs, or NeuronCores on inf2 and trn "
            "(default: one GPU, or one Neuron chip)."
        ),
    ] = None,
    batch: Annotated[int, typer.Option(help="Sequences in flight at once.")] = 1,
    prompt: Annotated[int, typer.Option(help="Prompt tokens per request.")] = 512,
    output: Annotated[int, typer.Option(help="Output tokens per request.")] = 256,
    engine: Annotated[
        str | None, typer.Option(help="vllm, sglang, transformers, llama.cpp, neuron, …")
    ] = None,
    engine_version: Annotated[
        str | None,
        typer.Option(help="The engine's version, e.g. 0.11.0 (default: the newest known)."),
    ] = None,
    max_num_seqs: Annotated[
        int | None,
        typer.Option(help="Sequences the engine makes room for (default: its own default)."),
    ] = None,
    max_num_batched_tokens: Annotated[
        int | None, typer.Option(help="Tokens of one step (default: the engine's own default).")
    ] = None,
    utilization: Annotated[
        float | None,
        typer.Option("--gpu-memory-utilization", help="Share of device memory the engine takes."),
    ] = None,
    loader: Annotated[
        str | None, typer.Option(help="How weights load: streamed, state_dict, presharded.")
    ] = None,
    prefix_hit_rate: Annotated[
        float, typer.Option(help="Share of the prompt that the prefix cache holds.")
    ] = 0.0,
    ttft_ms: Annotated[float | None, typer.Option(help="Refuse a TTFT above this.")] = None,
    tpot_ms: Annotated[float | None, typer.Option(help="Refuse a TPOT above this.")] = None,
    price: Annotated[str, typer.Option(help="on-demand, spot or sagemaker.")] = "on-demand",
    region: Annotated[str, typer.Option(help="AWS region of the price.")] = "us-east-1",
    calibration: Annotated[
        Path | None,
        typer.Option(help="A calibration of your own, written by `labkit calibrate --out`."),
    ] = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="Show every byte and every term, with its source.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print JSON; terms included.")] = False,
) -> None:
    """Size one replica of MODEL on INSTANCE: memory, latency, throughput and cost.

    Fits means: all --batch sequences are resident at prompt + output tokens.

    What cannot run is refused with a code and a sentence; the exit code stays 0.
    """
    if price not in PRICE_KINDS:
        near = nearest(price, PRICE_KINDS) or PRICE_KINDS
        fail(f"Unknown price {price!r}: use {' or '.join(near)}.")
    if not re.fullmatch(r"[a-z]{2}(-[a-z]+)+-\d", region):
        fail(f"Unknown region {region!r}: write it as AWS does, e.g. us-east-1.")
    spec = ModelSpec.from_config(model)
    machine = Catalog.load().instance(instance)
    weights = weights or spec.native_format
    config = EngineConfig(
        weights=weights,
        kv=kv or default_kv_format(weights, machine),
        batch=batch,
        tensor_parallel_size=tp,
        engine=engine,
        gpu_memory_utilization=utilization,
        loader=loader,
        engine_version=engine_version,
        max_num_seqs=max_num_seqs,
        max_num_batched_tokens=max_num_batched_tokens,
    )
    promised = ttft_ms is not None or tpot_ms is not None
    slo = SLO(ttft_ms=ttft_ms, tpot_ms=tpot_ms) if promised else None
    workload = Workload(prompt, output, slo=slo, prefix_hit_rate=prefix_hit_rate)
    tuning = None
    if calibration is not None:
        from labkit.sizing.calibration_text import from_json

        tuning = from_json(_read(calibration))
    result = run_estimate(
        spec, machine, config, workload, price_kind=price, region=region, tuning=tuning
    )
    if json:
        emit_json(as_dict(result))
        return
    from datetime import date

    from labkit.cli.estimate_view import render

    render(result, console(), today=date.today(), terms=explain)


def _read(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not text"
        fail(f"Cannot read the calibration {file}: {reason}.")
