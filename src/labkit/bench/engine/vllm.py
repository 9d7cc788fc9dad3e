"""How vLLM is started: its own environment, its OpenAI-compatible server, one thread on a CPU."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from labkit.bench.cache import cache_dir
from labkit.bench.engine.http_server import HOST
from labkit.bench.engine.launch import MODEL, ServerSpec

MAX_MODEL_LEN = 512
_KV_BYTES = 400_000_000  # 8,000 tokens of SmolLM2 in FP32
_MEMORY_BYTES = 5 << 30
# With CUDA its libraries alone take gigabytes of main memory.
_GPU_MEMORY_BYTES = 16 << 30


@dataclass(frozen=True, slots=True)
class Flags:
    """What differs between measurements; the names are vLLM's own."""

    max_num_seqs: int
    enable_prefix_caching: bool = False
    enable_chunked_prefill: bool = True
    max_num_batched_tokens: int = MAX_MODEL_LEN


def vllm_server(python: Path, model: Path, flags: Flags, *, gpu: bool = False) -> ServerSpec:
    """The server of the environment whose Python is `python`, for the model folder `model`."""

    def command(port: int, _key: str) -> Sequence[str]:
        # Not the `vllm` command: in the CPU build it looks for a distribution of another name.
        return [
            *(str(python), "-P", "-m", "vllm.entrypoints.openai.api_server"),
            *("--model", str(model), "--served-model-name", MODEL),
            *("--host", HOST, "--port", str(port)),
            *("--dtype", "float32", "--enforce-eager", "--disable-log-stats"),
            *("--max-model-len", str(MAX_MODEL_LEN)),
            *("--max-num-seqs", str(flags.max_num_seqs)),
            *("--max-num-batched-tokens", str(flags.max_num_batched_tokens)),
            _switch("enable-prefix-caching", flags.enable_prefix_caching),
            _switch("enable-chunked-prefill", flags.enable_chunked_prefill),
            *(_GPU_FLAGS if gpu else _CPU_FLAGS),
        ]

    def environment(key: str) -> dict[str, str]:
        return {
            "VLLM_API_KEY": key,
            "VLLM_HOST_IP": HOST,
            "VLLM_CACHE_ROOT": str(cache_dir() / "vllm"),
            "VLLM_NO_USAGE_STATS": "1",
            "DO_NOT_TRACK": "1",
            "HF_HUB_OFFLINE": "1",
            "PYTHONDONTWRITEBYTECODE": "1",  # a shared environment may be read-only
            "PYTHONPATH": "",  # labkit's own packages are none of its business
            **({} if gpu else _CPU_ENVIRONMENT),
        }

    return ServerSpec("vLLM", command, environment, _GPU_MEMORY_BYTES if gpu else _MEMORY_BYTES)


# The engine's core runs its one worker in its own process: one start of torch less, and 0.7 GB.
_CPU_FLAGS = (
    *("--distributed-executor-backend", "uni"),
    *("--kv-cache-memory-bytes", str(_KV_BYTES)),
    *("--block-size", "32"),
)
# The other modes' model lies on the same GPU.
_GPU_FLAGS = ("--gpu-memory-utilization", "0.5")
_CPU_ENVIRONMENT = {
    "VLLM_ENABLE_V1_MULTIPROCESSING": "0",  # without it, "uni" is not accepted on a CPU
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",
    "GLOO_SOCKET_IFNAME": "lo",
}


def _switch(name: str, on: bool) -> str:
    return f"--{'' if on else 'no-'}{name}"
