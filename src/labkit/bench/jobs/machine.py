"""The measurement "machine": this machine's roofline, and how products with B rows do on it."""

from __future__ import annotations

from labkit.bench.hardware import read_cpu
from labkit.bench.jobs.bandwidth import Bandwidth
from labkit.bench.jobs.matmul import measure_peak, measure_sweep
from labkit.bench.session import Measured, Session


def measure(session: Session) -> Measured:
    """Bandwidth (GB/s), matrix peaks (GFLOP/s) and the sweep over B (ms per pass)."""
    products = Measured()
    bandwidth = Bandwidth(session)
    bandwidth.take_round()
    measure_peak(session, products)
    sweep = {"fp32": measure_sweep(session, products, "fp32")}
    bandwidth.take_round()
    sweep["bf16"] = measure_sweep(session, products, "bf16")
    bandwidth.take_round()
    measured = bandwidth.found()
    measured.extend(products)
    measured.facts["sweep"] = sweep
    if session.device == "cpu":
        units = read_cpu().bf16_units
        measured.facts["bf16_units"] = units
        if units is False:
            measured.notes.append(
                "This CPU has no BF16 units: it converts to FP32 and back, which is slow."
            )
    return measured
