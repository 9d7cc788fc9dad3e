"""Read and copy bandwidth, in the manner of STREAM, with buffers well beyond the last cache.

Bytes are counted as STREAM counts them: what the program asks to read and to write. A read sums
FP32 numbers (4 bytes each); a copy reads and writes each (8 bytes). What a write makes the cache
fetch first is not counted.
"""

from __future__ import annotations

from labkit.bench import noise
from labkit.bench.hardware import huge_page_bytes, read_cpu, read_memory
from labkit.bench.rounds import ROUNDS, Rounds
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


class Bandwidth:
    """Read and copy bandwidth, taken in rounds that a measurement puts between its other steps."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._llc = last_level_cache(session)
        free = read_memory().available_bytes if session.device == "cpu" else None
        self._count = buffer_bytes(self._llc, session.quick, free) // 4
        budget = 0.2 if session.quick else 0.7
        self._read = Rounds(session, budget)
        self._copy = Rounds(session, budget)
        self._huge: list[float] = []

    def take_round(self) -> None:
        """Read and copy for a while. The buffers are new each time and are given back."""
        import torch

        number = len(self._read.taken) + 1
        self._session.say(f"memory bandwidth, round {number} of {ROUNDS}")
        device = self._session.device
        source = torch.ones(self._count, dtype=torch.float32, device=device)
        target = torch.zeros(self._count, dtype=torch.float32, device=device)
        self._read.take(source.sum)
        self._copy.take(lambda: target.copy_(source))
        huge = huge_page_bytes() if device == "cpu" else None
        if huge is not None:
            self._huge.append(min(1.0, huge / (8 * self._count)))

    def found(self) -> Measured:
        """The series bandwidth.read and bandwidth.copy (GB/s, GB = 1e9 bytes) of all rounds."""
        measured = Measured()
        read, copy = self._read.pooled(), self._copy.pooled()
        gigabytes = self._count / 1e9
        measured.add_rate("bandwidth.read", "Read bandwidth", "GB/s", 4 * gigabytes, read)
        measured.add_rate("bandwidth.copy", "Copy bandwidth", "GB/s", 8 * gigabytes, copy)
        measured.facts |= {
            "llc_bytes": self._llc,
            "buffer_bytes": 4 * self._count,
            "bytes_per_element": {"read": 4, "copy": 8},
            "bandwidth_rounds": len(self._read.taken),
            noise.HUGE_PAGES: round(min(self._huge), 3) if self._huge else None,
        }
        return measured
