"""Step times and workloads for the tests of the serving model."""

from __future__ import annotations

from dataclasses import dataclass

from labkit.sizing.inputs import SLO, Workload
from labkit.sizing.simulation import AffineSteps


@dataclass(frozen=True)
class RoofSteps:
    """The later of reading and multiplying, plus host time: a step time with a kink."""

    weights: float
    per_cached: float
    per_token: float
    host: float
    per_pair: float = 0.0

    def mixed_seconds(self, prefill_tokens, prefill_pairs, decode_sequences, decode_tokens):
        reading = self.weights + self.per_cached * decode_tokens
        tokens = prefill_tokens + decode_sequences
        multiplying = self.per_token * tokens + self.per_pair * (prefill_pairs + decode_tokens)
        return max(reading, multiplying) + self.host


# About an 8B model in 16 bits. A10G: 16 GB at 510 GB/s; 128 KiB of cache per token; 16 GFLOP per
# token at half of 70 TFLOP/s. L40S: 730 GB/s and 200 TFLOP/s.
A10G = RoofSteps(0.031, 0.257e-6, 0.46e-3, 0.003, 3e-8)
L40S = RoofSteps(0.022, 0.18e-6, 0.08e-3, 0.002, 1e-8)
PLAIN = AffineSteps(0.03, 0.2e-3, 1e-8, 1e-4, 0.2e-6)
PLENTY = 10_000_000

MIXED_PROMPT = "lognormal:mean=600,sigma=1.0,max=6000"
MIXED_OUTPUT = "lognormal:mean=250,sigma=0.8,max=2000"


def chat(rate: float | None = None, slo: SLO | None = None, hit: float = 0.0) -> Workload:
    return Workload.of(512, 256, rate, slo, hit)


def mixed(rate: float | None = None, slo: SLO | None = None) -> Workload:
    return Workload.of(MIXED_PROMPT, MIXED_OUTPUT, rate, slo)
