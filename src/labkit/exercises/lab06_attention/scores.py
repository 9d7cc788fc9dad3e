"""Lab 06, exercises 6.1 and 6.9: what naive attention keeps, and how much of the memory that is."""

from __future__ import annotations

from labkit.catalog import ModelSpec
from labkit.contract.codes import Code
from labkit.contract.givens import Given, Givens
from labkit.exercises import given
from labkit.exercises.kinds import Quantity, Tolerance
from labkit.exercises.lab06_attention.objectives import ATTENTION
from labkit.exercises.spec import Draw, Exercise, Mistake, Tier

GIB = 2**30


def score_bytes(g: Givens, *, heads: int | None = None) -> float:
    """One layer's score matrices: a number per query, key and query head."""
    return float((g.heads if heads is None else heads) * g.tokens**2 * g.bytes_per_element)


def _shape(model: ModelSpec, tokens: int, source: str) -> tuple[Given, ...]:
    first = model.attention[0]
    return (
        Given("tokens", tokens, "tokens", "prompt, read in one go", source),
        Given("heads", first.heads, "", f"{model.name}: query heads", "its config"),
        Given("layers", model.layers, "", f"{model.name}: layers", "its config"),
        Given("bytes_per_element", 2, "B", "bytes per BF16 number", "the format's definition"),
    )


# --- 6.1 the matrices of one layer -----------------------------------------------------------


def _draw_6_1(draw: Draw) -> tuple[Given, ...]:
    return _shape(draw.facts.model("llama-2-7b"), 4096, "assumed")


SCORES = Exercise(
    id="6.1",
    title="What naive attention keeps",
    objective=ATTENTION,
    points=1,
    tier=Tier.CORE,
    kind=Quantity("GiB", Tolerance.FORMULA),
    statement=(
        "Llama-2-7B reads a prompt of 4,096 tokens in one go, batch 1, in BF16. Naive attention "
        "writes down the whole score matrix of every query head of a layer: one number for each "
        "pair of tokens. (It computes all pairs and masks the future ones afterwards.) Layers run "
        "one after the other, and the memory is used again.\n\n"
        "**How large are the score matrices that are there at the same time?** In GiB."
    ),
    answer_name="scores_gib",
    draw=_draw_6_1,
    reference=lambda g: score_bytes(g) / GIB,
    mistakes=(
        Mistake(
            Code.ONE_HEAD,
            "This is one head. Every query head has a score matrix of its own, and a layer works "
            "on all of them at once.",
            lambda g: score_bytes(g, heads=1) / GIB,
        ),
        Mistake(
            Code.ALL_LAYERS,
            "You added up all layers. They run one after the other, so only one layer's matrices "
            "are there at a time.",
            lambda g: score_bytes(g) * g.layers / GIB,
        ),
        Mistake(
            Code.NOT_SQUARED,
            "You counted one number per token. There is one per pair of tokens: n², not n.",
            lambda g: score_bytes(g) / g.tokens / GIB,
        ),
        Mistake(
            Code.BYTES_PER_WEIGHT,
            "You took four bytes for each number. BF16 has two.",
            lambda g: 2 * score_bytes(g) / GIB,
        ),
        Mistake(
            Code.OTHER_QUANTITY,
            "These are bytes. Asked: GiB, so divide by 2^30.",
            score_bytes,
        ),
        Mistake(
            Code.CONDITION_IGNORED,
            "This is half the matrix, as if the future were never computed. Naive attention "
            "computes it too and masks it afterwards.",
            lambda g: score_bytes(g) / 2 / GIB,
        ),
    ),
    hints=(
        "How many numbers does one head's matrix have? Then the heads, then the bytes.",
        "Tokens squared, times query heads, times bytes per number.",
        "tokens² · heads · bytes_per_element / 2^30",
    ),
    solution="scores_gib = g.tokens**2 * g.heads * g.bytes_per_element / 2**30",
    praise=(
        "One number per pair of tokens: twice the prompt, four times the matrix. For 32,768 "
        "tokens it would be 64 GiB."
    ),
    claim="E116",
)


# --- 6.9 the share of the whole --------------------------------------------------------------

_PICKS = ("llama-2-7b", "llama-2-13b", "mistral-7b", "llama-3.1-8b", "qwen2.5-7b", "qwen3-8b")
_PROMPTS = (2048, 3072, 4096)
PUBLISHED = 41.833  # between 5 / 12 and 42, so that either way of typing it is recognised


def _draw_6_9(draw: Draw) -> tuple[Given, ...]:
    model = draw.facts.model(draw.rng.choice(_PICKS))
    first = model.attention[0]
    return (
        Given("model", model.name, "", "your model", "drawn by your learner id"),
        *_shape(model, draw.rng.choice(_PROMPTS), "drawn by your learner id"),
        Given("kv_heads", first.kv_heads, "", f"{model.name}: KV heads", "its config"),
        Given("head_dim", first.head_dim, "", f"{model.name}: head_dim", "its config"),
        given.parameters(model),
    )


def weight_bytes(g: Givens) -> float:
    """All stored parameters at 16 bits."""
    return float(g.params_total * g.bytes_per_element)


def cache_bytes(g: Givens, heads: int | None = None) -> float:
    """K and V of the whole prompt."""
    heads = g.kv_heads if heads is None else heads
    return float(2 * g.layers * heads * g.head_dim * g.bytes_per_element * g.tokens)


def _percent(part: float, *rest: float) -> float:
    return 100 * part / (part + sum(rest))


SHARE = Exercise(
    id="6.9",
    title="Prove or refute: 12 GB become 7",
    objective=ATTENTION,
    points=1,
    tier=Tier.PERSONAL,
    kind=Quantity("%", Tolerance.COUNTED),
    statement=(
        "A published chapter gives a benchmark: at 4,096 tokens FlashAttention 2 takes Llama-2-7B "
        "in BF16 from 12 GB of memory down to 7. It names neither the hardware nor the batch. You "
        "can test it all the same: attention that never writes its score matrices saves them and "
        "nothing else.\n\n"
        "Take the model and the prompt that your learner id has drawn, batch 1, all in BF16. With "
        "naive attention memory holds, at its peak, three things: all weights, the K and V of the "
        "prompt in all layers, and **one layer's** score matrices.\n\n"
        "**By how many percent does that peak fall when the score matrices are gone?**"
    ),
    answer_name="saved_percent",
    draw=_draw_6_9,
    reference=lambda g: _percent(score_bytes(g), weight_bytes(g), cache_bytes(g)),
    mistakes=(
        Mistake(
            Code.OTHER_QUANTITY,
            "You divided by what is left. Percent of what it was before: the scores belong into "
            "the sum below as well.",
            lambda g: 100 * score_bytes(g) / (weight_bytes(g) + cache_bytes(g)),
        ),
        Mistake(
            Code.ALL_LAYERS,
            "You counted the scores of all layers. One layer's are there at a time.",
            lambda g: _percent(g.layers * score_bytes(g), weight_bytes(g), cache_bytes(g)),
        ),
        Mistake(
            Code.KV_FORGOTTEN,
            "The cache of the prompt is missing in the sum: K and V, all layers.",
            lambda g: _percent(score_bytes(g), weight_bytes(g)),
        ),
        Mistake(
            Code.ONE_TENSOR,
            "Your cache holds K alone, or V alone. It holds both.",
            lambda g: _percent(score_bytes(g), weight_bytes(g), cache_bytes(g) / 2),
        ),
        Mistake(
            Code.INVERTED,
            "This is what is left of the peak. Asked: what goes away.",
            lambda g: 100 - _percent(score_bytes(g), weight_bytes(g), cache_bytes(g)),
        ),
        Mistake(
            Code.WEIGHTS_FORGOTTEN,
            "The weights are missing in the sum. They are most of it.",
            lambda g: _percent(score_bytes(g), cache_bytes(g)),
        ),
        Mistake(
            Code.PREFIX,
            "This is a share between 0 and 1. Asked: percent.",
            lambda g: _percent(score_bytes(g), weight_bytes(g), cache_bytes(g)) / 100,
        ),
        Mistake(
            Code.EXPECTATION_NOT_MEASUREMENT,
            "This is what the chapter claims, 12 GB to 7. Work it out from the three parts.",
            lambda _g: PUBLISHED,
        ),
        Mistake(
            Code.ONE_HEAD,
            "This is one head's matrix. Every query head has one.",
            lambda g: _percent(score_bytes(g, heads=1), weight_bytes(g), cache_bytes(g)),
        ),
        Mistake(
            Code.KV_HEADS,
            "You counted one score matrix per KV head. KV heads are shared, but every query head "
            "scores for itself.",
            lambda g: (
                _percent(score_bytes(g, heads=g.kv_heads), weight_bytes(g), cache_bytes(g))
                if g.kv_heads != g.heads
                else None
            ),
        ),
        Mistake(
            Code.QUERY_HEADS,
            "Your cache has a K and a V for every query head. This model shares them: count KV "
            "heads there.",
            lambda g: (
                _percent(score_bytes(g), weight_bytes(g), cache_bytes(g, heads=g.heads))
                if g.kv_heads != g.heads
                else None
            ),
        ),
    ),
    hints=(
        "Three numbers in bytes: weights, cache, scores. What share of their sum are the scores?",
        "Scores as in 6.1. Cache = 2 · layers · KV heads · head_dim · 2 bytes, for each token.",
        "100 · S / (W + K + S); S = tokens² · heads · 2, W = params_total · 2, "
        "K = 2 · layers · kv_heads · head_dim · 2 · tokens",
    ),
    solution=(
        "scores = g.tokens**2 * g.heads * g.bytes_per_element\n"
        "weights = g.params_total * g.bytes_per_element\n"
        "per_token = 2 * g.layers * g.kv_heads * g.head_dim * g.bytes_per_element\n"
        "saved_percent = 100 * scores / (weights + per_token * g.tokens + scores)"
    ),
    praise=(
        "Refuted. A few percent, not 42: and 7 GB would not even hold the weights of a 7B model in "
        "BF16. What long prompts gain is the n² that no longer grows."
    ),
    claim="E118",
)

SCORE_EXERCISES = (SCORES, SHARE)
