"""mlsysim: a teaching engine; its `ServingModel` gives TTFT and ITL of one device."""

from __future__ import annotations

from typing import Any

from benchmarks.peers.question import Question, Times, Unsupported

DISTRIBUTION = "mlsysim"
TRANSLATION = (
    "`ServingModel` with its default efficiency of 0.5, on one device: TP > 1 stays unsupported. "
    "T4, A100, H100, H100-PCIe and H200 from its registry; A10G, A10, L4, L40S and A100-PCIe as a "
    "HardwareNode with labkit's catalogue numbers. Models by their dimensions. TTFT is asked at "
    "the prompt's length, ITL at prompt + output / 2. Weight-only formats are asked at 16 bit for "
    "TTFT (their products run in 16 bit) and at their own width for ITL. It knows no engine. "
    "CPUs and Inferentia2 are not asked."
)

_GPUS = {
    "T4": "T4",
    "A100-40GB": "A100_40GB",
    "A100-80GB": "A100",
    "H100": "H100",
    "H100-PCIe": "H100_PCIe",
    "H200": "H200",
}
_GIVEN = ("A10G", "A10", "L4", "L40S", "A100-80GB-PCIe")


def answer(question: Question) -> Times:
    """Milliseconds of one batch; `Unsupported` for what it does not model."""
    from mlsysim.engine.solvers.serving import ServingModel

    if question.tensor_parallel > 1:
        raise Unsupported("it models one device")
    hardware, model = _hardware(question), _model(question)
    bits = question.bits_per_weight
    stored = "fp16" if bits >= 9 else "int8" if bits >= 6 else "int4"
    if question.weights == "fp8":
        stored = "fp8"
    computed = "fp16" if question.weight_only else stored
    solver = ServingModel()
    decode = solver.solve(model, hardware, question.context, question.batch, stored)
    if not decode.feasible:
        raise Unsupported("it says that the model does not fit")
    ttft = None
    if question.prompt_tokens:
        prompt = solver.solve(model, hardware, question.prompt_tokens, question.batch, computed)
        ttft = float(prompt.ttft.to("ms").magnitude)
    full = question.prompt_tokens + question.output_tokens
    whole = solver.solve(model, hardware, max(1, full), question.batch, stored)
    return Times(
        prefill_ms=ttft,
        step_ms=float(decode.itl.to("ms").magnitude),
        memory_gb=float(whole.total_memory_required.to("GB").magnitude),
    )


def _hardware(question: Question) -> Any:
    import mlsysim
    from mlsysim.hardware.types import ComputeCore, HardwareNode, MemoryHierarchy

    if question.gpu in _GPUS:
        return getattr(mlsysim.Hardware.Cloud, _GPUS[question.gpu])
    if question.gpu not in _GIVEN:
        raise Unsupported(f"accelerator {question.gpu} is not in it")
    rates = {
        name: f"{value / 1e12} TFLOPs/s" for name, value in question.flops.items() if value > 0
    }
    return HardwareNode(
        name=question.gpu,
        release_year=2023,  # it wants one; nothing is computed from it
        compute=ComputeCore(peak_flops=rates["fp16"], precision_flops=rates),
        memory=MemoryHierarchy(
            capacity=f"{question.memory_bytes} B", bandwidth=f"{question.bandwidth / 1e9} GB/s"
        ),
    )


def _model(question: Question) -> Any:
    from mlsysim.core.units import Q_
    from mlsysim.models.types import TransformerWorkload

    config = question.config
    return TransformerWorkload(
        name=question.id,
        architecture="Transformer",
        parameters=Q_(question.parameters, "count"),
        layers=config["num_hidden_layers"],
        hidden_dim=config["hidden_size"],
        heads=config["num_attention_heads"],
        kv_heads=config["num_key_value_heads"],
        head_dim=config["head_dim"],
        inference_flops=Q_(2 * question.parameters, "flop"),
    )
