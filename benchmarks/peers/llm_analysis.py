"""llm-analysis: per-layer roofline with ring all-reduce; its inference formulas, written anew.

What it computes for a dense decoder fits on a page, so it needs no environment and the tests can
run it. The formulas are those of github.com/cli99/llm-analysis at commit
d841e40aec8c84b9e76ba9cfbce67418adb172bd (`LLMAnalysis.inference` and what it calls), the cards its
`gpu_configs`; tests/benchmarks holds what its own code answers.

Symbols: s = tokens of a sequence, b = batch, h = hidden size, n = tensor-parallel size.
"""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.peers.question import Question, Times, Unsupported

VERSION = "formulas of commit d841e40a"
FLOPS_EFFICIENCY = 0.7
MEMORY_EFFICIENCY = 0.9
TRANSLATION = (
    "FLOPs efficiency 0.7 and memory efficiency 0.9, as its README advises for inference and its "
    "own examples use (its default, 1 and 1, is a lower bound and does worse here). Its own card "
    "where it has one; T4, L4, L40S and H200 from labkit's catalogue, which its README provides "
    "for. Weights 16, 8 or 4 bits with 16-bit activations; native FP8 as 8 and 8. Head width is "
    "always hidden size / heads. It knows no engine, so eager, llama.cpp and serving rows get the "
    "same answer. CPUs and Inferentia2 are not in it."
)

_MESSAGE_SECONDS = 8e-6  # its least time of one all-reduce
_NORM_BYTES = 4  # its latency of a layer norm counts 32-bit activations, always


@dataclass(frozen=True, slots=True)
class Card:
    """bytes/s, bytes, FLOP/s; `link` is one direction of the link to the other cards."""

    memory: float
    bandwidth: float
    link: float
    flops: float
    ops8: float


def _card(gb: float, gb_per_s: float, link: float, tflops: float, tops: float) -> Card:
    return Card(gb * 2**30, gb_per_s * 1e9, link * 1e9, tflops * 1e12, tops * 1e12)


CARDS = {
    "A10": _card(28, 600, 32, 125, 250),
    "A10G": _card(24, 600, 32, 70, 140),
    "A100-40GB": _card(40, 1555, 300, 312, 624),
    "A100-80GB": _card(80, 2039, 300, 312, 624),
    "A100-80GB-PCIe": _card(80, 1935, 300, 312, 624),
    "H100": _card(80, 3350, 450, 989, 1979),
    "H100-PCIe": _card(80, 2000, 300, 756, 1513),
}
FROM_CATALOGUE = ("T4", "L4", "L40S", "H200")


def answer(question: Question) -> Times:
    """Milliseconds of the batch's prefill and of one decode step at full length."""
    card = _card_of(question)
    layer = _Layer.of(question, card)
    if layer.resident_bytes >= card.memory:
        raise Unsupported("it says that the weights do not fit")
    batch, prompt = question.batch, question.prompt_tokens
    length = prompt + question.output_tokens
    cache = layer.cache_bytes(batch, length)
    activations = max(layer.activation_bytes(batch, 1), layer.logit_bytes(batch, 1))
    at_prefill = max(layer.activation_bytes(batch, prompt), layer.logit_bytes(batch, prompt))
    if layer.resident_bytes + max(cache + activations, at_prefill) >= card.memory:
        raise Unsupported("it says that cache and activations do not fit")
    # The cache is loaded and stored in every step, at its final length.
    step = layer.forward_seconds(batch, 1) + 2 * cache / layer.bandwidth
    return Times(
        prefill_ms=layer.forward_seconds(batch, prompt) * 1e3 if prompt else None,
        step_ms=step * 1e3,
        memory_gb=(layer.resident_bytes + max(cache + activations, at_prefill)) / 1e9,
    )


def _card_of(question: Question) -> Card:
    if question.gpu in CARDS:
        return CARDS[question.gpu]
    if question.gpu not in FROM_CATALOGUE:
        raise Unsupported(f"accelerator {question.gpu} is not in it")
    flops = question.flops
    return Card(
        memory=float(question.memory_bytes),
        bandwidth=question.bandwidth,
        link=question.link_bytes_per_s / 2,
        flops=flops["fp16"],
        ops8=flops.get("int8", 0.0),
    )


@dataclass(frozen=True, slots=True)
class _Layer:
    """One decoder on one card: what the tool's formulas need, efficiencies applied."""

    layers: int
    hidden: int
    heads: int
    kv_heads: int
    expansion: float
    matrices: int  # of the MLP: 3 where gated, else 2
    vocabulary: int
    n: int
    weight_bytes: float  # of one weight
    activation: float  # bytes of one activation
    kv_bytes: float
    bandwidth: float
    flops: float
    link: float

    @classmethod
    def of(cls, question: Question, card: Card) -> _Layer:
        """The question in the tool's terms."""
        config = question.config
        bits = 16 if question.bits_per_weight >= 9 else 8 if question.bits_per_weight >= 6 else 4
        eight = question.weights == "fp8" and not question.weight_only
        return cls(
            layers=config["num_hidden_layers"],
            hidden=config["hidden_size"],
            heads=config["num_attention_heads"],
            kv_heads=config["num_key_value_heads"],
            expansion=config["intermediate_size"] / config["hidden_size"],
            matrices=3 if question.gated_mlp else 2,
            vocabulary=config["vocab_size"],
            n=question.tensor_parallel,
            weight_bytes=bits / 8,
            activation=1.0 if eight else 2.0,
            kv_bytes=question.kv_bits / 8,
            bandwidth=card.bandwidth * MEMORY_EFFICIENCY,
            flops=(card.ops8 if eight else card.flops) * FLOPS_EFFICIENCY,
            link=card.link,
        )

    @property
    def local_kv_heads(self) -> float:
        """KV heads of one card: at least one."""
        return max(self.kv_heads / self.n, 1)

    @property
    def attention_parameters(self) -> float:
        """Of one layer: query, output, and the (possibly repeated) key and value."""
        kept = self.local_kv_heads * self.n / self.heads
        return 2 * self.hidden**2 * (1 + kept)

    @property
    def mlp_parameters(self) -> float:
        """Of one layer."""
        return self.matrices * self.hidden**2 * self.expansion

    @property
    def resident_bytes(self) -> float:
        """Weights of one card; one 16-bit embedding table, taken as shared with the head."""
        matrices = (self.attention_parameters + self.mlp_parameters) / self.n
        norms = self.layers * 2 * self.hidden + self.hidden / self.n
        table = self.vocabulary * self.hidden / self.n * 2
        return (self.layers * matrices + norms) * self.weight_bytes + table

    def cache_bytes(self, batch: int, length: int) -> float:
        """KV cache of one card."""
        head = self.hidden / self.heads
        return 2 * batch * length * head * self.local_kv_heads * self.kv_bytes * self.layers

    def _attention_activations(self, batch: int, tokens: int) -> float:
        flash = 2 * self.hidden + 4 * self.heads
        return max(3 * self.hidden, flash) * self.activation * tokens * batch / self.n

    def _mlp_activations(self, batch: int, tokens: int) -> float:
        return max(1, self.expansion) * self.activation * tokens * batch * self.hidden / self.n

    def activation_bytes(self, batch: int, tokens: int) -> float:
        """The largest of the buffers that one layer uses in turn."""
        norm = tokens * batch * self.hidden / self.n * 2
        attention, mlp = (
            f(batch, tokens) for f in (self._attention_activations, self._mlp_activations)
        )
        return max(attention, mlp, norm)

    def logit_bytes(self, batch: int, tokens: int) -> float:
        """Logits of all tokens."""
        return self.vocabulary * batch * tokens * self.activation / self.n

    def _all_reduce_seconds(self, batch: int, tokens: int, width: float) -> float:
        if self.n == 1:
            return 0.0
        sent = 2 * batch * tokens * self.hidden * (self.n - 1) / self.n * width
        return max(sent / self.link, _MESSAGE_SECONDS)

    def forward_seconds(self, batch: int, tokens: int) -> float:
        """One forward pass: per layer the later of FLOPs and bytes, norms, two all-reduces."""
        b, s, h = batch, tokens, self.hidden
        shared = 1 + self.kv_heads / self.heads
        flops_attention = 4 * b * s * h**2 * shared + 4 * b * s**2 * h
        flops_mlp = 2 * b * s * self.mlp_parameters
        attention = max(
            flops_attention / self.n / self.flops,
            self.attention_parameters * self.weight_bytes / self.n / self.bandwidth
            + self._attention_activations(b, s) / self.bandwidth,
        )
        mlp = max(
            flops_mlp / self.n / self.flops,
            self.mlp_parameters * self.weight_bytes / self.n / self.bandwidth
            + self._mlp_activations(b, s) / self.bandwidth,
        )
        # The tool runs sequence parallel with tensor parallel, so a norm is divided too.
        norm = max(s * b * h * 5 / self.flops, s * b * h / self.n * _NORM_BYTES / self.bandwidth)
        layer = attention + mlp + 2 * norm + 2 * self._all_reduce_seconds(b, s, self.activation)
        table = self.vocabulary * h * 2 / self.bandwidth + self._all_reduce_seconds(b, s, 2)
        logits = 2 * s * b * self.vocabulary * h / self.n / self.flops
        return layer * self.layers + table + logits
