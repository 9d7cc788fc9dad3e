"""Lab 04, exercise 4.9: the most that small weights can speed up a step, with batch and cache."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from labkit.contract.codes import Code
from labkit.contract.givens import Given, Givens
from labkit.exercises.kinds import FunctionKind
from labkit.exercises.lab04_quantization.objectives import BYTES, ENGINE
from labkit.exercises.spec import Draw, Exercise, Mistake, Tier
from labkit.sizing import kv_bytes_per_token

MODELS = ("llama-2-7b", "llama-2-13b", "llama-3-8b", "mistral-7b", "qwen2.5-7b", "llama-3-70b")
FORMATS = ("int8", "int4", "int4-g32", "mxfp4")
BATCHES = (2, 4, 8, 16, 32)
CONTEXTS = (512, 1024, 2048, 4096)
_ARGUMENTS = ("matrices", "rest", "bits_per_weight", "batch", "context", "kv_bytes")


def speedup_bound(
    matrices: float,
    rest: float,
    bits_per_weight: float,
    batch: float,
    context: float,
    kv_bytes: float,
) -> float:
    """Bytes of one step in 16 bits over its bytes with small matrices; the cache is in both."""
    cache = batch * context * kv_bytes
    return (2 * (matrices + rest) + cache) / (matrices * bits_per_weight / 8 + 2 * rest + cache)


def _draw(draw: Draw) -> tuple[Given, ...]:
    model = draw.facts.model(draw.rng.choice(MODELS))
    fmt = draw.facts.format(draw.rng.choice(FORMATS))
    return (
        Given("model", model.name, "", "model"),
        Given("weights", fmt.name, "", "format of its matrices"),
        Given("matrices", model.params.linear, "parameters", "in the matrices"),
        Given("rest", model.params.head + model.params.other, "parameters", "head and norms"),
        Given("bits_per_weight", fmt.bits_per_weight, "bits", "bits of a weight"),
        Given("batch", draw.rng.choice(BATCHES), "sequences", "batch"),
        Given("context", draw.rng.choice(CONTEXTS), "tokens", "context of each"),
        Given("kv_bytes", kv_bytes_per_token(model), "B", "cache of one token"),
    )


def _edges(g: Givens) -> tuple[tuple[Any, ...], ...]:
    weights = (g.matrices, g.rest, g.bits_per_weight)
    return (
        (*weights, 1, 0, g.kv_bytes),
        (*weights, 1, 2048, g.kv_bytes),
        (*weights, 64, 8192, g.kv_bytes),
        # So many that one token of each is told apart from no cache at all.
        (*weights, 4096, 16, g.kv_bytes),
    )


def _describe(args: tuple[Any, ...]) -> str:
    batch, context = args[3], args[4]
    if context == 0:
        return "an empty context"
    return "one sequence" if batch == 1 else "a batch with context"


def _wrong(rule: Callable[..., float]) -> Callable[[Givens], Any]:
    """A wrong function under the right one's argument names."""

    def make(_g: Givens) -> Any:
        def wrong(
            matrices: float,
            rest: float,
            bits_per_weight: float,
            batch: float,
            context: float,
            kv_bytes: float,
        ) -> float:
            return rule(matrices, rest, bits_per_weight, batch, context, kv_bytes)

        return wrong

    return make


def _kv_shrinks(m: float, r: float, b: float, n: float, c: float, kv: float) -> float:
    return (2 * (m + r) + n * c * kv) / (m * b / 8 + 2 * r + n * c * kv * b / 16)


def _head_too(m: float, r: float, b: float, n: float, c: float, kv: float) -> float:
    return speedup_bound(m + r, 0, b, n, c, kv)


BOUND = Exercise(
    id="4.9",
    title="Prove or refute: always quantize",
    objective=BYTES,
    points=2,
    tier=Tier.TRANSFER,
    kind=FunctionKind(
        signature="speedup_bound(matrices, rest, bits_per_weight, batch, context, kv_bytes)",
        doc="Bytes of a decode step with 16-bit weights over its bytes with quantized matrices.",
        arguments=_ARGUMENTS,
        edges=_edges,
        describe=_describe,
        rel_tol=0.002,
    ),
    statement=(
        "*Always quantize: INT8 minimum*, says the same chapter. What does it buy when more than "
        "one user is there? Write a function for the bound, any batch and context:\n\n"
        "- `matrices`, `rest`: streamed parameters. The matrices are quantized to "
        "`bits_per_weight` **bits**; the rest (head, norms) stays at 16 bits\n"
        "- `batch`: sequences; the weights are read once for all of them\n"
        "- `context`: tokens that each has in the cache; `kv_bytes`: bytes per token and sequence, "
        "in 16 bits before and after\n\n"
        "It returns old bytes over new bytes, as long as memory is the limit."
    ),
    answer_name="speedup_bound",
    draw=_draw,
    reference=lambda _g: speedup_bound,
    mistakes=(
        Mistake(
            Code.KV_FORGOTTEN,
            "Right for an empty context. The cache is read too, the whole context of each "
            "sequence: it belongs into both sums, before and after.",
            _wrong(lambda m, r, b, n, c, kv: speedup_bound(m, r, b, 0, 0, 0)),
        ),
        Mistake(
            Code.KV_AS_WEIGHTS,
            "You shrank the cache as well. Quantized weights leave it as it was: 16 bits.",
            _wrong(_kv_shrinks),
        ),
        Mistake(
            Code.ONE_SEQUENCE,
            "You weighed the weights against one cache. A step reads the weights once and the "
            "cache of each sequence: batch times context times kv_bytes.",
            _wrong(lambda m, r, b, n, c, kv: speedup_bound(m, r, b, 1, c, kv)),
        ),
        Mistake(
            Code.CONTEXT_FORGOTTEN,
            "You read one token of each cache. A step reads all of them: batch times context times "
            "kv_bytes.",
            _wrong(lambda m, r, b, n, c, kv: speedup_bound(m, r, b, n, 1, kv)),
        ),
        Mistake(
            Code.HEAD_NOT_STREAMED,
            "You left the rest out. Head and norms are read as well, before and after.",
            _wrong(lambda m, r, b, n, c, kv: speedup_bound(m, 0, b, n, c, kv)),
        ),
        Mistake(
            Code.UNITS_MIXED,
            "You counted the weights in bits and the cache in bytes. One sum needs one unit.",
            _wrong(lambda m, r, b, n, c, kv: speedup_bound(8 * m, 8 * r, b, n, c, kv)),
        ),
        Mistake(
            Code.NAME_NOT_SIZE,
            "You took four bits for every format. Use the argument bits_per_weight.",
            _wrong(lambda m, r, b, n, c, kv: speedup_bound(m, r, 4, n, c, kv)),
        ),
        Mistake(
            Code.HEAD_QUANTIZED,
            "You quantized the rest too. Head and norms stay at 2 bytes, before and after.",
            _wrong(_head_too),
        ),
        Mistake(
            Code.BITS_AS_BYTES,
            "You took bits for bytes: bits_per_weight / 8 are the bytes of a weight.",
            _wrong(lambda m, r, b, n, c, kv: speedup_bound(m, r, 8 * b, n, c, kv)),
        ),
        Mistake(
            Code.INVERTED,
            "This is new bytes over old ones. A speed-up is old over new.",
            _wrong(lambda *args: 1 / speedup_bound(*args)),
        ),
    ),
    hints=(
        "Add up what one step reads, once with 16-bit weights and once with quantized ones.",
        "Weights once, caches once per sequence. Only the matrices differ between the two sums.",
        "(2(m + r) + n·c·kv) / (m·bits/8 + 2r + n·c·kv)",
    ),
    solution=(
        "def speedup_bound(matrices, rest, bits_per_weight, batch, context, kv_bytes):\n"
        '    """Bytes of a step with 16-bit weights over its bytes with quantized matrices."""\n'
        "    cache = batch * context * kv_bytes\n"
        "    before = 2 * (matrices + rest) + cache\n"
        "    after = matrices * bits_per_weight / 8 + 2 * rest + cache\n"
        "    return before / after"
    ),
    praise="The bound itself melts as users and contexts come in. Look at it in the next figure.",
    claim="E146",
    forbids=ENGINE,
)
