"""Lab 01, second part: how fast decode can possibly be, and what mixture and batch do to it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from labkit.contract.codes import Code
from labkit.contract.errors import LabkitError
from labkit.contract.givens import Given, Givens
from labkit.exercises import given
from labkit.exercises.kinds import FunctionKind, Quantity, Tolerance
from labkit.exercises.lab01_roofline.ridge import CHIPS, ENGINE
from labkit.exercises.spec import Draw, Exercise, Mistake, Tier
from labkit.sizing import streamed_weight_bytes

OBJECTIVE = "predict the ceiling of decode"


# --- 1.4 decode ceiling ----------------------------------------------------------------------


def _draw_1_4(draw: Draw) -> tuple[Given, ...]:
    model, chip = draw.facts.model("llama-3-8b"), draw.facts.accelerator("A10G")
    return (
        given.parameters(model),
        given.embedding(model),
        given.head(model),
        given.width(draw.facts.format("bf16")),
        given.bandwidth(chip),
        given.peak(chip, "bf16"),
        given.bandwidth(draw.facts.accelerator("L4"), name="l4_bandwidth_gbps"),
    )


def _streamed(g: Givens) -> float:
    return float((g.params_total - g.params_embedding) * g.bytes_per_weight)


CEILING_8B = Exercise(
    id="1.4",
    title="How fast can it possibly write?",
    objective=OBJECTIVE,
    points=1,
    tier=Tier.CORE,
    kind=Quantity("tok/s", Tolerance.FORMULA),
    statement=(
        "Llama-3-8B in BF16 writes on one A10G at batch 1, with an empty context (no KV cache to "
        "read). Every step streams all weights once, except the input embedding: of that table "
        "only the one row of the current token is read. The output head is streamed like any "
        "other matrix.\n\n"
        "**What is the highest number of tokens per second that the memory allows?**"
    ),
    answer_name="ceiling_8b",
    draw=_draw_1_4,
    reference=lambda g: g.bandwidth_gbps * 1e9 / _streamed(g),
    mistakes=(
        Mistake(
            Code.EMBEDDING_STREAMED,
            "You streamed the input embedding as well. It lies in memory, but a step reads one row "
            "of it, not all of it.",
            lambda g: g.bandwidth_gbps * 1e9 / (g.params_total * g.bytes_per_weight),
        ),
        Mistake(
            Code.HEAD_NOT_STREAMED,
            "You left out both tables. The output head is read in full at every step: it scores "
            "every word of the vocabulary.",
            lambda g: g.bandwidth_gbps * 1e9 / (_streamed(g) - g.params_head * g.bytes_per_weight),
        ),
        Mistake(
            Code.BYTES_PER_WEIGHT,
            "You counted one byte per weight, as INT8 has. BF16 has two.",
            lambda g: 2 * g.bandwidth_gbps * 1e9 / _streamed(g),
        ),
        Mistake(
            Code.WRONG_ROOF,
            "This is the ceiling of the arithmetic units. The lower of the two ceilings counts, "
            "and at batch 1 it is the memory's.",
            lambda g: g.peak_tflops * 1e12 / (2 * (g.params_total - g.params_embedding)),
        ),
        Mistake(
            Code.WRONG_CHIP,
            "You used the L4's bandwidth (g6). The A10G (g5) is older and reads twice as fast.",
            lambda g: g.l4_bandwidth_gbps * 1e9 / _streamed(g),
        ),
        # GB for GiB is left out: its 37.2 tok/s cannot be told from the embedding mistake's 37.4.
        Mistake(
            Code.TIME_NOT_RATE,
            "This is the time of one step in milliseconds. Asked: tokens per second.",
            lambda g: 1e3 * _streamed(g) / (g.bandwidth_gbps * 1e9),
        ),
    ),
    hints=(
        "How many bytes must move before the next token can appear?",
        "Bytes per second divided by bytes per token.",
        "tok/s = bandwidth / ((params_total − params_embedding) · bytes_per_weight)",
    ),
    solution=(
        "bytes_per_token = (g.params_total - g.params_embedding) * g.bytes_per_weight\n"
        "ceiling_8b = g.bandwidth_gbps * 1e9 / bytes_per_token"
    ),
    praise=(
        "No pass over these weights can be faster. Real engines reach half to nine tenths of it, "
        "depending on chip and engine; a longer context lowers it."
    ),
    claim="E010",
)


# --- 1.10 the mixture-of-experts trap --------------------------------------------------------

_POOLS = ("g5.48xlarge", "g6.48xlarge", "g6e.12xlarge", "p4d.24xlarge", "p5.48xlarge")


def _draw_1_10(draw: Draw) -> tuple[Given, ...]:
    model = draw.facts.model("mixtral-8x7b")
    instance = draw.facts.instance(draw.rng.choice(_POOLS))
    chip, moe = instance.accelerator, model.moe
    if chip is None or moe is None:
        raise LabkitError(f"{instance.name} or {model.name} cannot pose exercise 1.10.")
    return (
        given.parameters(model),
        given.embedding(model),
        given.head(model),
        Given(
            "params_experts",
            model.params.experts,
            "parameters",
            f"{model.name}: of these, in experts",
            "counted from its config",
        ),
        Given("experts", moe.experts, "", "experts per layer", "its config"),
        Given(
            "experts_per_token",
            moe.experts_per_token,
            "",
            "experts that a token uses",
            "its config",
        ),
        given.width(draw.facts.format("bf16")),
        Given("instance", instance.name, "", "your instance", "drawn by your learner id"),
        Given(
            "devices",
            instance.accelerator_count,
            "",
            f"{chip.name} on {instance.name}",
            "catalogue",
        ),
        given.bandwidth(chip),
    )


def _pooled(g: Givens) -> float:
    return float(g.devices * g.bandwidth_gbps * 1e9)


def _moe_bytes(g: Givens) -> float:
    idle = g.params_experts * (1 - g.experts_per_token / g.experts)
    return float((g.params_total - g.params_embedding - idle) * g.bytes_per_weight)


CEILING_MOE = Exercise(
    id="1.10",
    title="Prove or refute: bandwidth ÷ model size",
    objective=OBJECTIVE,
    points=1,
    tier=Tier.PERSONAL,
    kind=Quantity("tok/s", Tolerance.COUNTED),
    statement=(
        "A published chapter gives one formula for every model: *max tokens/s ≈ memory bandwidth ÷ "
        "model size*. Try it on Mixtral-8x7B, a mixture of experts, in BF16 at batch 1 with an "
        "empty context. Your instance shares the model over all its accelerators, so their "
        "bandwidths add up; communication is free in this exercise.\n\n"
        "**What is the real ceiling?** Count what one token reads: everything but the input "
        "embedding, and of the experts only those that this token uses."
    ),
    answer_name="ceiling_moe",
    draw=_draw_1_10,
    reference=lambda g: _pooled(g) / _moe_bytes(g),
    mistakes=(
        Mistake(
            Code.TOTAL_NOT_ACTIVE,
            "This is the chapter's formula: it reads all experts. A token uses only some of them, "
            "so the formula is too low by more than a factor of three.",
            lambda g: _pooled(g) / ((g.params_total - g.params_embedding) * g.bytes_per_weight),
        ),
        Mistake(
            Code.NAME_NOT_SIZE,
            "You read the size off the name. 8x7B is not 56 billion: the experts share attention "
            "and embeddings.",
            lambda g: _pooled(g) / (g.experts * 7e9 * g.bytes_per_weight),
        ),
        Mistake(
            Code.EMBEDDING_STREAMED,
            "You streamed the input embedding as well: a step reads one row of it.",
            lambda g: _pooled(g) / (_moe_bytes(g) + g.params_embedding * g.bytes_per_weight),
        ),
        Mistake(
            Code.HEAD_NOT_STREAMED,
            "You left out the output head: it is read in full at every step.",
            lambda g: _pooled(g) / (_moe_bytes(g) - g.params_head * g.bytes_per_weight),
        ),
        Mistake(
            Code.EXPERTS_ONLY,
            "You counted the experts alone. Attention and the output head are read as well.",
            lambda g: (
                _pooled(g)
                / (g.params_experts * g.experts_per_token / g.experts * g.bytes_per_weight)
            ),
        ),
        Mistake(
            Code.SHARED_PARTS_SCALED,
            "You scaled the whole model by the share of experts used. Attention and the head are "
            "not experts: every token reads them in full.",
            lambda g: (
                _pooled(g) / (g.params_total * g.experts_per_token / g.experts * g.bytes_per_weight)
            ),
        ),
        Mistake(
            Code.ONE_DEVICE,
            "You used the bandwidth of one accelerator. Sharded over all of them, each reads its "
            "own part at the same time.",
            lambda g: g.bandwidth_gbps * 1e9 / _moe_bytes(g),
        ),
        Mistake(
            Code.BYTES_PER_WEIGHT,
            "You counted one byte per weight. BF16 has two.",
            lambda g: 2 * _pooled(g) / _moe_bytes(g),
        ),
    ),
    hints=(
        "Which parameters does one token touch, and which lie idle?",
        "Pooled bandwidth divided by the bytes of the active parameters.",
        "active = total − embedding − params_experts · (1 − experts_per_token / experts)",
    ),
    solution=(
        "idle = g.params_experts * (1 - g.experts_per_token / g.experts)\n"
        "active = g.params_total - g.params_embedding - idle\n"
        "ceiling_moe = g.devices * g.bandwidth_gbps * 1e9 / (active * g.bytes_per_weight)"
    ),
    praise=(
        "Refuted: memory must hold every expert, but a step at batch 1 reads two of eight. "
        "Capacity follows the total, speed the active parameters."
    ),
    claim="E010",
)


# --- 1.11 both roofs at once -----------------------------------------------------------------

_RATE_MODELS = ("llama-2-7b", "llama-2-13b", "llama-3-8b", "mistral-7b", "qwen2.5-7b", "qwen3-8b")


def _draw_1_11(draw: Draw) -> tuple[Given, ...]:
    model = draw.facts.model(draw.rng.choice(_RATE_MODELS))
    chip = draw.facts.accelerator(draw.rng.choice((*CHIPS, "A10G")))
    fmt = draw.facts.format(draw.rng.choice(("fp16", "int8")))
    streamed = streamed_weight_bytes(model, draw.facts.format("fp16")) / 2
    return (
        Given("params", round(streamed), "", "streamed parameters"),
        Given("bytes_per_weight", fmt.bytes_per_weight, "B", "bytes per weight"),
        Given("batch", draw.rng.choice((2, 4, 8, 16, 32, 64)), "sequences", "batch"),
        Given("bandwidth_gbps", chip.bandwidth_bytes_per_s / 1e9, "GB/s", "bandwidth"),
        Given("peak_tflops", chip.peak_flops("fp16") / 1e12, "TFLOP/s", "dense peak"),
    )


def _times(p: float, w: float, batch: float, gbps: float, tflops: float) -> tuple[float, float]:
    return p * w / (gbps * 1e9), 2 * p * batch / (tflops * 1e12)


def _rate(p: float, w: float, batch: float, gbps: float, tflops: float) -> float:
    return batch / max(_times(p, w, batch, gbps, tflops))


def _rate_edges(g: Givens) -> tuple[tuple[Any, ...], ...]:
    knee = g.peak_tflops * 1e12 / (g.bandwidth_gbps * 1e9) * g.bytes_per_weight / 2
    chip = (g.bandwidth_gbps, g.peak_tflops)
    return (
        (g.params, g.bytes_per_weight, 1, *chip),
        (g.params, g.bytes_per_weight, round(4 * knee), *chip),
        (g.params, g.bytes_per_weight, round(0.7 * knee), *chip),
    )


def _describe_rate(args: tuple[Any, ...]) -> str:
    memory, compute = _times(*args)
    if args[2] == 1:
        return "batch 1"
    return "a batch below the knee" if memory > compute else "a batch far above the knee"


def _weights_per_sequence(p: float, w: float, batch: float, gbps: float, tflops: float) -> float:
    memory, compute = _times(p, w, batch, gbps, tflops)
    return batch / max(batch * memory, compute)


def _rate_mistake(rule: Callable[[float, float, float], float]) -> Callable[[Givens], Any]:
    """A wrong function from a rule on (memory seconds, compute seconds, batch)."""

    def make(_g: Givens) -> Callable[..., float]:
        def wrong(p: float, w: float, batch: float, gbps: float, tflops: float) -> float:
            return rule(*_times(p, w, batch, gbps, tflops), batch)

        return wrong

    return make


DECODE_RATE = Exercise(
    id="1.11",
    title="One function, both roofs",
    objective=OBJECTIVE,
    points=2,
    tier=Tier.TRANSFER,
    kind=FunctionKind(
        signature="decode_rate(params, bytes_per_weight, batch, bandwidth_gbps, peak_tflops)",
        doc="Highest output tok/s of all `batch` sequences; takes GB/s (1e9 B) and TFLOP/s.",
        arguments=("params", "bytes_per_weight", "batch", "bandwidth_gbps", "peak_tflops"),
        edges=_rate_edges,
        describe=_describe_rate,
    ),
    statement=(
        "Batching is why serving is affordable: one pass over the weights serves every sequence "
        "of the batch. But each sequence brings FLOPs of its own.\n\n"
        "Write `decode_rate(params, bytes_per_weight, batch, bandwidth_gbps, peak_tflops)`: the "
        "highest number of output tokens per second of **all sequences together**. A step lasts "
        "as long as the slower of reading and computing. Leave the KV cache out.\n\n"
        "- `params`: streamed parameters; `bytes_per_weight`: bytes each\n"
        "- `bandwidth_gbps`: gigabytes per second (1e9 bytes)\n"
        "- `peak_tflops`: TFLOP/s (1e12 FLOP per second)"
    ),
    answer_name="decode_rate",
    draw=_draw_1_11,
    reference=lambda _g: _rate,
    mistakes=(
        Mistake(
            Code.ONE_SEQUENCE,
            "This is the rate of one sequence. Each step gives one token to every sequence of the "
            "batch.",
            _rate_mistake(lambda m, c, _b: 1 / max(m, c)),
        ),
        Mistake(
            Code.WEIGHTS_PER_SEQUENCE,
            "You read the weights once per sequence. They are read once per step, whatever the "
            "batch: that is the gain.",
            lambda _g: _weights_per_sequence,
        ),
        Mistake(
            Code.WRONG_ROOF,
            "You took the shorter of the two times. The slower one holds the step up.",
            _rate_mistake(lambda m, c, b: b / min(m, c)),
        ),
        Mistake(
            Code.PEAK_FORGOTTEN,
            "Right while memory is the limit, but a large batch runs into the compute roof: the "
            "computing time grows with the batch, and the slower time counts.",
            _rate_mistake(lambda m, _c, b: b / m),
        ),
        Mistake(
            Code.SUM_OF_ROOFS,
            "You added reading and computing. On the roofline they overlap: the slower one counts.",
            _rate_mistake(lambda m, c, b: b / (m + c)),
        ),
        Mistake(
            Code.MAC_ONE_FLOP,
            "Right while memory is the limit; above the knee you are off by two: a weight costs "
            "a multiply and an add.",
            _rate_mistake(lambda m, c, b: b / max(m, c / 2)),
        ),
    ),
    hints=(
        "Two times: reading the weights once, and computing for every sequence.",
        "Tokens of one step (the batch) divided by the longer of the two times.",
        "batch / max(params · bytes_per_weight / bandwidth, 2 · params · batch / peak)",
    ),
    solution=(
        "def decode_rate(params, bytes_per_weight, batch, bandwidth_gbps, peak_tflops):\n"
        '    """Highest output tok/s of all `batch` sequences together, KV cache left out."""\n'
        "    reading = params * bytes_per_weight / (bandwidth_gbps * 1e9)\n"
        "    computing = 2 * params * batch / (peak_tflops * 1e12)\n"
        "    return batch / max(reading, computing)"
    ),
    praise="Up to the knee the batch is free. Lab 02 shows what the KV cache does to that.",
    claim="E078",
    forbids=ENGINE,
)


CEILING_EXERCISES = (CEILING_8B, CEILING_MOE, DECODE_RATE)
