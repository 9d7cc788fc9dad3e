"""Lab 02, exercise 2.3: what a card has left for the cache, as this lab's exercises count it."""

from __future__ import annotations

from labkit.catalog import Instance, ModelSpec, NumberFormat
from labkit.contract.codes import Code
from labkit.contract.givens import Given, Givens
from labkit.exercises import given
from labkit.exercises.kinds import Quantity, Tolerance
from labkit.exercises.lab02_memory.shapes import CACHE, kv_per_token, kv_width, shape
from labkit.exercises.spec import Draw, Exercise, Mistake, Tier
from labkit.sizing.device import device_of

MIB, GIB = 2**20, 2**30
UTILIZATION, OVERHEAD_GIB = 0.90, 1.0
SIXTEEN_BITS = 2.0


def room(instance: Instance) -> tuple[Given, ...]:
    """One accelerator's usable memory and what the engine keeps of it."""
    device = device_of(instance)
    return (
        Given(
            "usable_mib",
            round(device.usable_bytes / MIB),
            "MiB",
            f"{instance.name}: one {device.noun}, usable",
            "catalogue",
        ),
        Given(
            "gpu_memory_utilization",
            UTILIZATION,
            "",
            "share that the engine may use",
            "assumed, vLLM's option",
        ),
        Given("overhead_gib", OVERHEAD_GIB, "GiB", "the engine's own memory", "assumed"),
    )


def split_weights(model: ModelSpec, fmt: NumberFormat) -> tuple[Given, ...]:
    """Matrices that a checkpoint below 16 bits quantizes, and what it leaves at 16 bits."""
    params = model.params
    quantized = params.linear + params.experts
    return (
        Given("params_matrices", quantized, "parameters", f"{model.name}: in its matrices"),
        Given(
            "params_rest",
            params.total - quantized,
            "parameters",
            "the rest: both tables and the norms",
            "stays at 2 bytes each",
        ),
        given.width(fmt),
    )


def weights_of(g: Givens, width: float | None = None) -> float:
    """Stored bytes: matrices in the format, the rest in 16 bits."""
    width = float(g.bytes_per_weight) if width is None else width
    return float(g.params_matrices * width + g.params_rest * SIXTEEN_BITS)


def pool(g: Givens, weights: float, *, share: float | None = None, kept: float = 1.0) -> float:
    """Bytes left for the cache; `share` and `kept` (of the overhead) make the known mistakes."""
    share = float(g.gpu_memory_utilization) if share is None else share
    return share * float(g.usable_mib) * MIB - weights - kept * float(g.overhead_gib) * GIB


# --- 2.3 the 22,888 MiB budget ------------------------------------------------------------------


def _draw_2_3(draw: Draw) -> tuple[Given, ...]:
    model = draw.facts.model("llama-2-7b")
    return (
        given.parameters(model),
        given.width(draw.facts.format("bf16")),
        *shape(model),
        kv_width(draw.facts.format("bf16")),
        *room(draw.facts.instance("g5.xlarge")),
        Given("label_gb", 24, "GB", "what the box says", "marketing"),
    )


def _all_16(g: Givens) -> float:
    return float(g.params_total * g.bytes_per_weight)


def _share(g: Givens) -> float:
    """The engine's share of the card in MiB."""
    return float(g.gpu_memory_utilization * g.usable_mib)


TOKENS_7B = Exercise(
    id="2.3",
    title="A massive context window?",
    objective=CACHE,
    points=1,
    tier=Tier.CORE,
    kind=Quantity("tokens", Tolerance.COUNTED),
    statement=(
        "A published chapter says that a `g5` runs *a 7B model with a massive context window.* "
        "Take Llama-2-7B, weights and cache in BF16, on the one A10G of a `g5.xlarge`. All of the "
        "model's parameters lie in the card's memory, the input embedding too. The engine may use "
        "90 % of the **usable** memory, and 1 GiB of that is its own.\n\n"
        "**How many tokens fit into the cache, of all users together?**"
    ),
    answer_name="tokens_7b",
    draw=_draw_2_3,
    reference=lambda g: pool(g, _all_16(g)) / kv_per_token(g),
    mistakes=(
        Mistake(
            Code.GB_AS_GIB,
            "You started from 24 GiB. The label's 24 are GB; the card has 22,888 MiB, and that is "
            "22.35 GiB.",
            lambda g: (
                (
                    g.label_gb * GIB * g.gpu_memory_utilization
                    - _all_16(g)
                    - float(g.overhead_gib) * GIB
                )
                / kv_per_token(g)
            ),
        ),
        Mistake(
            Code.NO_RESERVE,
            "Nothing was kept back. The engine takes 90 % of the card, and 1 GiB of that for "
            "itself.",
            lambda g: pool(g, _all_16(g), share=1.0, kept=0.0) / kv_per_token(g),
        ),
        Mistake(
            Code.UTILIZATION_FORGOTTEN,
            "You used the whole card. The engine may use 90 % of it.",
            lambda g: pool(g, _all_16(g), share=1.0) / kv_per_token(g),
        ),
        Mistake(
            Code.OVERHEAD_FORGOTTEN,
            "The engine's own 1 GiB is missing.",
            lambda g: pool(g, _all_16(g), kept=0.0) / kv_per_token(g),
        ),
        Mistake(
            Code.SHARE_OF_FREE,
            "You took 90 % of what is left after loading. Some engines count so (TensorRT-LLM). "
            "Here it is vLLM's way: 90 % of the card, then subtract.",
            lambda g: pool(g, _all_16(g), share=1.0) * g.gpu_memory_utilization / kv_per_token(g),
        ),
        Mistake(
            Code.WEIGHTS_FORGOTTEN,
            "The weights live there too. Subtract them first.",
            lambda g: pool(g, 0.0) / kv_per_token(g),
        ),
        Mistake(
            Code.BYTES_PER_WEIGHT,
            "You subtracted one byte per weight. BF16 has two.",
            lambda g: pool(g, _all_16(g) / 2) / kv_per_token(g),
        ),
        Mistake(
            Code.ONE_TENSOR,
            "You counted half of each token. K and V are two, with two bytes per number.",
            lambda g: 2 * pool(g, _all_16(g)) / kv_per_token(g),
        ),
        Mistake(
            Code.OTHER_QUANTITY,
            "This is the room for the cache in GiB. Asked: tokens. Divide by the bytes of one.",
            lambda g: pool(g, _all_16(g)) / GIB,
        ),
        Mistake(
            Code.PREFIX,
            "You took a MiB for a million bytes. 1 MiB is 2^20 = 1,048,576 bytes.",
            lambda g: (pool(g, _all_16(g)) - _share(g) * (MIB - 1e6)) / kv_per_token(g),
        ),
        Mistake(
            Code.CLOSE,
            "You took 1 GB for the engine. It is 1 GiB, 2^30 bytes.",
            lambda g: (pool(g, _all_16(g)) + float(g.overhead_gib) * (GIB - 1e9)) / kv_per_token(g),
        ),
        Mistake(
            Code.PER_LAYER,
            "You divided by the cache of one layer. A token has its K and V in every layer.",
            lambda g: g.layers * pool(g, _all_16(g)) / kv_per_token(g),
        ),
    ),
    hints=(
        "Start with the card, in bytes. Take away, one after the other, what is not for the cache.",
        "90 % of the card, minus weights, minus 1 GiB; then divide by the bytes of one token.",
        "(0.9 · usable_mib · 2^20 − params_total · 2 − overhead_gib · 2^30) / (2 · layers · "
        "kv_heads · head_dim · 2)",
    ),
    solution=(
        "budget = g.gpu_memory_utilization * g.usable_mib * 2**20\n"
        "left = budget - g.params_total * g.bytes_per_weight - g.overhead_gib * 2**30\n"
        "per_token = 2 * g.layers * g.kv_heads * g.head_dim * g.bytes_per_element\n"
        "tokens_7b = left / per_token"
    ),
    praise=(
        "Three full contexts and a bit: not so massive. The sixteen sequences of 1.6 need 16,384 "
        "tokens, and an L4 is no larger: that batch does not fit."
    ),
    claim="E026",
)
