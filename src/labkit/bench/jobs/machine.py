"""The measurement "machine": this machine's roofline, and how products with B rows do on it."""

from __future__ import annotations

from labkit.bench.hardware import read_cpu
from labkit.bench.jobs.bandwidth import measure_bandwidth
from labkit.bench.jobs.matmul import measure_peak, measure_sweep
from labkit.bench.session import Measured, Session


def measure(session: Session) -> Measured:
    """Bandwidth (GB/s), matrix peaks (GFLOP/s) and the sweep over B (ms per pass)."""
    measured = Measured()
    measure_bandwidth(session, measured)
    measure_peak(session, measured)
    measure_sweep(session, measured)
    if session.device == "cpu":
        units = read_cpu().bf16_units
        measured.facts["bf16_units"] = units
        if units is False:
            measured.notes.append(
                "This CPU has no BF16 units: it converts to FP32 and back, which is slow."
            )
    return measured
