"""`simulate`: traffic, a scheduler, a cache and a step time in; the finished run out."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from labkit.sizing.checks import SizingError
from labkit.sizing.simulation.blocks import BlockPool, KVCache
from labkit.sizing.simulation.journal import Journal
from labkit.sizing.simulation.recorder import Recorder
from labkit.sizing.simulation.result import SimulationResult
from labkit.sizing.simulation.steps import StepTimes
from labkit.sizing.simulation.traffic import Recorded, Requests, Traffic


class Scheduler(Protocol):
    """`ContinuousBatching`, `StaticBatching`, or another that serves requests."""

    @property
    def slots(self) -> int:
        """Sequences that can run at once."""

    def run(
        self,
        requests: Requests,
        steps: StepTimes,
        kv: KVCache,
        journal: Journal,
        recorder: Recorder,
    ) -> BlockPool:
        """Serve every request; give back the block pool, all blocks free again."""


def simulate(
    traffic: Traffic | Recorded,
    scheduler: Scheduler,
    steps: StepTimes,
    *,
    kv: KVCache | None = None,
    seed: int = 0,
    timeline: bool = False,
) -> SimulationResult:
    """Serve `traffic` on one replica, event by event; the same seed gives the same result.

    steps: the replica's step time, any object with `mixed_seconds`. kv: the room for cached
    tokens (None: no limit). timeline: also note who held which slot when.
    Raises `SizingError` where a request could never run, even alone.

    >>> from labkit.sizing.lengths import parse_lengths
    >>> from labkit.sizing.simulation import (
    ...     AffineSteps, Burst, ContinuousBatching, StaticBatching, Traffic)
    >>> prompts, answers = parse_lengths("512"), parse_lengths("geometric:mean=128,max=1024")
    >>> traffic = Traffic(prompts, answers, Burst(), requests=512)
    >>> steps = AffineSteps(step=0.02, per_prefill_token=1e-4)
    >>> for scheduler in (StaticBatching(16), ContinuousBatching(16)):
    ...     run = simulate(traffic, scheduler, steps)
    ...     print(round(run.output_tokens_per_second), f"{run.totals.useful_share:.0%} useful")
    216 68% useful
    566 100% useful
    """
    if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
        raise SizingError(f"seed must be a whole number of at least 0, not {seed!r}.")
    cache = kv or KVCache()
    requests = traffic.draw(seed)
    _require_room(requests, cache)
    journal = Journal(requests.count)
    recorder = Recorder(scheduler.slots, timeline=timeline)
    pool = scheduler.run(requests, steps, cache, journal, recorder)
    if pool.free != pool.total:
        raise RuntimeError(f"{pool.total - pool.free} blocks were never given back")
    finish = np.asarray(journal.finish)
    return SimulationResult(
        prompt=requests.prompt,
        output=requests.output,
        arrival=np.asarray(journal.arrival),
        start=np.asarray(journal.start),
        first_token=np.asarray(journal.first_token),
        finish=finish,
        preemptions=np.asarray(journal.preemptions, dtype=np.int64),
        gaps=recorder.gaps(),
        totals=recorder.totals(seconds=float(finish.max()), peak_blocks=pool.peak),
        slots=scheduler.slots,
        kv_tokens=cache.tokens,
        timeline=recorder.timeline(),
    )


def _require_room(requests: Requests, kv: KVCache) -> None:
    """Every request must fit alone, else it would wait for ever."""
    longest = int(np.argmax(requests.prompt + requests.output))
    shapes = {(int(requests.prompt[longest]), int(requests.output[longest]))}
    if kv.blocks is None:
        return
    if not kv.paged:  # a guess at the final length need not rise with it
        shapes |= set(zip(requests.prompt.tolist(), requests.output.tolist(), strict=True))
    for prompt, output in shapes:
        need = kv.most_blocks(prompt, output)
        if need > kv.blocks:
            raise SizingError(
                f"A request of {prompt} + {output} tokens needs {need} KV blocks of "
                f"{kv.block_tokens} tokens; the cache has {kv.blocks}."
            )
