"""Lab 05, exercise 5.6: the learner's own iteration-level batcher, on queues nobody has seen."""

from __future__ import annotations

from random import Random

from labkit.contract.codes import Code
from labkit.contract.givens import Given, Givens
from labkit.contract.probe import Call
from labkit.exercises.kinds import MachineKind
from labkit.exercises.lab05_batching import batcher_class as answers
from labkit.exercises.lab05_batching.batcher_rules import BatcherWatcher
from labkit.exercises.lab05_batching.queue import ENGINE, SCHEDULING
from labkit.exercises.spec import Draw, Exercise, Mistake, Tier

REQUESTS = 60
_BLOCK = 4

STUB = '''\
class Batcher:
    """Serves requests step by step, in at most `slots` slots and `blocks` KV blocks."""

    def __init__(self, slots, blocks, block_tokens):
        ...

    def add(self, request, prompt, output):
        """A request arrives: its number, prompt tokens, output tokens. Returns nothing."""
        return ...

    def step(self):
        """One engine step: the list of the requests that wrote a token in it."""
        return ...'''


def _draw(draw: Draw) -> tuple[Given, ...]:
    rng = draw.rng
    block_tokens = rng.choice((4, 8, 16))
    return (
        Given("slots", rng.randint(2, 8), "", "slots"),
        Given("block_tokens", block_tokens, "tokens", "tokens in one block"),
        # A whole request needs 9 blocks at most (5 of prompt and 4 of answer): each fits alone.
        Given("blocks", rng.randint(9, 24), "", "KV blocks"),
        Given("seed", rng.randrange(2**31), "", "seed of the queue"),
    )


def requests(g: Givens) -> list[tuple[int, int, int]]:
    """(arrival step, prompt, output) of each request, in order of arrival."""
    rng = Random(int(g.seed))  # noqa: S311  # a queue for an exercise, not secrets
    now, found = 0, []
    for _ in range(REQUESTS):
        now += rng.choice((0, 0, 0, 1, 2, 5))
        prompt = rng.randint(1, 5 * g.block_tokens)
        output = min(1 + int(rng.expovariate(1 / (1.5 * g.block_tokens))), 4 * g.block_tokens)
        found.append((now, prompt, output))
    return found


def run(
    slots: int, blocks: int, block_tokens: int, queue: list[tuple[int, int, int]]
) -> tuple[Call, ...]:
    """The calls of one run: requests are added when they arrive, and steps go on to the end."""
    right = answers.Batcher(slots, blocks, block_tokens)
    calls: list[Call] = [("new", (slots, blocks, block_tokens))]
    coming = list(enumerate(queue, 1))
    now, open_tokens = 0, sum(output for _, _, output in queue)
    while open_tokens:
        while coming and coming[0][1][0] <= now:
            request, (_, prompt, output) = coming.pop(0)
            right.add(request, prompt, output)
            calls.append(("add", (request, prompt, output)))
        open_tokens -= len(right.step())
        calls.append(("step", ()))
        now += 1
    return (*calls, ("step", ()))  # when all is done a step writes nothing


def script(g: Givens) -> tuple[Call, ...]:
    """One draw's run."""
    return run(g.slots, g.blocks, g.block_tokens, requests(g))


def edges(_g: Givens) -> tuple[tuple[Call, ...], ...]:
    """Short runs, each made for one mistake; blocks of 4 tokens, (arrival, prompt, output)."""
    at_once = ((0, 1, 3), (0, 1, 1), (0, 1, 2))
    return tuple(
        run(slots, blocks, _BLOCK, list(queue))
        for slots, blocks, queue in (
            (1, 9, ((0, 1, 3),)),  # one request, to its last token and no further
            (2, 9, ((0, 1, 2), (0, 1, 2), (0, 1, 2))),  # no more than there are slots
            (2, 9, at_once),  # the third joins when the second is done
            (1, 9, ((0, 1, 2), (0, 1, 6), (1, 1, 2), (2, 1, 2))),  # in order of arrival
            (2, 2, ((0, 4, 2), (0, 1, 3))),  # a cache grows: the last to come has to leave
            (2, 3, ((0, 4, 6), (0, 4, 2))),  # the prompt decides who may join
            (2, 3, ((0, 4, 6), (0, 3, 6))),  # sent back, and served to its end
        )
    )


BATCHER = Exercise(
    id="5.6",
    title="Your own batcher",
    objective=SCHEDULING,
    points=3,
    tier=Tier.TRANSFER,
    kind=MachineKind(source=STUB, script=script, watcher=BatcherWatcher, edges=edges),
    statement=(
        "Write the scheduler. `add(request, prompt, output)` puts a request into the queue; "
        "`request` is a whole number. `step()` runs one engine step and returns the **list of the "
        "requests that wrote a token**, in any order. In a step,\n\n"
        "1. whoever wrote their last token in an earlier step **leaves**\n"
        "2. if the caches of those who still run no longer fit into the blocks, the **last to "
        "arrive** of them goes back to the **head** of the queue, and so on until they fit "
        "(*preemption*). Its cache is dropped. The tokens that it has written stay: the user has "
        "read them.\n"
        "3. the head of the queue **joins** while there is a free slot and room for its cache; "
        "nobody overtakes\n"
        "4. everybody who runs writes one token\n\n"
        "In a step, the cache of a request holds its prompt and the tokens that it wrote in "
        "**earlier** steps. It takes whole blocks, and takes them as it grows: nothing is reserved "
        "for the rest of the answer. (One who comes back after a preemption computes its cache "
        "again, within that step.)\n\n"
        "You only count; no need for the allocator of 5.7. Every request fits when it is alone. It "
        "is tried on short cases and on five random queues."
    ),
    answer_name="Batcher",
    draw=_draw,
    reference=lambda _g: answers.Batcher,
    mistakes=(
        Mistake(
            Code.FINISHED_LATE,
            "A request stays after its last token and holds its slot for nothing. Who has written "
            "all of its `output` tokens leaves before the next step.",
            lambda _g: answers.LeavesLate,
        ),
        Mistake(
            Code.FINISHED_EARLY,
            "A request with tokens left, and room for them, does not write. Each writes exactly "
            "`output` tokens, one in every step while it runs.",
            lambda _g: answers.LeavesEarly,
        ),
        Mistake(
            Code.SLOTS_EXCEEDED,
            "More requests write in one step than there are slots.",
            lambda _g: answers.OverfillsSlots,
        ),
        Mistake(
            Code.IDLE_SLOT,
            "A slot stays empty although the head of the queue would fit. That is static batching: "
            "let it join in the same step, while the others go on.",
            lambda _g: answers.WaitsForAll,
        ),
        Mistake(
            Code.STARVED,
            "Somebody overtakes: a later request writes while an earlier one waits. If that goes "
            "on, the earlier one starves. Out of the queue goes its head; back to its head goes "
            "the last to arrive.",
            lambda _g: answers.ShortestFirst,
        ),
        Mistake(
            Code.OVER_BUDGET,
            "The caches of one step take more blocks than there are. They grow with every token "
            "written: count prompt + written, rounded up to blocks, and send the last to arrive "
            "back when it gets too much.",
            lambda _g: answers.PromptOnly,
        ),
        Mistake(
            Code.REFUSED,
            "A request waits, or is sent back, although there is room. In a step a cache holds the "
            "prompt and the tokens of earlier steps: not the one that is written now, and not the "
            "rest of the answer.",
            lambda _g: answers.ReservesAll,
        ),
        Mistake(
            Code.WORK_LOST,
            "A request that was sent back never gets its remaining tokens, or waits longer than it "
            "must. It belongs at the head of the queue.",
            lambda _g: answers.LosesThePreempted,
        ),
        Mistake(
            Code.WORK_TWICE,
            "A request that was sent back writes its answer again from the start, so the user "
            "reads the beginning twice. Only its cache is computed again.",
            lambda _g: answers.StartsAgain,
        ),
    ),
    hints=(
        "Two lists, `waiting` and `running`, and for each request its prompt, its output and what "
        "it has written. A method of your own for the blocks of one request helps.",
        "step(): drop the finished from running; while the blocks of running exceed the budget, "
        "move running's last to the front of waiting; while slot and blocks are free, move "
        "waiting's first to the end of running; then count one token for each.",
        "blocks of r = −(−(prompt[r] + written[r]) // block_tokens); running.pop() → "
        "waiting.insert(0, …); waiting.pop(0) → running.append(…)",
    ),
    solution='''\
class Batcher:
    """Serves requests step by step, in at most `slots` slots and `blocks` KV blocks."""

    def __init__(self, slots, blocks, block_tokens):
        self.slots, self.blocks, self.block_tokens = slots, blocks, block_tokens
        self.prompt, self.output, self.written = {}, {}, {}
        self.waiting, self.running = [], []

    def add(self, request, prompt, output):
        self.prompt[request], self.output[request] = prompt, output
        self.written[request] = 0
        self.waiting.append(request)

    def _needs(self, requests):
        tokens = [self.prompt[r] + self.written[r] for r in requests]
        return sum(-(-n // self.block_tokens) for n in tokens)

    def step(self):
        self.running = [r for r in self.running if self.written[r] < self.output[r]]
        while self._needs(self.running) > self.blocks:
            self.waiting.insert(0, self.running.pop())
        while (
            self.waiting
            and len(self.running) < self.slots
            and self._needs([*self.running, self.waiting[0]]) <= self.blocks
        ):
            self.running.append(self.waiting.pop(0))
        for request in self.running:
            self.written[request] += 1
        return list(self.running)''',
    praise=(
        "Orca's iteration-level scheduling and vLLM's preemption by recomputation, in thirty "
        "lines. Nobody starves, because nobody overtakes."
    ),
    claim="E077",
    forbids=ENGINE,
)
