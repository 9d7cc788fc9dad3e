"""Lab 02, exercise 2.11: the parameters of a Llama-like model, counted from its config."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from labkit.contract.codes import Code
from labkit.contract.givens import Given, Givens
from labkit.exercises.kinds import FunctionKind
from labkit.exercises.lab02_memory.shapes import (
    ENGINE,
    Config,
    config_givens,
    draw_config,
    head_dim_of,
    kv_heads_of,
    without,
)
from labkit.exercises.spec import Draw, Exercise, Mistake, Tier

OBJECTIVE = "count a model's weights from its config"


def count(
    config: Config,
    *,
    tables: int | None = None,
    matrices: int = 3,
    norms: int = 2,
    final: int = 1,
    all_heads: bool = False,
    guess: bool = False,
    tensors: int = 2,
) -> int:
    """Parameters of a Llama-like decoder; the keywords make the known mistakes.

    `tables`: vocabulary tables counted; `matrices` of the MLP, `norms` per layer, `final` norms;
    `all_heads` gives K and V every query head; `guess` takes hidden / heads for head_dim;
    `tensors` is 1 for K without V.
    """
    hidden, heads = config["hidden_size"], config["num_attention_heads"]
    head_dim = hidden // heads if guess else head_dim_of(config)
    q = heads * head_dim
    kv = q if all_heads else kv_heads_of(config) * head_dim
    attention = hidden * (q + tensors * kv) + q * hidden
    layer = attention + matrices * hidden * config["intermediate_size"] + norms * hidden
    if tables is None:
        tables = 1 if config["tie_word_embeddings"] else 2
    table = config["vocab_size"] * hidden
    return int(tables * table + config["num_hidden_layers"] * layer + final * hidden)


def _draw(draw: Draw) -> tuple[Given, ...]:
    return config_givens(draw_config(draw.rng, draw.rng.choice(("mha", "gqa", "mqa"))))


def _edges(g: Givens) -> tuple[tuple[Any, ...], ...]:
    base = dict(g)
    heads, hidden = int(g.num_attention_heads), int(g.hidden_size)
    grouped = base | {"num_key_value_heads": heads // 4, "head_dim": hidden // heads}
    return (
        (grouped | {"tie_word_embeddings": True},),
        (grouped | {"tie_word_embeddings": False},),
        (grouped | {"head_dim": 2 * hidden // heads},),
        (without(grouped, "head_dim"),),
        (without(grouped, "num_key_value_heads"),),
    )


def _describe(args: tuple[Any, ...]) -> str:
    config = args[0]
    if "num_key_value_heads" not in config:
        return "a config without num_key_value_heads"
    if "head_dim" not in config:
        return "a config without head_dim"
    tied = "tied" if config["tie_word_embeddings"] else "untied"
    return f"a config with all fields and {tied} embeddings"


def incomplete(args: tuple[Any, ...]) -> bool:
    """Whether the config leaves one of the two optional fields out."""
    return "num_key_value_heads" not in args[0] or "head_dim" not in args[0]


def _wrong(**how: Any) -> Callable[[Givens], Any]:
    return lambda _g: lambda config: count(config, **how)


COUNT_PARAMETERS = Exercise(
    id="2.11",
    title="Count a model",
    objective=OBJECTIVE,
    points=2,
    tier=Tier.TRANSFER,
    kind=FunctionKind(
        signature="count_parameters(config)",
        doc="Parameters of a Llama-like model; `config` is a dict with config.json's names.",
        arguments=(),
        edges=_edges,
        describe=_describe,
        special=incomplete,
        rel_tol=1e-12,
        plain="configs with all fields",
        pack=lambda g: (dict(g),),
    ),
    statement=(
        "Write `count_parameters(config)`: how many numbers a Llama-like model stores. `config` is "
        "a plain dict with config.json's names, as above. Exact to the last parameter: return a "
        "whole number. There are no biases.\n\n"
        "Three things to watch:\n\n"
        "- `tie_word_embeddings` is always there. `True` means that the output head *is* the "
        "input embedding: one table, stored once.\n"
        "- `head_dim` may be missing. Then it is `hidden_size // num_attention_heads`. Where it is "
        "given it counts, even if it is another number.\n"
        "- `num_key_value_heads` may be missing. Then every query head has its own K and V.\n\n"
        "It is tried here on practice configs. When the lab is graded it runs on configs that "
        "nobody has seen."
    ),
    answer_name="count_parameters",
    draw=_draw,
    reference=lambda _g: count,
    mistakes=(
        Mistake(
            Code.TYING_IGNORED,
            "Right for untied models. With tie_word_embeddings the head is the embedding table: "
            "count it once.",
            _wrong(tables=2),
        ),
        Mistake(
            Code.HEAD_NOT_STREAMED,
            "Right for tied models. Without tying, the output head is a second table of "
            "vocab_size × hidden_size.",
            _wrong(tables=1),
        ),
        Mistake(
            Code.MLP_TWO_MATRICES,
            "Your MLP has two matrices. A Llama-like MLP is gated and has three: gate, up, down.",
            _wrong(matrices=2),
        ),
        Mistake(
            Code.QUERY_HEADS,
            "You gave K and V one head for each query head. With grouped queries they have only "
            "num_key_value_heads.",
            _wrong(all_heads=True),
        ),
        Mistake(
            Code.HEAD_DIM_GUESSED,
            "You took hidden_size / num_attention_heads although the config gives head_dim. Some "
            "models choose another number: read the field where it is there.",
            _wrong(guess=True),
        ),
        Mistake(
            Code.SHAPE,
            "You gave all four attention matrices hidden_size × hidden_size. The table says more: "
            "one side of Q and O is query heads · head_dim, one side of K and V is KV heads · "
            "head_dim.",
            _wrong(all_heads=True, guess=True),
        ),
        Mistake(
            Code.ONE_TENSOR,
            "K and V are two matrices of the same size. You counted one of them.",
            _wrong(tensors=1),
        ),
        Mistake(
            Code.NORMS_FORGOTTEN,
            "All matrices are right. The norms are missing: two vectors of hidden_size per layer, "
            "and one after the last layer.",
            _wrong(norms=0, final=0),
        ),
        Mistake(
            Code.FINAL_NORM,
            "One vector is missing: there is one more norm after the last layer.",
            _wrong(final=0),
        ),
    ),
    hints=(
        "Go through the table row by row: its size, times how often it is there. Add it all up.",
        "Tables + layers × (Q, K, V, O + three MLP matrices + two norms) + the last norm.",
        "layer = h·(q + 2·kv) + q·h + 3·h·m + 2·h, with q = heads·head_dim, kv = kv_heads·head_dim",
    ),
    solution=(
        "def count_parameters(config):\n"
        '    """Parameters of a Llama-like model from its config."""\n'
        '    hidden, heads = config["hidden_size"], config["num_attention_heads"]\n'
        '    kv_heads = config.get("num_key_value_heads", heads)\n'
        '    head_dim = config.get("head_dim", hidden // heads)\n'
        "    q, kv = heads * head_dim, kv_heads * head_dim\n"
        "    attention = hidden * (q + 2 * kv) + q * hidden\n"
        '    mlp = 3 * hidden * config["intermediate_size"]\n'
        '    tables = 1 if config["tie_word_embeddings"] else 2\n'
        "    return (\n"
        '        tables * config["vocab_size"] * hidden\n'
        '        + config["num_hidden_layers"] * (attention + mlp + 2 * hidden)\n'
        "        + hidden\n"
        "    )"
    ),
    praise="A parameter count is no secret of the publisher: eight fields of the config give it.",
    forbids=ENGINE,
)
