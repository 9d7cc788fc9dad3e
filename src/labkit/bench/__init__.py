"""Measurements of real machines: live in a process of their own, or replayed and labelled so.

>>> from labkit import bench
>>> record = bench.machine(replay=True)  # or live: bench.machine()
>>> record.live
False

Nothing heavy is imported here; torch only ever runs in the worker process.
"""

from labkit.bench.front import (
    attention,
    big_decode,
    decode,
    engines,
    load,
    machine,
    measure,
    memory,
    quantization,
    speculation,
)
from labkit.bench.noise import NoisyMeasurement
from labkit.bench.published import PublishedPoint, int4_under_load
from labkit.bench.quant.points import FormatPoint, format_points
from labkit.bench.records import NoRecord, last
from labkit.bench.sweep import SweepPoint, sweep_points

__all__ = [
    "FormatPoint",
    "NoRecord",
    "NoisyMeasurement",
    "PublishedPoint",
    "SweepPoint",
    "attention",
    "big_decode",
    "decode",
    "engines",
    "format_points",
    "int4_under_load",
    "last",
    "load",
    "machine",
    "measure",
    "memory",
    "quantization",
    "speculation",
    "sweep_points",
]
