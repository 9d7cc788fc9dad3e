"""One replica under continuous batching: what bounds it, and what a prompt adds to its steps.

At most `places` sequences are in flight: `max_num_seqs`, or as many as the KV cache holds at the
mean resident length. The others queue, in order of arrival; a full KV cache is a queue, not a
failure. The mean context and the mean prompt stand for all sequences of a step. Preemption (the
recomputing of sequences that outgrow the cache) lowers the capacity, but is not in the latencies
below it: `simulation` has it there.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from labkit.sizing.checks import SizingError, require_count, require_positive
from labkit.sizing.inputs import Workload
from labkit.sizing.serving.steps import StepTimes
from labkit.sizing.serving.table import StepTable, reading_matrix, step_table
from labkit.sizing.serving.traffic import Traffic, traffic_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

DEFAULT_MAX_BATCHED_TOKENS = 2048
_ROUNDS = 4


@dataclass(frozen=True)
class Replica:
    """A replica with its traffic's lengths, ready to be asked at any rate. Made by `replica_of`.

    slots: `max_num_seqs`. kv_places: sequences that the KV cache holds at their mean resident
    length. budget: `max_num_batched_tokens`, decode tokens included.
    """

    traffic: Traffic
    table: StepTable
    slots: int
    kv_places: float
    budget: float

    @property
    def places(self) -> int:
        """Sequences in flight at most."""
        return max(1, min(self.slots, math.floor(self.kv_places), math.floor(self.budget) - 1))

    @property
    def kv_bound(self) -> bool:
        """Whether the KV cache is full before `max_num_seqs` sequences are in flight."""
        return self.kv_places < self.slots

    @cached_property
    def saturated_sequences(self) -> float:
        """Sequences decoding at capacity: `places`, or fewer where prompts use up the budget.

        A sequence takes its prompt's tokens and one token per decode step out of the budgets of
        the steps it lives through: budget x L / (prefilled tokens + L).
        """
        steps = self.traffic.decode_steps
        return min(self.places, self.budget * steps / (self.capacity_prefill + steps))

    @cached_property
    def prompt_budget(self) -> float:
        """Prompt tokens that a step has room for beside the decodes at capacity."""
        return max(1.0, self.budget - self.saturated_sequences)

    @cached_property
    def work_nodes(self) -> NDArray[np.float64]:
        """`traffic.prompt_nodes` as work: tokens of mean cost that take as long.

        The table counts mean query-key pairs per token; a long prompt has more of them and a short
        one fewer. The mean stays what it is.
        """
        traffic, table = self.traffic, self.table
        nodes = traffic.prompt_nodes
        more = traffic.pairs_at(nodes) - traffic.pairs_per_token
        return nodes * (1.0 + table.pair_tokens * more)

    @cached_property
    def work_cv2(self) -> float:
        """Squared coefficient of variation of the prompts' work."""
        return float(self.work_nodes.var() / self.work_nodes.mean() ** 2)

    @property
    def chunk(self) -> float:
        """Prompt tokens of a mean request that go into one step."""
        return min(self.traffic.new_tokens, self.prompt_budget)

    @property
    def bound_by(self) -> str:
        """What capacity ends at: max_num_seqs, kv_cache or max_num_batched_tokens."""
        if self.saturated_sequences < self.places - 1e-9:
            return "max_num_batched_tokens"
        return "kv_cache" if self.kv_bound else "max_num_seqs"

    @cached_property
    def capacity(self) -> float:
        """The highest rate in requests/s that can be kept up, with latency out of bounds.

        At capacity a step carries n x prefilled / L prompt tokens on average, whatever it takes:
        rate = prompt tokens per step / (prefilled tokens per request x seconds per step).
        """
        plain, extra = self._capacity_step
        return self.capacity_prompt_tokens / (self.capacity_prefill * (plain + extra))

    @property
    def capacity_prefill(self) -> float:
        """Tokens that are prefilled per request at capacity, the recomputed ones included.

        Where the KV cache is what is full, a token that a running sequence adds must come from
        another one: the last arrived is preempted and computed again later. Admission takes up
        at once what a finished request gives back, so about as many tokens are recomputed as
        grow: `output` per request (0.5 to 1.2 times that in simulated runs).
        """
        recomputed = self.traffic.output_tokens if self.kv_bound else 0.0
        return self.traffic.new_tokens + recomputed

    @cached_property
    def capacity_prompt_tokens(self) -> float:
        """Mean prompt tokens of a step at capacity: n x prefilled / L, or the budget's room."""
        steps = self.traffic.decode_steps
        if steps <= 0:
            return self.prompt_budget
        return min(self.prompt_budget, self.saturated_sequences * self.capacity_prefill / steps)

    @property
    def capacity_prefill_share(self) -> float:
        """The share of time at capacity that prompts add to the steps."""
        plain, extra = self._capacity_step
        return extra / (plain + extra)

    @cached_property
    def _capacity_step(self) -> tuple[float, float]:
        """Seconds of a plain step at capacity, and what its mean load of prompts adds."""
        import numpy as np

        at = np.array([self.saturated_sequences])
        chunks = self.capacity_prompt_tokens / self.chunk
        extra = chunks * self._extra_per_chunk(self._added(at), np.array([chunks]))[0]
        return float(self.table.plain(at)[0]), float(extra)

    def prefill_seconds(self, rate: float, sequences: NDArray[np.float64]) -> NDArray[np.float64]:
        """e(n): seconds that one request's prefill adds to the steps, at each n.

        Prompts that arrive during one step are prefilled in the same next step, so the more come
        per step, the better its fixed part is shared. Their number is taken as Poisson.
        """
        import numpy as np

        nodes = self.table.sequences
        per_request = self.traffic.new_tokens / self.chunk
        plain = self.table.plain(nodes)
        extra, step = np.zeros_like(plain), plain
        most = max(1.0, self.prompt_budget / self.chunk)
        for _ in range(_ROUNDS):
            chunks = np.minimum(rate * step * per_request, most)
            extra = self._extra_per_chunk(self._added_at_nodes, chunks)
            step = plain / (1.0 - np.minimum(rate * per_request * extra, 0.999))
        return np.asarray(np.interp(sequences, nodes, extra * per_request))

    def _extra_per_chunk(
        self, added: NDArray[np.float64], chunks: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Seconds that a chunk adds to a plain step, with a mean of `chunks` a step (Poisson).

        added: seconds that 1, 2, … chunks add, a row for each of `chunks`.
        """
        import numpy as np

        counts, done, _ = self._chunks
        mean = np.maximum(chunks, 1e-9)[:, None]
        logs = counts * np.log(mean) - mean - np.cumsum(np.log(counts))
        likely = np.exp(logs)
        likely[:, -1] += np.maximum(0.0, -np.expm1(-mean[:, 0]) - likely.sum(axis=1))
        return np.asarray((likely * added).sum(axis=1) / (likely * done).sum(axis=1))

    @cached_property
    def _added_at_nodes(self) -> NDArray[np.float64]:
        return self._added(self.table.sequences)

    def _added(self, sequences: NDArray[np.float64]) -> NDArray[np.float64]:
        """Seconds that 1, 2, … chunks add to a plain step of each number of sequences."""
        rows = self.table.rows(sequences)
        return rows @ self._chunks[2] - rows[:, :1]

    @cached_property
    def _chunks(self) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Steps with 1, 2, … chunks: their number, how many go in, and how to read the table.

        One of the prompts has a random length and the others the mean one: a long prompt costs
        more than short ones save where short ones hide behind the reading of the weights.
        """
        import numpy as np

        most = max(1, math.ceil(self.prompt_budget / self.chunk))
        counts = np.arange(1.0, min(most, 64) + 1)
        one = np.minimum(self.traffic.prompt_nodes, max(self.chunk, self.prompt_budget))
        tokens = np.minimum((counts[:, None] - 1.0) * self.chunk + one[None, :], self.prompt_budget)
        nodes = len(one)
        weights = reading_matrix(self.table.prompt, tokens.ravel())
        mean = weights.reshape(len(self.table.prompt), len(counts), nodes).mean(axis=2)
        return counts, tokens.mean(axis=1) / self.chunk, mean


def replica_of(
    steps: StepTimes,
    workload: Workload,
    slots: int,
    kv_tokens: float,
    *,
    max_batched_tokens: int = DEFAULT_MAX_BATCHED_TOKENS,
    block_tokens: int = 16,
) -> Replica:
    """A replica of this step model for this workload's lengths.

    slots: sequences in flight at most (`max_num_seqs`). kv_tokens: tokens that the KV cache holds
    in all. A sequence holds its context in whole blocks: half a block more than its tokens on
    average; the prefix cache saves work, not room. Raises `SizingError` where not even one
    sequence of mean length fits at its end, or an input makes no sense.
    """
    require_count("slots", slots)
    require_positive("kv_tokens", kv_tokens)
    require_count("max_batched_tokens", max_batched_tokens, minimum=2)
    require_count("block_tokens", block_tokens)
    traffic = traffic_of(workload)
    longest = traffic.prompt_tokens + traffic.output_tokens
    if longest > kv_tokens:
        raise SizingError(
            f"A mean sequence ends at {longest:,.0f} tokens; the KV cache holds {kv_tokens:,.0f}."
        )
    kv_places = kv_tokens / (traffic.context + (block_tokens - 1) / 2)
    most = max(1, min(slots, math.floor(kv_places), max_batched_tokens - 1))
    table = step_table(steps, traffic, most, float(max_batched_tokens))
    return Replica(traffic, table, slots, kv_places, float(max_batched_tokens))
