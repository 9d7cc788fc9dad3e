"""The door to every measurement: live in a fresh process, or replayed, or the learner's own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from labkit.bench import records
from labkit.bench.arrival import State, read_arrival, wait_for_arrival
from labkit.bench.guard import require_memory
from labkit.bench.noise import refuse_if_noisy
from labkit.bench.process import run_job
from labkit.bench.progress import Progress, ProgressLine
from labkit.bench.registry import Bench, find_bench
from labkit.contract import Record

# What a worker needs before it measures anything: torch, the libraries and the buffers.
_LEAST_MEMORY = 2 << 30


class Interrupted(KeyboardInterrupt):
    """Somebody stopped a measurement; its process is gone. Still an interrupt to a caller."""

    def _render_traceback_(self) -> list[str]:
        """What IPython prints instead of a traceback: the sentence."""
        return [str(self)]


def machine(replay: bool | None = None, quick: bool = False) -> Record:
    """Bandwidth, matrix peaks and products with B rows of this machine, one thread on a CPU.

    Series: bandwidth.read and bandwidth.copy (GB/s, GB = 1e9 bytes), gemm.fp32 and gemm.bf16
    (GFLOP/s), sweep.<dtype>.b<B> (ms for one pass of B rows through `facts["sweep"]`'s matrices).
    `replay`: True gives the recording, False measures, None follows ``LABKIT_REPLAY``.
    `quick`: fewer sizes and samples, for a first look or a test. About 30 s, quick 10 s.

    Raises NoisyMeasurement, NoRecord, LabkitError.
    """
    return measure("machine", replay=replay, quick=quick)


def decode(replay: bool | None = None, quick: bool = False) -> Record:
    """SmolLM2-135M in FP32: greedy decode of one sequence, token by token, prefill left out.

    Series: decode.step (ms) and decode.rate (tok/s) per token, decode.products (ms for its matrix
    products alone), decode.read (ms to read those weights once). Facts: streamed_bytes_per_token,
    kv_bytes_per_token, mean_context_tokens and more. About 15 s, the first time with a download.

    Raises NoisyMeasurement, NoRecord, NoWeights, LabkitError.
    """
    return measure("decode", replay=replay, quick=quick)


def big_decode(replay: bool | None = None, quick: bool = False) -> Record:
    """As `decode`, for a random-weight BF16 model that fills 60 % of a CUDA or MPS device.

    Raises LabkitError on a machine without one.
    """
    return measure("big_decode", replay=replay, quick=quick)


def memory(replay: bool | None = None, quick: bool = False) -> Record:
    """Bytes of SmolLM2-135M's real KV cache after 1 to 512 tokens, in FP32 and in BF16.

    Facts: kv ({dtype: {"tokens": […], "bytes": […]}}, K and V of all layers, exact), config (the
    five numbers that decide them), meta_parameters ({model: parameters}, counted by transformers
    without weights), on a GPU also cuda (allocated bytes, budget). Series, which never refuse the
    record: rss.growth (MB around building 512 tokens) and kv.build (ms). About 30 s, quick 10 s.

    Raises NoRecord, NoWeights, LabkitError.
    """
    return measure("memory", replay=replay, quick=quick)


def engines(
    replay: bool | None = None, quick: bool = False, modes: Sequence[str] = (), url: str = ""
) -> Record:
    """The same mixed requests through each way of serving them, in paired rounds; greedy, FP32.

    Modes: "sequential" (`generate`, one at a time), "static" (padded batches of `slots`),
    "continuous" (transformers' own, `slots` requests at once), "vllm" (where installed), and on
    request "llama.cpp" and "url" (an OpenAI-compatible server at `url`, up to and with /v1; its
    CPU is out of sight, so its ratios compare wall seconds; ``LABKIT_ENGINE_MODEL`` and
    ``LABKIT_ENGINE_KEY`` are what it calls the model and its key). `modes` (): the first four.
    32 requests in 5 rounds, quick 8 in 2. About 4 min, with vLLM 6, quick 1.

    Series for each mode M that ran here, one sample per round: engines.M.cpu_rate (useful tok per
    CPU-second), engines.M.rate (per wall second, indicative), engines.M.speedup (× sequential in
    the same round, per CPU-second), engines.M.alone (the same at concurrency 1; continuous and
    servers only).

    Facts:
      slots, rounds, agreement_needed (0.95), seconds ("CPU"; "wall" on a GPU, for all ratios),
      requests {"prompt_tokens": [32 ints], "output_tokens": [32 ints]} in order of arrival,
      modes {M: {"label", "origin", "cpu_rate": [per round], "rate": […], "speedup": […],
      "alone": […], "useful_tokens" (per round), "agreement" (0 to 1, share of positions equal to
      sequential's), "positions", "counts" (agreement is enough for the speed-up to count),
      "memory_bytes" (peak, process tree)}}; lists are empty where a mode has none. "origin" is ""
      for what this record measured, else the sentence "REPLAYED, not your machine: …" of the
      recording that the mode was taken from because it is not installed here,
      engine_versions {M: version} of those that ran, missing {M: why, and the remedy}.

    Raises NoisyMeasurement, NoRecord, NoWeights, LabkitError.
    """
    return measure("engines", replay=replay, quick=quick, modes=list(modes), url=url)


def load(replay: bool | None = None, quick: bool = False, servers: Sequence[str] = ()) -> Record:
    """What waiting users see of a server: TTFT under concurrency, shared prompts, long prompts.

    Servers: "plain" (one request at a time), "continuous" (transformers' continuous batching),
    "vllm" (where installed). Times are wall clock as a client on this machine sees them, so all
    series are indicative: compare within one record. About 2 min, with vLLM 4, quick 1.

    Series: load.S.cN.ttft (ms; N requests sent at once), load.prefix.S.cold, .warm (ms),
    load.chunked.S.whole, .chunked (ms; the worst gap of each repetition).

    Facts; "label" and "origin" are as in `engines`:
      staircase {S: {"label", "origin", "levels": {"1"|"4"|"8": {"ttft_ms": [sorted], "e2e_ms",
      "output_tokens" (per request), "tok_per_s" (all together)}}}},
      prefix {S: {"label", "origin", "shared_tokens", "own_tokens", "cold_ms": […],
      "warm_ms": […]}}: TTFT of a prompt whose beginning was never seen, and of the next one that
      shares it ("plain" caches nothing), one pair per repetition,
      chunked {S: {"label", "origin", "long_prompt_tokens", "whole": X, "chunked": X}} with X =
      {"tokens_per_step" (most tokens in one step), "itl_ms": [gaps of one stream, in order],
      "arrived_at" (index of the gap in which the long prompt arrived), "worst_ms": [per
      repetition], "usual_ms" (median gap), "long_ttft_ms": [per repetition]},
      servers {S: {"ready_after_s", "memory_bytes" (of its processes together)}} where measured,
      missing {S: why, and the remedy}.

    Raises NoRecord, NoWeights, LabkitError.
    """
    return measure("load", replay=replay, quick=quick, servers=list(servers))


def attention(replay: bool | None = None, quick: bool = False) -> Record:
    """SDPA's back ends against sequence length, and what one decode step of SmolLM2 consists of.

    Causal self-attention of one sequence in SmolLM2's shape (9 heads of 64) at 512 to 4,096 tokens
    (a GPU 1,024 to 8,192), quick 512 to 2,048. On a CPU in FP32 and in process-CPU time; on a GPU
    in FP16 and wall time.
    About 40 s, quick 20 s.

    Series (ms): sdpa.B.nN for each back end B that exists here and each length N; profile.step
    (one decode step, without the profiler).

    Facts:
      clock "cpu" | "wall": what the series are in; freed_memory_kept (true: a CPU's heap kept freed
      memory between calls, as torch does on a GPU, so no call waits for fresh pages).
      sdpa {"lengths": [N…], "heads", "head_dim", "causal": true, "dtype", "bytes_per_element",
      "score_bytes": [heads · N² · bytes_per_element, for each N], "qkv_bytes": [q, k, v and the
      output together], "tolerance" (largest difference to math that counts as equal),
      "backends": {B: {…}}} with B of "math", "flash", "efficient", "cudnn"; each has
      "available"; where false only "why" (a sentence); where true "kernel" (the operator that the
      profiler saw), "cpu_ms", "wall_ms" (medians), "peak_bytes" (most that was allocated at once
      beyond q, k and v, the output included; null where the device does not tell),
      "max_difference" (absolute, to math; 0 for math itself), each a list along "lengths", and
      "agrees" (all within the tolerance).
      profile {"context_tokens", "step_ms" (median without the profiler), "profiled_ms" (wall time
      with it, mean of ten), "kernel_ms" (of that, in operators that compute; on a GPU, in
      its kernels), "host_share" (1 - kernel_ms / profiled_ms: Python, dispatch, views; both null on
      MPS, where nobody tells), "calls" (operator calls of one step), "kinds" (different operators),
      "operators": the ten with most time of their own [{"name", "calls", "self_ms", "share" (of all
      operators' own CPU time), "computes" (false for those that only hand on or re-view)}],
      "gpu_kernels" (the same, of a GPU's kernels; empty on a CPU)}.

    Raises NoisyMeasurement, NoRecord, NoWeights, LabkitError.
    """
    return measure("attention", replay=replay, quick=quick)


def speculation(replay: bool | None = None, quick: bool = False) -> Record:
    """Greedy speculative decoding of SmolLM2-135M in FP32 with cheap and with costly drafters.

    Prompts P: "copy" (the answer repeats the prompt) and "open" (a story begins). Drafters D:
    "plain" (none), "lookup2", "lookup5", "lookup10" (prompt lookup, up to so many tokens),
    "layers10" (the target's first 10 of 30 layers, 5 tokens), "int8" (the target with INT8 weights
    that are dequantised at each product, 5 tokens). Times are process-CPU time, on a GPU wall time.
    About 2 min, quick 40 s.

    Series (ms): step (one token of the target, batch 1), run.D.P (per output token, prefill left
    out, one sample per run; plain and lookup only), draft.D (per drafted token, for layers10 and
    int8), batch.bB.step and batch.bB.verify (one token, and γ+1 tokens, for each of B sequences).

    Facts:
      clock "cpu" | "wall", freed_memory_kept (as in `attention`), output_tokens (of each run),
      prompts {P: {"text", "tokens", "continuation" (the text that plain greedy gives)}},
      runs: a list, one entry for each D and P: {"drafter": D, "prompt": P, "gamma" (0 for plain),
      "tokens", "target_forwards", "tokens_per_forward", "rounds_with_draft", "drafted",
      "examined" (accepted + first refusals), "accepted", "alpha" (accepted / examined; null where
      nothing was drafted), "accepted_of_drafted" (null likewise), "c" (cost of one drafted token /
      one plain step), "ms_per_token", "verify_over_step" (median forward over a full draft / plain
      step; null where there was none), "speedup" (plain ms_per_token / this one's), "cpu_s",
      "wall_s" (of one run: medians), "identical" (to plain greedy, token by token)}. The run emits
      exactly `tokens`: a last draft is cut short rather than overshoot,
      drafters {D: {"label", "c", "parameters" (that it streams per token; 0 for lookup)}},
      batches {"gamma", "context_tokens", "batch": [B…], "step_ms": […], "verify_ms": […],
      "verify_over_step": […]}. With free drafts the gain at B is
      tokens_per_forward / (share · verify_over_step + 1 - share), where share = rounds_with_draft /
      target_forwards: a round without a draft costs one step.

    Raises NoisyMeasurement, NoRecord, NoWeights, LabkitError.
    """
    return measure("speculation", replay=replay, quick=quick)


def quantization(replay: bool | None = None, quick: bool = False) -> Record:
    """SmolLM2-135M in a dozen number formats: bytes, speed, and loss on held-out text.

    Format keys: fp32 (the reference), bf16, fp16, q8_0, q4_1, q4_0 (GGUF), bnb_int8, bnb_nf4
    (bitsandbytes), rtn4, rtn3, rtn2 (round to nearest, groups of 64), fp8 (E4M3).

    Series, per format F, where it was timed:
    torch.F.step and torch.F.cpu (ms per decoded token: wall, CPU time), torch.F.prefill (prompt
    tokens per CPU-second) for fp32, bf16, fp16, bnb_int8, bnb_nf4, in eager torch;
    llama.F.step, llama.F.cpu, llama.F.prefill for fp32, fp16, q8_0, q4_1, q4_0, in llama.cpp;
    a sample is one token in torch, the mean of three in llama.cpp, which runs on the CPU always;
    read.fp32 (GB/s, GB = 1e9): the FP32 weights read once. Wall-clock series never refuse a record.

    Facts:
    formats {F: {label, kind, bits, bits_per_weight (scales included), embedding, weight_bytes (all
    weights as this format stores them; each is read once per token), file_bytes (its GGUF file, or
    None), held_bytes (what torch holds while timing it, else while scoring it), emulated, nll
    (nats per token, one mean per window), perplexity}};
    kv {fp32, int8, fp8: {label, bytes_per_token, nll, perplexity, attention_error (relative error
    of each layer's attention output; [] for fp32)}};
    text {source, licence, sha256, windows, window_tokens, scored_tokens}; windows are the same for
    all, so differences are paired;
    reference {source, label, original}: unless `original`, the reference is dequantised Q4_1 and
    q4_1 equals it by construction;
    left_out {F or "llama": why, and the remedy}; packages {name: version};
    llama_agreement (share of torch's FP32 greedy text that llama.cpp's FP32 file begins with);
    fp8_native (whether this device multiplies E4M3 itself).
    `bench.format_points(record)` gives all this as one row per format.

    About 4 minutes on two quiet cores (20 windows of 100 tokens), quick 2 minutes (4 windows).
    The first run writes the GGUF files, 1.1 GB of the cache.

    Raises NoisyMeasurement, NoRecord, NoWeights, LabkitError.
    """
    return measure("quantization", replay=replay, quick=quick)


def measure(
    name: str, *, replay: bool | None = None, quick: bool = False, **options: Any
) -> Record:
    """Measurement `name` of the registry. Under grading nothing is measured.

    Raises NoisyMeasurement, NoRecord, Interrupted, LabkitError.

    A live record is kept in the workspace. `options` go to the worker (`device`, `threads`).
    """
    bench = find_bench(name)
    if records.graded():
        return records.graded_record(name)
    if replay or (replay is None and records.replay_wanted()):
        return records.recording(name)
    try:
        found = _live(bench, quick, options)
    except KeyboardInterrupt:
        raise Interrupted(
            "Interrupted: the measurement has ended and nothing of it was kept. Run the cell again "
            "to start it afresh."
        ) from None
    record = refuse_if_noisy(found, recorded=records.has_recording(name))
    records.keep(record)
    return record


def _on_its_way(name: str) -> bool:
    """Whether set-up is fetching it right now.

    A fetch that failed earlier does not decide: since then the learner may have installed torch
    or found a network, and the worker finds out for itself and says what is missing.
    """
    arrival = read_arrival()
    item = arrival.item(name) if arrival else None
    if arrival is None or item is None or arrival.stopped():
        return False
    return item.state not in (State.READY, State.FAILED)


def _live(bench: Bench, quick: bool, options: dict[str, Any]) -> Record:
    with ProgressLine() as line:
        for name in bench.arrivals:
            if _on_its_way(name):
                wait_for_arrival(name, say=lambda text: line(Progress(text)))
        require_memory(_LEAST_MEMORY, f"bench.{bench.id}()")
        result = run_job(
            bench.id,
            {"quick": quick, **options},
            report=line,
            threads=int(options.get("threads", 1)),
            timeout_s=bench.timeout_s,
        )
    return Record.from_json(result)
