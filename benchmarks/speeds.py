"""What is timed of labkit: each entry is one line of `make bench`, with the goal it is held to.

Absolute times depend on the machine, so a missed goal is shown and fails nothing.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Sized
from dataclasses import dataclass
from functools import partial
from itertools import cycle, product
from statistics import median

from benchmarks.timing import seconds_per_call


@dataclass(frozen=True, slots=True)
class Speed:
    """One measure. `goal` is in `unit`; `more_is_better` says on which side of it to be."""

    name: str
    unit: str
    goal: float
    more_is_better: bool
    measure: Callable[[], float]

    def met(self, value: float) -> bool:
        """Whether `value` reaches the goal."""
        return value >= self.goal if self.more_is_better else value <= self.goal


def estimate_microseconds() -> float:
    """One `estimate` of llama-3-8b on one L40S: numbers alone, another set-up at every call.

    The models, instances and inputs are made beforehand.
    """
    from labkit.catalog import Catalog
    from labkit.sizing import EngineConfig, Workload, estimate

    catalog = Catalog.load()
    model, instance = catalog.model("llama-3-8b"), catalog.instance("g6e.xlarge")
    configs = [EngineConfig(weights="fp16", kv="fp16", batch=batch) for batch in range(1, 33)]
    workloads = [Workload(512 + tokens, 256 + tokens) for tokens in range(32)]
    inputs = cycle(product(configs, workloads))

    def run() -> object:
        return estimate(model, instance, *next(inputs))

    return seconds_per_call(run) * 1e6


def swept_per_second() -> float:
    """Configurations per second of one `sweep`, table and all.

    llama-3-8b on the six sizes of g5, g6 and g6e with the most GPUs, four weight formats, TP 1, 2
    and 4, 64 batches, 8 prompt and 8 output lengths: 294,912 rows, the catalogue read beforehand.
    """
    from labkit.catalog import Catalog
    from labkit.sizing.sweep import sweep

    catalog = Catalog.load()
    model = catalog.model("llama-3-8b")
    names = ("g5.12xlarge", "g5.48xlarge", "g6.12xlarge", "g6.48xlarge", "g6e.12xlarge")
    instances = [catalog.instance(name) for name in (*names, "g6e.48xlarge")]
    lengths = (64, 128, 256, 512, 1024, 2048, 3072, 4096)

    def run() -> Sized:
        return sweep(
            model,
            instances,
            weights=("bf16", "fp8", "int8", "int4"),
            tensor_parallel_sizes=(1, 2, 4),
            batches=range(1, 65),
            prompt_tokens=lengths,
            output_tokens=lengths,
        )

    return len(run()) / seconds_per_call(run, warm_up=0)


def recommend_milliseconds() -> float:
    """`recommend` over every instance type, weight format and TP; another workload at every call.

    What does not depend on the workload is worked out once for a model: the next measure has it.
    """
    from labkit.catalog import Catalog
    from labkit.sizing import SLO, Workload
    from labkit.sizing.recommend import recommend

    catalog = Catalog.load()
    model = catalog.model("llama-3-8b")
    slo = SLO(ttft_ms=500, tpot_ms=100)
    workloads = cycle(
        Workload(prompt, output, requests_per_second=rate, slo=slo)
        for prompt, output, rate in product((256, 512, 1024), (128, 256, 512), (1.0, 10.0, 50.0))
    )

    def run() -> object:
        return recommend(model, next(workloads), catalog=catalog)

    return seconds_per_call(run, warm_up=2) * 1e3


def recommend_first_milliseconds() -> float:
    """`recommend` as the first thing asked of a model, catalogue and code loaded."""
    from labkit.catalog import Catalog
    from labkit.sizing import Workload
    from labkit.sizing.recommend import recommend

    catalog = Catalog.load()
    workload = Workload(512, 256, requests_per_second=10.0)
    models = [
        catalog.model(name) for name in ("llama-2-7b", "mistral-7b", "qwen2.5-7b", "qwen3-8b")
    ]
    took = []
    recommend(models[0], workload, catalog=catalog)
    for model in models[1:]:
        start = time.perf_counter()
        recommend(model, workload, catalog=catalog)
        took.append(time.perf_counter() - start)
    return median(took) * 1e3


def simulated_per_minute() -> float:
    """Requests per wall minute of continuous batching: 20,000 chats on 64 slots, near saturation.

    llama-3-8b in fp16 on one L40S with its own step times and KV pool; log-normal lengths (mean
    512 + 256), 5.5 requests/s, chunked prefill.
    """
    from labkit.catalog import Catalog
    from labkit.sizing import EngineConfig, Workload, estimate
    from labkit.sizing.kv import kv_bytes_per_token
    from labkit.sizing.lengths import parse_lengths
    from labkit.sizing.simulation import ContinuousBatching, KVCache, Poisson, Traffic, simulate
    from labkit.sizing.step_model import step_model

    catalog = Catalog.load()
    model, config = catalog.model("llama-3-8b"), EngineConfig(weights="fp16", kv="fp16")
    found = estimate(model, catalog.instance("g6e.xlarge"), config, Workload(512, 256))
    if found.efficiency is None:
        raise RuntimeError("llama-3-8b on g6e.xlarge was not timed")
    steps = step_model(model, found.device, config, 1, found.efficiency)
    tokens = found.memory.kv_pool_bytes / kv_bytes_per_token(model, config.kv_format)
    requests = 20_000
    traffic = Traffic(
        prompt=parse_lengths("lognormal:mean=512,sigma=0.8,max=4096"),
        output=parse_lengths("lognormal:mean=256,sigma=0.8,max=2048"),
        arrivals=Poisson(5.5),
        requests=requests,
    )
    kv = KVCache(blocks=int(tokens / 16))
    run = partial(simulate, traffic, ContinuousBatching(max_num_seqs=64), steps, kv=kv)
    return requests / seconds_per_call(run, warm_up=0, calls=2) * 60


def import_seconds() -> float:
    """`import labkit` in a new Python, without the time that Python itself takes to start."""
    code = "import time; start = time.perf_counter(); import labkit; "
    code += "print(time.perf_counter() - start)"
    return median(
        float(subprocess.check_output([sys.executable, "-c", code], text=True)) for _ in range(5)
    )


SPEEDS = (
    Speed("estimate, the numbers of one set-up", "µs", 50, False, estimate_microseconds),
    Speed("sweep, one table", "configs/s", 1e6, True, swept_per_second),
    Speed("recommend, the whole catalogue", "ms", 150, False, recommend_milliseconds),
    Speed("  the first time for a model", "ms", 150, False, recommend_first_milliseconds),
    Speed("simulator, continuous batching", "requests/min", 1e5, True, simulated_per_minute),
    Speed("import labkit", "s", 0.3, False, import_seconds),
)
