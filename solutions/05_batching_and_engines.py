# %% [markdown]
# # Lab 05 · Batching and engines
#
# Reading the weights costs the same for one user as for sixteen. So everything about serving comes
# down to one question: how do you keep many requests in the same step? In this lab you schedule
# requests by hand, hand out the memory of their caches, write a small engine core of your own, and
# then measure real engines on your machine.
#
# **About 90 minutes.** You need Labs 01 and 02, and Python at the level of classes.
#
# When you are done you can
#
# - say how many steps static and continuous batching need for the same requests, and why
# - explain a published "23x" by its conditions
# - hand out, share and take back the blocks of a KV cache
# - write a batcher that starves nobody and never exceeds its memory
# - measure what an engine gains, with an interval, and say for whom
# - tell from what waiting users see which remedy they need
#
# Everything works as before: replace the `...`, run the cell, run the check. Hints are free
# (`lab.hint("5.1")`). The numbers of the exercises are names, not an order.

# %% setup
import statistics
import textwrap

import matplotlib.pyplot as plt
import numpy as np

from labkit import Catalog, Lab, Q, bench
from labkit.bench.gains import published_gains
from labkit.sizing import EngineConfig, Workload, estimate, kv_bytes_per_sequence
from labkit.sizing.lengths import parse_lengths
from labkit.sizing.simulation import (
    AffineSteps,
    Burst,
    ContinuousBatching,
    KVCache,
    Recorded,
    StaticBatching,
    Traffic,
    simulate,
)

catalog = Catalog.load()

lab = Lab("05")

# %% [markdown]
# ## Who sits in the batch?
#
# Five words first. The names in code, like `max_num_seqs`, are vLLM's own.
#
# - a **request** is one prompt, and the answer to it
# - a **step** is one pass through the model: every request in the batch gets one token
# - a **slot** is a place in the batch; `max_num_seqs` says how many there are
# - **prefill** is the reading of the prompt: many tokens in one step. **Decode** is the writing,
#   one token per step.
# - the **queue** holds the requests that have no slot yet
#
# Left of the ridge point (Lab 01) a step takes about as long with one request as with sixteen.
# So count steps: fewer steps for the same tokens is more throughput.
#
# The difficulty is that answers have different lengths, and that nobody knows them beforehand.

# %% exercise 5.1

# %% exercise 5.2

# %% [markdown]
# ### See the holes
#
# This is the queue of 5.1 as a *slot timeline*: one row per slot, one bar per request. Grey is a
# slot that nobody uses, and that you pay for.


# %% id="slot-timeline"
def static_spans(lengths, slots):
    """(name, slot, first step, last step) of each request, batch after batch."""
    spans, start = [], 0
    for first in range(0, len(lengths), slots):
        batch = lengths[first : first + slots]
        for slot, tokens in enumerate(batch):
            spans.append((f"R{first + slot + 1}", slot, start, start + tokens))
        start += max(batch)
    return spans


def draw_slots(ax, spans):
    """A slot timeline; the grey behind the bars is idle time."""
    slots = max(slot for _, slot, _, _ in spans) + 1
    end = max(end for *_, end in spans)
    ax.barh(range(slots), [end] * slots, color="#d0d7de", hatch="..", edgecolor="white")
    for n, (name, slot, start, stop) in enumerate(spans):
        bar, ink = (("#0969da", "white"), ("#9cd2ff", "black"))[n % 2]
        ax.barh(slot, stop - start, left=start, label=name, color=bar, edgecolor="white")
        ax.text((start + stop) / 2, slot, name, ha="center", va="center", fontsize=8, color=ink)
    ax.set_yticks(range(slots), [f"slot {slot + 1}" for slot in range(slots)])
    ax.invert_yaxis()
    ax.set_xlabel("engine steps")
    ax.spines[["top", "right"]].set_visible(False)


example = static_spans([10, 100, 20, 80, 30, 60, 40, 50], slots=4)
fig, ax = plt.subplots(figsize=(8, 2.2))
draw_slots(ax, example)
used = sum(stop - start for _, _, start, stop in example)
paid = 4 * max(stop for *_, stop in example)
ax.set_title(f"Static batching: {used / paid:.0%} of the slots' time is used", loc="left")
fig.tight_layout()

# %% exercise 5.9

# %% [markdown]
# ## What is it worth?
#
# That depends on the queue. If all answers have the same length there are no holes, and continuous
# batching gains nothing at all. The more the lengths differ, the longer a static batch waits for
# its slowest.
#
# A simulator can serve a thousand requests before you have drawn ten. `simulate` takes the traffic,
# a scheduler, and how long a step takes. Here every step takes one *tick*, whatever is in it, so
# only the scheduling counts. All requests are there at the start (`Burst`).

# %% id="first-simulation"
one_tick = AffineSteps(step=1.0)

for words, lengths in (
    ("all answers 128 tokens", "128"),
    ("1 to 255 tokens, all as likely", "uniform:1-255"),
    ("many short, few long, mean 128", "geometric:mean=128,max=1536"),
):
    queue = Traffic(parse_lengths("1"), parse_lengths(lengths), Burst(), requests=4_000)
    static = simulate(queue, StaticBatching(8), one_tick)
    continuous = simulate(queue, ContinuousBatching(8), one_tick)
    ratio = continuous.output_tokens_per_second / static.output_tokens_per_second
    print(
        f"{words:<32} static {static.output_tokens_per_second:4.1f} tokens per tick, "
        f"continuous {continuous.output_tokens_per_second:4.1f}: {ratio:.2f} times"
    )

# %% [markdown]
# The mean is 128 tokens in all three. Only the spread differs.
#
# Exercise 5.10 has drawn a queue for you. This is how long its answers get, and how many slots
# there are:

# %% id="your-queue"
lab.given("5.10")

# %% [markdown]
# Guess before you look at the figure below: **by which factor does continuous batching win with
# this queue?** Say how sure you are to be within a factor of 1.25 (10 = a guess, 100 = certain).
# Nobody grades this.

# %% predict 5.10 value=1.5 confidence=30

# %% [markdown]
# With a queue that never runs dry a static batch lasts as long as the **longest of its own**
# answers. A slot of a continuous batch needs as many steps as an **average** answer has tokens. So
# the gain is *longest of the batch ÷ mean*, averaged over many batches:

# %% id="gain-by-slots"
rng = np.random.default_rng(5)
slots = [1, 2, 4, 8, 16, 32, 64]
fig, ax = plt.subplots(figsize=(8, 3.6))
for words, law, style in (
    ("like chats: mean 300, 5 % above 1,000", "lognormal:mean=300,p95=1000,max=4096", "-"),
    ("many short, few long: mean 128", "geometric:mean=128,max=1536", "--"),
    ("1 to 128, all as likely", "uniform:1-128", "-."),
    ("all the same", "128", ":"),
):
    lengths = parse_lengths(law)
    gains = []
    for size in slots:
        batches = lengths.sample(rng, 2_000 * size).reshape(-1, size)
        gains.append(batches.max(axis=1).mean() / batches.mean())
    ax.plot(slots, gains, style, lw=2, marker="o", ms=4, label=words)
ax.set_xscale("log", base=2)
ax.set_xticks(slots, [str(size) for size in slots])
ax.set_xlabel("slots")
ax.set_ylabel("steps: static ÷ continuous")
ax.set_ylim(0)
ax.grid(alpha=0.3)
ax.legend(frameon=False, loc="upper left", fontsize=9)
ax.spines[["top", "right"]].set_visible(False)
fig.tight_layout()

# %% [markdown]
# Two things make the gain: the spread of the lengths, and the number of slots. How many slots has a
# small card? As many sequences as its memory holds (Lab 02). Llama-2-7B with INT4 weights, up to
# 4,096 tokens each:

# %% id="slots-by-card"
small = catalog.model("llama-2-7b")
for name in ("g4dn.xlarge", "g5.xlarge"):
    found = estimate(
        small,
        catalog.instance(name),
        EngineConfig("int4", "fp16", gpu_memory_utilization=0.90),
        Workload(prompt_tokens=3_840, output_tokens=256),
    )
    each = kv_bytes_per_sequence(small, catalog.format("fp16"), 4_096)
    card = catalog.instance(name).accelerator.name
    print(f"{name} ({card}): {found.memory.pool.mid / each:.1f} sequences of 4,096 tokens")

# %% exercise 5.10

# %% [markdown]
# ### Published gains, and their conditions
#
# These ratios are quoted everywhere. *By lengths alone* is what you have just computed: the most
# that scheduling can give with those answer lengths, if both sides have the same slots and the same
# step times. (Where a source does not say how large its static batches were, the slots are an
# assumption: what the memory of the card leaves.)

# %% id="published"
for row in published_gains():
    lengths_give = row.from_scheduling()
    print(f"{row.system} over {row.baseline}: {row.as_printed}")
    if lengths_give is None:
        print("    by lengths alone: nothing to say, both sides batch in the same way")
    else:
        print(f"    by lengths alone: {lengths_give:.1f}x, with {row.slots} slots")
    for line in (
        f"{row.model} on {row.hardware}; {row.workload}",
        row.conditions,
        f"{row.source} ({row.date})",
    ):
        print(textwrap.indent(textwrap.fill(line, 84), "    "))
    print()

# %% [markdown]
# None of the large ratios is scheduling alone. What is in the rest?
#
# - **More slots.** Reserving the longest sequence for everybody leaves a handful of slots; paging
#   leaves dozens. Each step then carries more requests.
# - **Another engine.** The 23 compares an engine whose GPU code was written for serving with the
#   plain loop of transformers. The same post gives 4 for another such engine that batches
#   *statically*.
# - **Unequal prompts.** Orca's baseline reads what is longer than the shortest prompt token by
#   token.
# - **The point of measurement.** "At equal latency" means that each side runs at another load.
#
# So a ratio without its answer lengths, its slots and its baseline says nothing about your traffic.
# The published chapter that we test in this course has one too: *three times the throughput*, from
# 10 to 35 requests per second (that is 3.5 times), after a change of the weights' format, of the
# batching **and** of the number of GPUs.
#
# ## Memory comes in blocks
#
# A slot is worth nothing without room for its cache. Early engines reserved one long piece per
# request, as long as the longest sequence allowed. vLLM does what an operating system does with its
# memory: it cuts the room into small *blocks* and hands them out as they are needed. A table per
# sequence says which block comes next. That is **PagedAttention**.

# %% exercise 2.6

# %% exercise 2.7

# %% [markdown]
# How many requests does that put into a step? The same card, the same chats, four ways to set room
# aside. (`exact` would need to know each answer's length beforehand.)

# %% id="reservations"
chats = Traffic(
    parse_lengths("lognormal:mean=160,p95=500,max=1024"),
    parse_lengths("lognormal:mean=300,p95=1000,max=1023"),
    Burst(),
    requests=300,
)
ways = {
    "max": "the longest sequence, for all",
    "power_of_two": "the next power of two",
    "exact": "what each will need (an oracle)",
    "paged": "blocks, as needed",
}
running = {}
for way in ways:
    room = KVCache.of_tokens(13_440, reservation=way, max_model_len=2_048)
    running[way] = simulate(chats, ContinuousBatching(256), one_tick, kv=room).mean_running

fig, ax = plt.subplots(figsize=(8, 2.2))
ax.barh(list(ways.values()), list(running.values()), color="#0969da")
for row, value in enumerate(running.values()):
    ax.text(value, row, f"  {value:.1f}", va="center")
ax.invert_yaxis()
ax.set_xlabel("requests in a step, on average")
ax.set_xlim(0, 1.15 * max(running.values()))
ax.set_title("840 blocks of 16 tokens", loc="left")
ax.spines[["top", "right"]].set_visible(False)
fig.tight_layout()

# %% [markdown]
# ### Sharing
#
# Blocks have a second use. Two sequences that begin with the same tokens can point to the same
# blocks: several answers to one prompt, or a thousand users behind one system prompt. Nobody may
# write into a shared block, though. Who wants to, takes a copy first: *copy-on-write*.

# %% exercise 5.7 given=false

# %% [markdown]
# Put it to use. Sixteen users, one system prompt of 390 tokens, and a question of 40 tokens each:

# %% id="shared-prompt"
books = BlockAllocator(840, 16)
if type(books.alloc(0, 390)) is not list:
    print("Write BlockAllocator in exercise 5.7 first. Then run this cell again.")
else:
    tables = []
    for user in range(1, 17):
        table = books.fork(0, user)
        for _ in range(40):
            table = books.append(user)
        tables.append(table)
    shared = len({block for table in tables for block in table})
    apart = sum(len(table) for table in tables)
    print(f"16 sequences of 430 tokens: {apart} blocks apart, {shared} with the prompt shared")

# %% [markdown]
# ## An engine core of your own
#
# Slots, a queue, blocks: you have all the parts of a scheduler. What is left is what happens when
# the blocks run out while everybody is writing. Then somebody has to go back to the queue:
# *preemption*. vLLM drops the cache of the last to arrive and computes it again later.

# %% exercise 5.6 given=false

# %% [markdown]
# Run yours beside the simulator of this course: chats with few slots, many slots, and many slots
# with too few blocks.

# %% id="yours-and-the-simulator"
prompts = [8 + (29 * n) % 57 for n in range(60)]
outputs = [4 + (53 * n) % 97 for n in range(60)]
log = Recorded(seconds=(0.0,) * 60, prompt=tuple(prompts), output=tuple(outputs))

for slots, blocks in ((4, 840), (16, 840), (16, 60)):
    engine = ContinuousBatching(slots, max_num_batched_tokens=10_000)
    theirs = simulate(log, engine, one_tick, kv=KVCache(blocks, block_tokens=16)).totals.steps
    mine, written, steps = Batcher(slots, blocks, 16), 0, 0
    for n, (prompt, output) in enumerate(zip(prompts, outputs)):
        mine.add(n, prompt, output)
    while written < sum(outputs) and steps < 10_000:
        wrote = mine.step()
        if type(wrote) is not list:
            break
        written, steps = written + len(wrote), steps + 1
    if written < sum(outputs):
        print("Write Batcher in exercise 5.6 first. Then run this cell again.")
        break
    rate = written / steps
    print(
        f"{slots:>2} slots, {blocks:>3} blocks: {steps} steps (simulator: {theirs}), "
        f"{rate:.1f} tokens a step"
    )

# %% [markdown]
# Few slots or few blocks: either of them limits the batch. In production you see which one it is in
# two numbers of the engine, its queue and the share of its cache that is in use.
#
# ## Real engines
#
# Now measure. `bench.engines()` gives the same 32 requests, of mixed lengths, to each way of serving
# that is installed here. The model is SmolLM2-135M in FP32, on one thread:
#
# - **sequential**: `generate`, one request at a time
# - **static**: `generate` on padded batches
# - **continuous**: the continuous batching that transformers brings along
# - **vllm**: vLLM, behind its HTTP interface, if you have installed it
#   (`labkit engine install vllm`); else it is taken from a recording and labelled so
#
# A speed-up counts only if the answers are the same: all modes decode greedily, and at least 95 %
# of the positions must agree with `generate`. Tokens are counted per **CPU-second**, so a busy
# neighbour hardly matters (on a GPU per second of the clock on the wall). Padding is not a token.
# In the table, *÷ sequential* is a speed-up, and *concurrency 1* the engine with one request at a
# time.
#
# It takes four to five minutes with vLLM, three without. In a hurry:
# `engines = bench.engines(replay=True)`. After a restart of the kernel:
# `engines = bench.last("engines")` brings your own back.

# %% id="measure-engines"
engines = bench.engines()
engines

# %% id="engine-bars"
modes = {name: m for name, m in engines.facts["modes"].items() if m["speedup"]}
fig, ax = plt.subplots(figsize=(8, 0.5 * len(modes) + 1.4))
for row, mode in enumerate(modes.values()):
    middle = statistics.median(mode["speedup"])
    hatch = "//" if mode["origin"] or not engines.live else ""
    ax.barh(row, middle, color="#54aeff", hatch=hatch, edgecolor="white")
    ax.plot(mode["speedup"], [row] * len(mode["speedup"]), "k|", ms=12)
    ax.text(max(mode["speedup"]), row, f"   {middle:.2f}", va="center")
ax.axvline(1, color="black", lw=1)
ax.set_yticks(range(len(modes)), list(modes))
ax.invert_yaxis()
ax.set_xlim(0, 1.15 * max(max(mode["speedup"]) for mode in modes.values()))
unit = "second" if engines.facts.get("seconds") == "wall" else "CPU-second"
ax.set_xlabel(f"useful tokens per {unit}, × sequential (one mark per round)")
ax.set_title(textwrap.fill(engines.origin(), 96), fontsize=9, loc="left")
ax.spines[["top", "right"]].set_visible(False)
fig.tight_layout()

for name, mode in engines.facts["modes"].items():
    verdict = "" if mode["counts"] else " Too few: its speed-up does not count."
    print(f"{name}: {mode['agreement']:.1%} of the positions agree.{verdict}")
    if mode["origin"]:
        print(f"    {mode['origin']}")
for name, why in engines.facts["missing"].items():
    print(f"{name}: {why}")

# %% [markdown]
# Hatched bars were not measured here: they are replayed from a recording of another machine. The
# difference between static and continuous is the holes of 5.1, and the padding. The difference
# between one continuous engine and another is how much work stands around each step.

# %% exercise 5.8

# %% [markdown]
# The same interval for every mode. Two modes whose intervals overlap have not been told apart by
# these rounds.

# %% id="all-intervals"
t_of = {2: 12.706, 3: 4.303, 4: 3.182, 5: 2.776, 6: 2.571, 7: 2.447}
for name, mode in modes.items():
    n = len(mode["speedup"])
    if n not in t_of or name == "sequential":
        continue
    half = t_of[n] * statistics.stdev(mode["speedup"]) / n**0.5
    middle = statistics.fmean(mode["speedup"])
    ends = f"{middle - half:.2f} to {middle + half:.2f} times"
    print(f"{name:<12} {ends}, {n} rounds")

# %% exercise 5.12

# %% [markdown]
# ## What users see
#
# Throughput is what you pay for. Users see something else: the **TTFT**, the time to the first
# token, and the **ITL**, the gaps between tokens after that. Both have a floor that no scheduler
# can break.

# %% exercise 5.5

# %% [markdown]
# The floor holds on an empty machine. With others in the queue the wait comes on top, and there the
# scheduler decides. `bench.load()` starts small servers on your machine, one after another: *plain*
# answers one request at a time, *continuous* and *vllm* are those from above. It sends them one,
# four and eight requests at the same moment, prompts that share their beginning, and a long prompt
# while others are being answered. Its times are wall clock, as users feel them: compare them
# within one record, and nowhere else.
#
# In its table, the rows *4 at once* and *8 at once* have one sample per user: a wide spread there is
# the queue, not noise.
#
# It takes about three minutes. In a hurry: `load = bench.load(replay=True)`. After a restart:
# `load = bench.last("load")`.

# %% id="measure-load"
load = bench.load()
load

# %% exercise 5.13

# %% [markdown]
# And this is what was measured: each bar is one user, from sending to the first token. Is your
# prediction off by more than a tenth? Then something else was running: *alone* is a single request.

# %% id="staircase"
servers = load.facts["staircase"]
fig, panels = plt.subplots(1, len(servers), figsize=(9, 2.8), sharey=True, squeeze=False)
for panel, (name, server) in zip(panels[0], servers.items()):
    crowd = max(server["levels"], key=int)
    waits = [ms / 1e3 for ms in server["levels"][crowd]["ttft_ms"]]
    panel.bar(range(1, len(waits) + 1), waits, color="#0969da")
    panel.text(len(waits), waits[-1], f"{waits[-1]:.1f} s", ha="center", va="bottom", fontsize=9)
    panel.set_title(name + (" (replayed)" if server["origin"] else ""), loc="left")
    panel.set_xlabel("user")
    panel.spines[["top", "right"]].set_visible(False)
panels[0][0].set_ylabel("seconds to the first token")
fig.suptitle(textwrap.fill(load.origin(), 110), fontsize=9, x=0.01, ha="left")
fig.tight_layout()

if type(last_ttft_ms) in (int, float) and "8" in servers["plain"]["levels"]:
    seen = servers["plain"]["levels"]["8"]["ttft_ms"][-1]
    print(f"the last of eight: {last_ttft_ms:,.0f} ms predicted, {seen:,.0f} ms measured")

# %% [markdown]
# ### Two more remedies
#
# **Prefix caching.** If the beginning of a prompt has been seen before, its blocks may still be
# there. Then only the rest has to be read. Left: the first token of a prompt whose beginning is new
# (*cold*), and of the next prompt that shares it (*warm*).
#
# **Chunked prefill.** A long prompt that is read in one step holds up everybody who is reading an
# answer: their ITL has a spike. An engine can read it in pieces, between the others' tokens. Right:
# the gaps of one stream. At the dotted line a long prompt of somebody else arrives.

# %% id="prefix-and-chunks"
fig, (left, right) = plt.subplots(1, 2, figsize=(9, 3.2))
cached = load.facts["prefix"]
looks = ((-0.2, "cold_ms", "#8c959f", "//"), (0.2, "warm_ms", "#0969da", ""))
for row, server in enumerate(cached.values()):
    for shift, key, color, hatch in looks:
        middle, place = statistics.median(server[key]), row + shift
        left.barh(place, middle, height=0.38, color=color, hatch=hatch, edgecolor="white")
        left.text(middle, place, f" {key[:4]} {middle:,.0f}", va="center", fontsize=8)
left.set_yticks(range(len(cached)), list(cached))
left.invert_yaxis()
left.set_xlabel("milliseconds to the first token")
left.set_xlim(0, 1.35 * max(max(server["cold_ms"]) for server in cached.values()))

chunked = load.facts["chunked"]
name = "vllm" if "vllm" in chunked else next(iter(chunked))
shown = chunked[name]
ways = (("whole", "-", "prompt in one step"), ("chunked", "--", "prompt in chunks"))
for key, style, words in ways:
    gaps, arrived = shown[key]["itl_ms"], shown[key]["arrived_at"]
    around = [n for n in range(arrived - 8, arrived + 13) if 0 <= n < len(gaps)]
    places = [n - arrived for n in around]
    right.plot(places, [gaps[n] for n in around], style, lw=2, label=words)
right.axvline(0, color="black", lw=1, ls=":")
right.set_xlabel("tokens after the long prompt arrived")
right.set_ylabel("gap to the token before (ms)")
right.set_ylim(0)
right.set_title(name + (" (replayed)" if shown["origin"] else ""), loc="left")
right.legend(frameon=False, fontsize=8)
for panel in (left, right):
    panel.spines[["top", "right"]].set_visible(False)
fig.tight_layout()

# %% exercise 5.14

# %% [markdown]
# ## What to remember
#
# - A step costs about the same with one request as with sixteen. Keep the slots full.
# - Static batching pays for the longest of its batch, continuous batching for the mean. The gain is
#   the ratio of the two, so it comes from the spread of the lengths.
# - Paging makes slots: it reserves nothing. A published ratio is usually slots, engine and lengths
#   in one number. Ask for its conditions.
# - With one user there is nothing to share. What an engine still gains is its faster code, so ask
#   for whom a speed-up was measured.
# - An interval needs pairs, and at least five of them. One run is an anecdote.
# - TTFT waits in the queue; ITL is disturbed by other people's prompts. Queue: more slots. Shared
#   prompts: prefix caching. Spikes: chunked prefill.
#
# **What is still missing:** how attention itself is computed, and how to get more than one token out
# of a step (Lab 06), how requests arrive over a day (Lab 07), and what it costs (Lab 08).
#
# ### Your own use case
#
# The case that you wrote down in Lab 00, priced again. Its batch is the number of slots that its
# cache has room for.

# %% id="reprice"
lab.reprice()

# %% id="progress"
lab.progress()
