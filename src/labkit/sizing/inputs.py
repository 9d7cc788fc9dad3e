"""What is asked of the engine: the traffic (`Workload`, `SLO`) and the set-up (`EngineConfig`).

Both check themselves on construction: a value that can never make sense (zero tokens, a negative
batch) raises `SizingError` with one sentence. Values that are fine alone and impossible together
are not an error but a refusal of the estimate (see `refusal`).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from labkit.catalog.formats import number_format
from labkit.catalog.specs import NumberFormat
from labkit.sizing.checks import (
    MOST,
    SizingError,
    require_count,
    require_fraction,
    require_positive,
)
from labkit.sizing.lengths import Fixed, Lengths, lengths_of
from labkit.sizing.versions import parse_version

# The checks stand in `checks`; these names are used from here by the rooms above.
__all__ = [
    "MOST",
    "SLO",
    "EngineConfig",
    "SizingError",
    "Workload",
    "require_count",
    "require_fraction",
    "require_positive",
]


@dataclass(frozen=True, slots=True)
class SLO:
    """A latency promise in milliseconds; None means nothing was promised for that metric.

    `percentile` says at which share of requests it must hold. The closed-form estimate has no
    distribution, so it compares its central value; percentiles need a queueing model.
    """

    ttft_ms: float | None = None
    tpot_ms: float | None = None
    percentile: float = 95.0

    def __post_init__(self) -> None:
        for name, value in (("ttft_ms", self.ttft_ms), ("tpot_ms", self.tpot_ms)):
            if value is not None:
                require_positive(name, value)
        if not 0.0 < self.percentile < 100.0:
            raise SizingError(f"percentile must lie between 0 and 100, not {self.percentile!r}.")


@dataclass(frozen=True, slots=True)
class Workload:
    """The traffic: tokens per request, offered rate (None: as fast as answers come back), promise.

    `prompt_tokens` and `output_tokens` are means. Where lengths vary, `prompt_lengths` and
    `output_lengths` say how (None: all the same), and `of` takes the means from them.
    `prefix_hit_rate` is the share of prompt tokens found in the prefix cache: they cost memory
    but no prefill FLOPs.
    """

    prompt_tokens: int
    output_tokens: int
    requests_per_second: float | None = None
    slo: SLO | None = None
    prefix_hit_rate: float = 0.0
    prompt_lengths: Lengths | None = None
    output_lengths: Lengths | None = None

    def __post_init__(self) -> None:
        require_count("prompt_tokens", self.prompt_tokens)
        require_count("output_tokens", self.output_tokens)
        if self.requests_per_second is not None:
            require_positive("requests_per_second", self.requests_per_second)
        require_fraction("prefix_hit_rate", self.prefix_hit_rate, zero_ok=True)
        for name, tokens, lengths in (
            ("prompt_tokens", self.prompt_tokens, self.prompt_lengths),
            ("output_tokens", self.output_tokens, self.output_lengths),
        ):
            if lengths is not None and tokens != _whole_mean(lengths):
                raise SizingError(
                    f"{name} must be the mean of its lengths, {_whole_mean(lengths)}, not {tokens}."
                )

    @classmethod
    def of(
        cls,
        prompt: Lengths | int | str,
        output: Lengths | int | str,
        requests_per_second: float | None = None,
        slo: SLO | None = None,
        prefix_hit_rate: float = 0.0,
    ) -> Workload:
        """The traffic of these lengths: distributions, whole numbers or texts (`parse_lengths`).

        The means, rounded to whole tokens, become `prompt_tokens` and `output_tokens`.
        """
        prompts, outputs = lengths_of(prompt), lengths_of(output)
        return cls(
            _whole_mean(prompts),
            _whole_mean(outputs),
            requests_per_second,
            slo,
            prefix_hit_rate,
            prompts,
            outputs,
        )

    @property
    def prompts(self) -> Lengths:
        """How long prompts are: `prompt_lengths`, or always `prompt_tokens`."""
        return self.prompt_lengths or Fixed(self.prompt_tokens)

    @property
    def outputs(self) -> Lengths:
        """How long answers are: `output_lengths`, or always `output_tokens`."""
        return self.output_lengths or Fixed(self.output_tokens)

    @property
    def full_length(self) -> int:
        """Tokens in the cache when the last output token is written: prompt + output."""
        return self.prompt_tokens + self.output_tokens

    @property
    def mean_context(self) -> float:
        """Mean cached tokens per sequence over its decode phase: prompt + E[output^2] / 2E[output].

        That is prompt + output / 2 where all answers are as long. Where they differ, a step meets
        long ones more often than short ones, so the mean is higher.
        """
        progress = self.output_tokens / 2
        if self.output_lengths is not None:
            progress += self.output_lengths.variance / (2 * self.output_tokens)
        return self.prompt_tokens + progress


def _whole_mean(lengths: Lengths) -> int:
    """The mean as a whole number of tokens, at least 1."""
    return max(1, round(lengths.mean))


@dataclass(frozen=True, slots=True)
class EngineConfig:
    """How one replica is run. Names are vLLM's flags where there are any.

    `weights` and `kv` name number formats ("bf16", "int4", "int4-g64", …); an unknown one raises
    `UnknownNameError`.
    `batch` is the number of sequences that shall be in flight at once.
    `tensor_parallel_size` counts GPUs, and NeuronCores on Neuron instances. None picks one GPU,
    or the largest number of one chip's NeuronCores that divides the heads. `engine`,
    `gpu_memory_utilization` and `loader` default to the usual ones of the hardware (`engines`).
    `engine_version` ("0.11.0"; None: the newest one known) decides what the engine keeps for
    itself and its defaults (`overhead`). `max_num_seqs` and `max_num_batched_tokens` are the
    engine's own limits, which it sizes its buffers for; None is its default on that device, and
    never fewer sequences than `batch`.
    """

    weights: str
    kv: str
    batch: int = 1
    tensor_parallel_size: int | None = None
    engine: str | None = None
    gpu_memory_utilization: float | None = None
    loader: str | None = None
    block_tokens: int = 16
    engine_version: str | None = None
    max_num_seqs: int | None = None
    max_num_batched_tokens: int | None = None
    weight_format: NumberFormat = field(init=False, repr=False, compare=False)
    kv_format: NumberFormat = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        # Resolved once: an estimate asks for them a dozen times.
        object.__setattr__(self, "weight_format", number_format(self.weights))
        object.__setattr__(self, "kv_format", number_format(self.kv))
        require_count("batch", self.batch)
        require_count("block_tokens", self.block_tokens)
        if self.tensor_parallel_size is not None:
            require_count("tensor_parallel_size", self.tensor_parallel_size)
        if self.max_num_seqs is not None:
            require_count("max_num_seqs", self.max_num_seqs, minimum=self.batch)
        if self.max_num_batched_tokens is not None:
            require_count("max_num_batched_tokens", self.max_num_batched_tokens)
        if self.engine_version is not None:
            parse_version(self.engine_version)
        if self.gpu_memory_utilization is not None:
            require_fraction("gpu_memory_utilization", self.gpu_memory_utilization, zero_ok=False)
