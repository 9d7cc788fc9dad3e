"""Worker tasks that measure nothing: fetching the weights, describing torch."""

from __future__ import annotations

from typing import Any

from labkit.bench.progress import Report
from labkit.bench.weights import ensure_weights


def fetch_weights(options: dict[str, Any], report: Report) -> dict[str, Any]:
    """Bring the weights to the cache; {"folder", "source"}."""
    found = ensure_weights(report)
    return {"folder": str(found.folder), "source": found.source.key}


def describe_torch(options: dict[str, Any], report: Report) -> dict[str, Any]:
    """torch's version and build, the threads it would use, and the device it would pick."""
    from labkit.bench import device

    where = device.pick()
    import torch

    return {
        "version": str(torch.__version__),
        "cuda_build": torch.version.cuda,
        "cpu_capability": str(torch.backends.cpu.get_cpu_capability()),
        "threads": int(torch.get_num_threads()),
        "device": where.kind,
        "device_name": where.name,
        "device_memory_bytes": where.memory_bytes,
    }
