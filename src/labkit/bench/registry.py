"""Every measurement by name: its title, its code, what it needs and how much it may use.

A new measurement is a line here and a function ``measure(session) -> Measured`` in `jobs`.
"""

from __future__ import annotations

from dataclasses import dataclass

from labkit.contract.errors import UnknownNameError

GIB = 1 << 30


@dataclass(frozen=True, slots=True)
class Bench:
    """One measurement.

    `job` is "module:function", run in a process of its own. `memory_bytes` bounds that process's
    address space on a CPU; `timeout_s` its life. `arrivals` are waited for while set-up is still
    fetching them. `devices` are those it applies to; `elsewhere` says why it does not to others.
    `indicative` series are shown with their spread but never make a record too noisy to keep:
    what the measurement is for does not hang on them; names may have wildcards. `steps` is how
    many steps the job tells as it goes, "loading torch" included (0: they are not numbered).
    `summary` is "module:function" of (record) for a terminal; without one all series are listed.
    """

    id: str
    title: str
    job: str
    memory_bytes: int
    timeout_s: float
    arrivals: tuple[str, ...] = ("torch",)
    devices: tuple[str, ...] = ("cpu", "cuda", "mps")
    elsewhere: str = ""
    steps: int = 0
    indicative: tuple[str, ...] = ()
    summary: str = ""


BENCHES = {
    bench.id: bench
    for bench in (
        Bench(
            id="machine",
            title="Machine: read and copy bandwidth, matrix peak, products with B rows",
            job="labkit.bench.jobs.machine:measure",
            memory_bytes=6 * GIB,
            timeout_s=600,
            steps=20,  # torch, 3 rounds of bandwidth, 2 peaks, 2 sweeps of 7
        ),
        Bench(
            id="decode",
            title="SmolLM2-135M FP32: greedy decode, one sequence",
            job="labkit.bench.jobs.decode:measure",
            memory_bytes=6 * GIB,
            timeout_s=1800,  # the first one may fetch the weights
            steps=8,  # torch, model, prefill, 2 stretches of tokens amid 3 rounds of their parts
            arrivals=("torch", "weights"),
        ),
        Bench(
            id="big_decode",
            title="A random-weight model that fills 60 % of the GPU: greedy decode, one sequence",
            job="labkit.bench.jobs.big_decode:measure",
            memory_bytes=6 * GIB,
            timeout_s=900,
            steps=8,  # as decode
            devices=("cuda", "mps"),
            elsewhere=(
                "It exists because a small model on a big GPU measures Python; a CPU streams the "
                "small model's weights already, so bench.decode() is the measurement there."
            ),
        ),
        Bench(
            id="memory",
            title="SmolLM2-135M: bytes of the KV cache, token by token",
            job="labkit.bench.jobs.memory:measure",
            memory_bytes=6 * GIB,
            timeout_s=1800,  # the first one may fetch the weights
            arrivals=("torch", "weights"),
            steps=5,  # torch, model, two caches, the models without weights
            indicative=("rss.growth", "kv.build"),  # its counts are exact on a busy machine too
        ),
        Bench(
            id="engines",
            title="SmolLM2-135M FP32: the same mixed requests through each way of serving",
            job="labkit.bench.jobs.engines:measure",
            summary="labkit.bench.engine.summary:engines_summary",
            memory_bytes=6 * GIB,
            timeout_s=2400,
            arrivals=("torch", "weights"),
            indicative=tuple(
                f"engines.{mode}.rate"
                for mode in ("sequential", "static", "continuous", "vllm", "llama.cpp", "url")
            ),
        ),
        Bench(
            id="load",
            title="SmolLM2-135M FP32 behind a server: TTFT under load, shared and long prompts",
            job="labkit.bench.jobs.load:measure",
            summary="labkit.bench.engine.summary:load_summary",
            memory_bytes=6 * GIB,
            timeout_s=2400,
            arrivals=("torch", "weights"),
            # Latencies are wall clock: a neighbour stretches them all, and relations are left.
            indicative=tuple(
                f"load.{name}"
                for server in ("plain", "continuous", "vllm")
                for name in (
                    *(f"{server}.c{users}.ttft" for users in (1, 4, 8)),
                    f"prefix.{server}.cold",
                    f"prefix.{server}.warm",
                    f"chunked.{server}.whole",
                    f"chunked.{server}.chunked",
                )
            ),
        ),
        Bench(
            id="attention",
            title="Attention: SDPA back ends by sequence length, and a profile of one decode step",
            job="labkit.bench.jobs.attention:measure",
            memory_bytes=6 * GIB,
            timeout_s=1800,  # the first one may fetch the weights
            arrivals=("torch", "weights"),
            steps=7,  # torch, which back ends exist, 3 rounds, model, profile
            # Short sequences live in a cache that is shared with the neighbours: 30 % on a machine
            # that did nothing else. What is read off them are factors, on logarithmic axes.
            indicative=("sdpa.*",),
            summary="labkit.bench.sdpa.summary:summary",
        ),
        Bench(
            id="speculation",
            title="SmolLM2-135M FP32: speculative decoding, greedy",
            job="labkit.bench.jobs.speculative:measure",
            memory_bytes=6 * GIB,
            timeout_s=1800,
            arrivals=("torch", "weights"),
            steps=10,  # torch, model, 5 rounds of runs, 2 drafters that are models, batches
            # Memory-bound, so a neighbour shows; what they teach is a factor, not a percent.
            indicative=("draft.*",),
            summary="labkit.bench.drafting.summary:summary",
        ),
        Bench(
            id="quantization",
            title="SmolLM2-135M in a dozen number formats: bytes, speed and loss",
            job="labkit.bench.jobs.quantization:measure",
            memory_bytes=6 * GIB,
            timeout_s=1800,  # the first one may fetch the weights, and writes the GGUF files
            arrivals=("torch", "weights"),
            steps=24,  # torch, model; timing 3 + 2 + 5; scoring 10 formats and 2 caches
            # Its verdicts rest on CPU time; wall times are shown beside it.
            indicative=("torch.*.step", "llama.*.step", "*.prefill"),
            summary="labkit.bench.quant.summary:summary",
        ),
    )
}

# What a worker can do besides measuring: each returns plain JSON.
TASKS = {
    "weights": "labkit.bench.jobs.chores:fetch_weights",
    "torch": "labkit.bench.jobs.chores:describe_torch",
}


def find_bench(name: str) -> Bench:
    """The measurement of this name. Raises UnknownNameError with the nearest names."""
    try:
        return BENCHES[name]
    except KeyError:
        raise UnknownNameError("measurement", name, BENCHES) from None
