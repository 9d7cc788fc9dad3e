"""Traffic, schedulers and step times drawn by hypothesis, small enough to check by hand."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import strategies as st

from labkit.sizing.lengths import Fixed, Geometric, LogNormal, Uniform
from labkit.sizing.simulation import (
    AffineSteps,
    Burst,
    ClosedLoop,
    ContinuousBatching,
    KVCache,
    Poisson,
    StaticBatching,
    Traffic,
)


@dataclass(frozen=True)
class KinkedSteps:
    """The later of reading and multiplying, as on a real card: two straight lines and a kink."""

    step: float = 0.01
    kink: float = 300.0

    def mixed_seconds(self, prefill_tokens, prefill_pairs, decode_sequences, decode_tokens):
        reading = 1e-5 * decode_tokens
        multiplying = 1e-4 * prefill_tokens + 1e-8 * prefill_pairs + 1e-5 * self.kink
        return self.step + max(reading, multiplying) + 1e-5 * decode_sequences


@dataclass(frozen=True)
class CurvedSteps:
    """No straight stretch anywhere: only single steps are exact."""

    def mixed_seconds(self, prefill_tokens, prefill_pairs, decode_sequences, decode_tokens):
        return 0.01 + 1e-4 * prefill_tokens + 1e-4 * decode_tokens**0.5


affine = st.builds(
    AffineSteps,
    step=st.floats(1e-3, 0.05),
    per_prefill_token=st.floats(0.0, 1e-3),
    per_prefill_pair=st.floats(0.0, 1e-6),
    per_sequence=st.floats(0.0, 1e-3),
    per_cached_token=st.floats(0.0, 1e-5),
)
step_times = st.one_of(
    affine,
    st.builds(KinkedSteps, step=st.floats(1e-3, 0.05), kink=st.floats(1.0, 1000.0)),
    st.just(CurvedSteps()),
)

LONGEST_PROMPT, LONGEST_OUTPUT = 60, 60
prompts = st.sampled_from(
    [Fixed(1), Fixed(17), Uniform(1, LONGEST_PROMPT), LogNormal(2.5, 1.0, 60)]
)
outputs = st.sampled_from([Fixed(1), Fixed(20), Uniform(1, LONGEST_OUTPUT), Geometric(15.0, 60)])
open_arrivals = st.one_of(st.just(Burst()), st.builds(Poisson, st.floats(0.5, 50.0)))
arrivals = st.one_of(
    open_arrivals, st.builds(ClosedLoop, st.integers(1, 12), st.sampled_from([0.0, 0.5]))
)


hit_rates = st.sampled_from([0.0, 0.4])


def traffic_of(arrival_strategy=arrivals, *, hits=hit_rates):
    return st.builds(
        Traffic,
        prompt=prompts,
        output=outputs,
        arrivals=arrival_strategy,
        requests=st.integers(1, 30),
        prefix_hit_rate=hits,
    )


# Many answers that grow long in a cache that holds few of them: preemption is the rule.
pressing = st.builds(
    Traffic,
    prompt=st.sampled_from([Fixed(5), Uniform(1, 30)]),
    output=st.sampled_from([Fixed(50), Uniform(20, LONGEST_OUTPUT)]),
    arrivals=open_arrivals,
    requests=st.integers(10, 30),
    prefix_hit_rate=hit_rates,
)

continuous = st.one_of(
    st.builds(
        ContinuousBatching,
        max_num_seqs=st.integers(1, 8),
        max_num_batched_tokens=st.sampled_from([8, 16, 50, 200]),
        chunked_prefill=st.just(True),
    ),
    st.builds(
        ContinuousBatching,
        max_num_seqs=st.integers(1, 8),
        max_num_batched_tokens=st.sampled_from([None, 119, 150, 400]),
        chunked_prefill=st.just(False),
    ),
)
static = st.builds(
    StaticBatching,
    max_num_seqs=st.integers(1, 8),
    max_wait_seconds=st.sampled_from([0.0, 0.5]),
    prefill=st.sampled_from(["padded", "shortest"]),
    streams=st.booleans(),
)


@st.composite
def tight_caches(draw, reservations=("paged",)):
    """Caches that hold one longest request, and few more."""
    size = draw(st.sampled_from([1, 4, 16]))
    reservation = draw(st.sampled_from(reservations))
    one = -(-(LONGEST_PROMPT + 64) // size)
    return KVCache(
        blocks=one + draw(st.integers(0, 2 * one)),
        block_tokens=size,
        reservation=reservation,
        max_model_len=LONGEST_PROMPT + 64,
        watermark=draw(st.sampled_from([0.0, 0.1])),
    )


caches = st.one_of(
    st.just(KVCache()), tight_caches(("paged", "paged", "exact", "power_of_two", "max"))
)
seeds = st.integers(0, 2**32)
