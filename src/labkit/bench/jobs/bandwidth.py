"""Read and copy bandwidth, in the manner of STREAM, with buffers well beyond the last cache.

Bytes are counted as STREAM counts them: what the program asks to read and to write. A read sums
FP32 numbers (4 bytes each); a copy reads and writes each (8 bytes). What a write makes the cache
fetch first is not counted.
"""

from __future__ import annotations

from labkit.bench.hardware import read_cpu, read_memory
from labkit.bench.session import Measured, Session

MIB = 1 << 20
# Where the system does not tell the last-level cache, this is more than most have.
_UNKNOWN_LLC = 64 * MIB


def last_level_cache(session: Session) -> int:
    """Bytes of the largest cache that a stream could hide in: the GPU's L2, or the CPU's."""
    if session.device != "cpu":
        from labkit.bench import device

        return device.pick(session.device).llc_bytes or _UNKNOWN_LLC
    return read_cpu().llc_bytes or _UNKNOWN_LLC


def buffer_bytes(llc: int, quick: bool, free: int | None) -> int:
    """Size of one buffer: 16 × the cache (quick: 8 ×), from 256 MiB (64) to 1 GiB.

    Two such buffers must fit a tenth of the free memory; never below 4 × the cache, because then
    a part of each pass would come out of it.
    """
    wanted = max((8 if quick else 16) * llc, (64 if quick else 256) * MIB)
    ceiling = min(1024 * MIB, free // 20 if free else 1024 * MIB)
    return max(min(wanted, ceiling), 4 * llc)


def measure_bandwidth(session: Session, measured: Measured) -> None:
    """Add the series bandwidth.read and bandwidth.copy (GB/s, GB = 1e9 bytes)."""
    import torch

    llc = last_level_cache(session)
    free = read_memory().available_bytes if session.device == "cpu" else None
    size = buffer_bytes(llc, session.quick, free)
    count = size // 4
    source = torch.ones(count, dtype=torch.float32, device=session.device)
    target = torch.zeros(count, dtype=torch.float32, device=session.device)
    budget = 0.6 if session.quick else 2.0
    session.say("memory bandwidth: reading")
    read = session.time(source.sum, warmup=2, min_samples=7, budget_s=budget)
    session.say("memory bandwidth: copying")
    copy = session.time(lambda: target.copy_(source), warmup=2, min_samples=7, budget_s=budget)
    measured.add_rate("bandwidth.read", "Read bandwidth", "GB/s", 4 * count / 1e9, read)
    measured.add_rate("bandwidth.copy", "Copy bandwidth", "GB/s", 8 * count / 1e9, copy)
    measured.facts |= {
        "llc_bytes": llc,
        "buffer_bytes": 4 * count,
        "bytes_per_element": {"read": 4, "copy": 8},
    }
