"""Lab 05, exercise 5.5: the least time to the first token, from the FLOPs of the prompt."""

from __future__ import annotations

import dataclasses

from labkit.contract.codes import Code
from labkit.contract.givens import Given, Givens
from labkit.exercises import given
from labkit.exercises.kinds import Quantity, Tolerance
from labkit.exercises.lab02_memory.shapes import shape
from labkit.exercises.lab05_batching.queue import SCHEDULING
from labkit.exercises.spec import Draw, Exercise, Mistake, Tier

TOKENS, EFFICIENCY = 2_048, 0.5


def _draw(draw: Draw) -> tuple[Given, ...]:
    model, chip = draw.facts.model("llama-3-8b"), draw.facts.accelerator("A10G")
    return (
        Given(
            "params_layers",
            model.params.linear,
            "parameters",
            f"{model.name}: in the matrices of its layers",
            "counted from its config",
        ),
        _table(given.head(model), f"{model.name}: in its output head"),
        _table(given.embedding(model), f"{model.name}: in its input embedding"),
        *shape(model),
        Given("tokens", TOKENS, "tokens", "prompt"),
        given.peak(chip, "bf16"),
        Given("efficiency", EFFICIENCY, "", "share of the peak that a prefill reaches", "assumed"),
        given.bandwidth(chip),
    )


def _table(item: Given, label: str) -> Given:
    """A vocabulary table by a name that does not make it a part of the layers."""
    return dataclasses.replace(item, label=label)


def _matrices(g: Givens) -> float:
    return float(2 * g.tokens * g.params_layers)


def _head(g: Givens) -> float:
    return float(2 * g.params_head)


def _attention(g: Givens) -> float:
    """Q·K and P·V of every head and layer, half of the square of pairs."""
    return float(4 * g.layers * g.heads * g.head_dim * g.tokens**2 / 2)


def _ms(g: Givens, flop: float, efficiency: float | None = None) -> float:
    share = float(g.efficiency) if efficiency is None else efficiency
    return 1e3 * flop / (float(g.peak_tflops) * 1e12 * share)


def _flop(g: Givens) -> float:
    return _matrices(g) + _attention(g) + _head(g)


TTFT_FLOOR = Exercise(
    id="5.5",
    title="The least time to the first token",
    objective=SCHEDULING,
    points=1,
    tier=Tier.CORE,
    kind=Quantity("ms", Tolerance.COUNTED),
    statement=(
        "A prompt is read in one go, the *prefill*, and it is compute-bound: each weight is "
        "read once and used for every token. Llama-3-8B (BF16) reads a prompt of 2,048 tokens on "
        "an idle A10G, at 50 % of the dense peak. Count its FLOPs, 2 per multiply-add:\n\n"
        "1. the layers' matrices: every parameter, for every token\n"
        "2. attention: each token looks at itself and those before it, so there are about "
        "tokens² ÷ 2 pairs; each takes 4 · `head_dim` FLOPs (Q·K and P·V), per query head and "
        "layer\n"
        "3. the output head: **once**, for the last token; only that one predicts\n\n"
        "The input embedding is looked up and costs nothing. **How long does the prefill take, in "
        "milliseconds?**"
    ),
    answer_name="ttft_floor_ms",
    draw=_draw,
    reference=lambda g: _ms(g, _flop(g)),
    mistakes=(
        Mistake(
            Code.UTILIZATION_FORGOTTEN,
            "Half the right value. Either the 50 % is missing, or you counted one FLOP for a "
            "multiply-add.",
            lambda g: _ms(g, _flop(g)) / 2,
        ),
        Mistake(
            Code.HEAD_NOT_STREAMED,
            "You computed the output head for every token of the prompt. Only the last one has to "
            "predict something.",
            lambda g: _ms(g, _matrices(g) + _attention(g) + g.tokens * _head(g)),
        ),
        Mistake(
            Code.EMBEDDING_STREAMED,
            "You multiplied every parameter with every token and left attention out. The embedding "
            "is only looked up, and the head is computed once.",
            lambda g: _ms(
                g,
                2.0 * g.tokens * (g.params_layers + g.params_head + g.params_embedding),
            ),
        ),
        Mistake(
            Code.KV_FORGOTTEN,
            "Attention is missing, or there for one layer only: every token looks at all tokens "
            "before it, in each layer.",
            lambda g: _ms(g, _matrices(g) + _head(g)),
        ),
        Mistake(
            Code.CONDITION_IGNORED,
            "Too much by a few percent. Either you counted the full square of pairs, though no "
            "token looks at later ones; or you computed the head for every token and left "
            "attention out.",
            lambda g: _ms(g, _flop(g) + _attention(g)),
        ),
        Mistake(
            Code.QUERY_HEADS,
            "You counted KV heads in attention. The cache has those; the work is done once per "
            "query head.",
            lambda g: _ms(g, _flop(g) - _attention(g) * (1 - g.kv_heads / g.heads)),
        ),
        Mistake(
            Code.WRONG_ROOF,
            "This is the time to read the weights once. At 2,048 tokens computing takes far "
            "longer: the other roof counts.",
            lambda g: 1e3 * 2 * (g.params_layers + g.params_head) / (g.bandwidth_gbps * 1e9),
        ),
        Mistake(
            Code.BATCH_IGNORED,
            "This is one token. The prompt has 2,048.",
            lambda g: _ms(g, _flop(g)) / g.tokens,
        ),
    ),
    hints=(
        "FLOPs first, in the three parts that are listed. Then divide by what the chip does per "
        "second.",
        "(2 · tokens · layer parameters + attention + 2 · head parameters) ÷ (half the peak).",
        "attention = 4 · layers · heads · head_dim · tokens² / 2; ms = 1000 · FLOP / (0.5 · "
        "peak_tflops · 1e12)",
    ),
    solution=(
        "matrices = 2 * g.tokens * g.params_layers\n"
        "attention = 4 * g.layers * g.heads * g.head_dim * g.tokens**2 / 2\n"
        "head = 2 * g.params_head\n"
        "flop_per_s = g.peak_tflops * 1e12 * g.efficiency\n"
        "ttft_floor_ms = 1e3 * (matrices + attention + head) / flop_per_s"
    ),
    praise=(
        "And that is with an empty machine. Everybody who is being served meanwhile waits for "
        "this prompt as well, if it is read in one step."
    ),
    claim="E002",
)
