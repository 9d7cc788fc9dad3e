"""Greedy speculative decoding, and what each part of it cost.

Every round the drafter guesses, the target reads the guesses in one forward, and what agrees with
the target's own choice is kept, with the target's next token after it. Whatever the drafter says,
the text is the target's own.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from labkit.bench.drafting.acceptance import Tally, accepted
from labkit.bench.drafting.cached import CachedModel
from labkit.bench.drafting.drafters import Drafter
from labkit.bench.sampling import Samples


@dataclass(slots=True)
class Watch:
    """Wall and CPU seconds of pieces of work."""

    wall_s: list[float] = field(default_factory=list)
    cpu_s: list[float] = field(default_factory=list)
    _wall: float = 0.0
    _cpu: float = 0.0

    def start(self) -> None:
        """A piece begins."""
        self._cpu, self._wall = time.process_time(), time.perf_counter()

    def stop(self) -> None:
        """It ends."""
        self.wall_s.append(time.perf_counter() - self._wall)
        self.cpu_s.append(time.process_time() - self._cpu)

    def samples(self) -> Samples:
        """All pieces."""
        return Samples(tuple(self.wall_s), tuple(self.cpu_s))


@dataclass(slots=True)
class Run:
    """One run: its tokens, counts, whole time (prefill left out), and each forward's and draft's.

    `rows` are the tokens that each forward of the target read, `drafted` those of each draft.
    """

    output: list[int]
    tally: Tally = field(default_factory=Tally)
    whole: Watch = field(default_factory=Watch)
    forwards: Watch = field(default_factory=Watch)
    rows: list[int] = field(default_factory=list)
    drafts: Watch = field(default_factory=Watch)
    drafted: list[int] = field(default_factory=list)


def speculate(
    target: CachedModel,
    prompt: Sequence[int],
    tokens: int,
    drafter: Drafter | None = None,
    gamma: int = 0,
) -> Run:
    """Exactly `tokens` tokens, after `prompt` and the one token that its prefill gives.

    The output begins with that one. A draft has up to `gamma` tokens, fewer at the end. Without a
    drafter: plain greedy decoding.
    """
    history = list(prompt)
    history.append(target.start(prompt))
    if drafter:
        drafter.start(history)
    run = Run(output=[])
    run.whole.start()
    while run.tally.tokens < tokens:
        draft: list[int] = []
        if drafter:
            run.drafts.start()
            draft = drafter.propose(history, min(gamma, tokens - run.tally.tokens - 1))
            run.drafts.stop()
            run.drafted.append(len(draft))
        run.forwards.start()
        choices = target.feed([history[-1], *draft])
        kept = accepted(draft, choices)
        target.rewind(target.length - (len(draft) - kept))
        run.forwards.stop()
        run.rows.append(1 + len(draft))
        history += [*draft[:kept], choices[kept]]
        run.tally.add(len(draft), kept)
    run.whole.stop()
    run.output = history[len(prompt) :]
    return run
