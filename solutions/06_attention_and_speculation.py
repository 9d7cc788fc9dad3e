# %% [markdown]
# # Lab 06 · Attention and speculative decoding
#
# Two ideas made large models faster without changing a single answer. The first: never write down
# what you can work through in pieces. The second: let a cheap guess run ahead, and have the large
# model check it. In this lab you build both with NumPy, and then measure both on a real model.
#
# **About 75 minutes.** You need Labs 01 and 02, and NumPy at the level of matrix products.
#
# When you are done you can
#
# - say what attention holds in memory, and compute it exactly without holding it
# - read a profile before you optimise anything
# - say what a draft gains, what it costs, and how far to draft
# - repair a decoder so that its text stays the target's own
# - tell from your own measurement when speculation stops paying
#
# Everything works as before: replace the `...`, run the cell, run the check. Hints are free
# (`lab.hint("6.1")`). The numbers of the exercises are names, not an order.

# %% setup
import tracemalloc

import matplotlib.pyplot as plt
import numpy as np

from labkit import Catalog, Lab, Q, bench
from labkit.sizing import kv_bytes_per_sequence, resident_weight_bytes, streamed_weight_bytes

catalog = Catalog.load()
bf16, fp16, int4 = catalog.format("bf16"), catalog.format("fp16"), catalog.format("int4")

lab = Lab("06")

# %% [markdown]
# ## What attention holds
#
# One head of attention, in three lines. Each token brings three vectors: a *query*, a *key* and a
# *value*. Each query is compared with each key: that gives a matrix of *scores*. A softmax turns
# each row into weights that add up to 1. The answer is the weighted mean of the values. (`@` is the
# matrix product.)


# %% id="plain-attention"
def plain_attention(q, k, v):
    """Softmax attention of one head: q [queries, d], k [keys, d], v [keys, d_v]."""
    scores = q @ k.T / np.sqrt(q.shape[1])
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    return weights @ v / weights.sum(axis=1, keepdims=True)


rng = np.random.default_rng(6)
tokens, d = 24, 8
q, k, v = (rng.standard_normal((tokens, d)) for _ in range(3))

fig, (left, middle, right) = plt.subplots(
    1, 3, figsize=(8.5, 3.3), gridspec_kw={"width_ratios": [3, 1, 1]}
)
left.imshow(q @ k.T / np.sqrt(d), cmap="Greys")
left.set_title("scores = q kᵀ / √d: a number per pair", loc="left", fontsize=10)
left.set_xlabel("key")
left.set_ylabel("query")
for edge in range(8, tokens, 8):
    left.axvline(edge - 0.5, color="#bc4c00", lw=1.5, ls="--")
for panel, values, name in ((middle, v, "v"), (right, plain_attention(q, k, v), "the answer")):
    panel.imshow(values, cmap="Greys")
    panel.set_title(name, loc="left", fontsize=10)
    panel.set_xticks([])
    panel.set_yticks([])
fig.tight_layout()

# %% [markdown]
# The answer is as narrow as v. The matrix in between is not: it grows with the **square** of the
# number of tokens. (The dashed lines cut it into blocks of keys. You will need them soon.)
#
# In a decoder a token may not look at later ones, so half of the matrix is masked. Naive attention
# computes it all the same.

# %% exercise 6.1

# %% exercise 6.9

# %% [markdown]
# The square does win in the end. This is Llama-3.1-8B, which allows long prompts, with all parts in
# BF16. Both axes are logarithmic.

# %% id="growth"
llama8 = catalog.model("llama-3.1-8b")
heads = llama8.attention[0].heads
lengths = [2**n for n in range(9, 18)]
cache = [kv_bytes_per_sequence(llama8, bf16, n) / 1e9 for n in lengths]
scores = [heads * n * n * 2 / 1e9 for n in lengths]
weights = resident_weight_bytes(llama8, bf16) / 1e9

fig, ax = plt.subplots(figsize=(8, 3.6))
ax.plot(lengths, [weights] * len(lengths), ":", lw=2, color="black", label="weights")
ax.plot(lengths, cache, "--", lw=2, color="#0969da", label="KV cache: n")
ax.plot(lengths, scores, "-", lw=2, color="#bc4c00", label="one layer's scores: n²")
ax.set_xscale("log", base=2)
ax.set_yscale("log")
ax.set_xticks(lengths, [f"{n:,}" for n in lengths], fontsize=8)
ax.set_xlabel("prompt (tokens)")
ax.set_ylabel("GB (1e9 bytes)")
ax.grid(alpha=0.3)
ax.legend(frameon=False)
ax.spines[["top", "right"]].set_visible(False)
fig.tight_layout()

# %% [markdown]
# ## Attention in blocks
#
# The answer for one query is a weighted mean. A mean can be taken piece by piece: keep a sum and
# divide at the end. Only the softmax stands in the way. Its weights are exp(score − largest score),
# and the largest score is not known before all keys have been seen.
#
# The way out is called *online softmax*. Use the largest score **so far**. When a later block brings
# a larger one, all earlier weights were too large by the same factor, exp(new − old). So multiply
# the sums by exp(old − new), and go on.
#
# One query, four keys, in two blocks of two:

# %% id="online-softmax"
two_blocks = [([1.0, 3.0], [10.0, 20.0]), ([2.0, 6.0], [30.0, 40.0])]  # (scores, values)

largest, weight_sum, value_sum = -np.inf, 0.0, 0.0
for some_scores, some_values in two_blocks:
    new = max(largest, *some_scores)
    shrink = np.exp(largest - new)
    some_weights = np.exp(np.array(some_scores) - new)
    weight_sum = weight_sum * shrink + some_weights.sum()
    value_sum = value_sum * shrink + some_weights @ np.array(some_values)
    print(
        f"scores {some_scores}: largest {largest:4} → {new}, old sums × {shrink:.4f}, "
        f"sum of weights {weight_sum:.4f}, weighted sum {value_sum:.3f}"
    )
    largest = new
print(f"answer: {value_sum / weight_sum:.5f}")

at_once = np.exp(np.array([1.0, 3.0, 2.0, 6.0]) - 6)
print(f"at once: {at_once @ np.array([10.0, 20.0, 30.0, 40.0]) / at_once.sum():.5f}")

# %% [markdown]
# Three numbers per query are enough: the largest score, the sum of the weights, the weighted sum of
# the values. In your function they become three arrays, for all queries at once.

# %% exercise 6.6 given=false

# %% [markdown]
# Both ways side by side. The lines count what was allocated at once (`tracemalloc` watches every
# array that NumPy makes).


# %% id="yours-at-work"
def peak_mb(function, *args):
    """Most memory that a call held at once, in MB (1e6 bytes)."""
    tracemalloc.start()
    function(*args)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / 1e6


lengths = [256, 512, 1024, 2048]
plain, yours, apart = [], [], 0.0
for n in lengths:
    q, k, v = (rng.standard_normal((n, 64)) for _ in range(3))
    answer = block_attention(q, k, v, 64)
    if np.shape(answer) != v.shape:
        print("Write block_attention() in exercise 6.6 first. Then run this cell again.")
        break
    apart = max(apart, np.abs(answer - plain_attention(q, k, v)).max())
    plain.append(peak_mb(plain_attention, q, k, v))
    yours.append(peak_mb(block_attention, q, k, v, 64))
else:
    fig, ax = plt.subplots(figsize=(8, 3))
    ax.plot(lengths, plain, "-o", color="#bc4c00", label="plain: the whole matrix")
    ax.plot(lengths, yours, "--s", color="#0969da", label="yours: 64 keys at a time")
    ax.set_xticks(lengths)
    ax.set_xlabel("tokens")
    ax.set_ylabel("MB at once")
    ax.legend(frameon=False)
    ax.spines[["top", "right"]].set_visible(False)
    fig.tight_layout()
    print(f"largest difference between the two answers: {apart:.1e}")

# %% [markdown]
# *From O(n²) to O(n)*, says the published chapter. For memory that is right. For work it is not:
# every query still meets every key, and the number of multiplications is the same.
#
# So why is it faster as well? Because of Lab 01. The score matrix is written to memory and read
# back, and that is slow. A block is small enough to stay in the chip's cache.
#
# ## The kernels that you already have
#
# You need not install anything for this. PyTorch's `scaled_dot_product_attention` (SDPA) chooses
# among several *back ends*: `math` is the plain way, `flash` and `efficient` work in blocks, and
# transformers uses SDPA unless told otherwise. What the chapter asks for by name,
# `attn_implementation="flash_attention_2"`, is a package of its own and needs a newer GPU than a
# T4.
#
# `bench.attention()` times the back ends that exist on your machine, and then profiles one decode
# step of SmolLM2. Before you run it, think of that step: a single new token, 256 earlier ones in the
# cache. **What percentage of the step's time is attention itself?** Guess, and say how sure you are
# to be within a factor of 1.25 (10 = a guess, 100 = certain). Nobody grades this.

# %% predict 6.11 value=20 confidence=30

# %% [markdown]
# It takes about a minute. In a hurry: `attention = bench.attention(replay=True)`. After a restart of
# the kernel: `attention = bench.last("attention")` brings your own back.

# %% id="measure-attention"
attention = bench.attention()
attention

# %% id="back-ends"
sdpa = attention.facts["sdpa"]
time_of = f"{attention.facts['clock']}_ms"
fig, (left, right) = plt.subplots(1, 2, figsize=(9, 3.3))
marks = {"math": "-o", "flash": "--s", "efficient": "-.^", "cudnn": ":D"}
for name, found in sdpa["backends"].items():
    if not found["available"]:
        print(f"{name}: {found['why']}")
        continue
    left.plot(sdpa["lengths"], found[time_of], marks[name], label=name)
    if None not in found["peak_bytes"]:
        peaks = [size / 1e6 for size in found["peak_bytes"]]
        right.plot(sdpa["lengths"], peaks, marks[name], label=name)
    if name != "math":
        print(f"{name}: largest difference to math {max(found['max_difference']):.0e}")
right.plot(
    sdpa["lengths"], [size / 1e6 for size in sdpa["score_bytes"]], color="black", lw=1,
    ls=(0, (1, 3)), label="all score matrices",
)  # fmt: skip
left.set_ylabel("milliseconds" + (" of CPU time" if time_of == "cpu_ms" else ""))
right.set_ylabel("MB at once")
for panel in (left, right):
    panel.set_xlabel("tokens")
    panel.set_xscale("log", base=2)
    panel.set_yscale("log")
    panel.set_xticks(sdpa["lengths"], [f"{n:,}" for n in sdpa["lengths"]])
    panel.grid(alpha=0.3)
    panel.legend(frameon=False, fontsize=9)
    panel.spines[["top", "right"]].set_visible(False)
fig.tight_layout()
print(attention.origin())

# %% [markdown]
# That was prefill: many queries at once. Now decode. There is one query, so its scores are one row,
# and there is no square to save. What does such a step consist of?

# %% id="profile"
profile = attention.facts["profile"]
largest_last = sorted(profile["operators"], key=lambda o: o["self_ms"])
fig, ax = plt.subplots(figsize=(8, 3.6))
for row, operator in enumerate(largest_last):
    color, hatch = ("#0969da", "") if operator["computes"] else ("#8c959f", "//")
    ax.barh(row, operator["self_ms"], color=color, hatch=hatch, edgecolor="white")
    share = operator["self_ms"] / profile["profiled_ms"]
    calls = f"{operator['calls']:,} calls"
    ax.text(operator["self_ms"], row, f"  {share:.1%} of the step, {calls}", va="center", fontsize=8)
ax.set_yticks(
    range(len(largest_last)),
    [o["name"].removeprefix("aten::").strip("_")[:45] for o in largest_last],
    fontsize=8,
)
ax.set_xlim(0, 1.5 * largest_last[-1]["self_ms"])
ax.set_xlabel("milliseconds of its own (hatched: hands on or re-views, computes nothing)")
ax.set_title(f"{profile['calls']:,} operator calls for one token", loc="left", fontsize=10)
ax.spines[["top", "right"]].set_visible(False)
fig.tight_layout()
if profile["host_share"] is not None:
    print(f"outside the operators that compute (the host's share): {profile['host_share']:.0%}")

# %% [markdown]
# `mm`, `addmm`, `linear` and `matmul` are products with weights. `cat` appends to the KV cache.
# `scaled_dot_product…` is attention. The host's share is Python, and PyTorch deciding what to call.
# The profiler itself slows a step down, so read shares here, not milliseconds.

# %% exercise 6.11

# %% [markdown]
# Attention kernels pay at **prefill** and at long contexts. A decode step at short context reads
# weights, as it did in Lab 01. Each step reads them all, for a single token. What if a step could
# give more than one?
#
# ## Speculative decoding
#
# A small **drafter** guesses the next γ tokens, one after the other. Then the large **target** reads
# all of them in **one** pass. A pass gives the target's own choice after *every* token that it
# reads. So it shows where the drafter first departed from what the target would have written.
#
# - Guesses up to that place are kept: the target would have written the same.
# - At that place the target's own choice is taken. So even a useless draft gives one token per pass.
#
# Why can a pass over six tokens cost about as much as a step with one? Because both read the weights
# once, and below the knee that is what takes the time.
#
# Three quantities decide:
#
# - **α** (alpha): the chance that a drafted token is kept, if all before it were
# - **γ** (gamma): how many are drafted per round
# - **c**: what one drafted token costs, in steps of the target

# %% exercise 6.2

# %% [markdown]
# ### Toy models
#
# To write a decoder you need no large model. Here a model is a table of scores: row *t* rates every
# word as the one that follows word *t*. One pass looks up the rows of all words that it reads. This
# target knows one sentence and says it round and round. Its drafter errs after two of the words.

# %% id="toy-models"
words = "every drafted token is checked by one pass of the large model".split()
target = np.roll(np.eye(len(words)), 1, axis=1)  # after each word, the next one
draft = target.copy()
draft[words.index("by")] = np.eye(len(words))[words.index("the")]
draft[words.index("of")] = np.eye(len(words))[words.index("every")]


def choices(model, tokens):
    """One pass: the model's favourite after each of these tokens."""
    return model[list(tokens)].argmax(axis=1).tolist()


def spoken(tokens):
    """Token numbers as text."""
    return " ".join(words[t] for t in tokens)


start = words.index("token")
print("a pass that reads  :", spoken([start, start + 1, start + 2]))
print("says after each    :", spoken(choices(target, [start, start + 1, start + 2])))

# %% [markdown]
# A published chapter prints a `speculative_decode()`. It cannot run: it uses names that are never
# set. Its outline has deeper faults, and they are the usual ones. Here is a decoder that runs and
# has three of them:


# %% id="broken-decode"
def broken_decode(target, draft, prompt, new_tokens, gamma):
    """Looks reasonable. Is not."""
    text, gained = [], []
    for _ in range(new_tokens // gamma):
        proposal = []
        for _ in range(gamma):
            proposal += choices(draft, [proposal[-1] if proposal else prompt[-1]])
        said = choices(target, [prompt[-1], *proposal])
        new = [ours for ours, theirs in zip(proposal, said) if ours == theirs]
        text += new
        gained.append(len(new))
    return text, gained


alone = [start]
while len(alone) < 13:
    alone += choices(target, alone[-1:])
text, gained = broken_decode(target, draft, [start], 12, 4)
print("the target alone:", spoken(alone[1:]))
print("broken          :", spoken(text))
print("tokens per pass :", gained)

# %% [markdown]
# Look at it for a minute before you go on. Where does each round begin? Which of the proposals does
# it keep? And what does it do with the target's own choice?

# %% exercise 6.7 given=false

# %% id="yours-decoding"
written = speculative_decode(target, draft, [start], 24, 4)
right = [(start + n) % len(words) for n in range(1, 25)]
if not isinstance(written, (tuple, list)):
    print("Write speculative_decode() in exercise 6.7 first. Then run this cell again.")
elif list(written[0]) != right:
    print("That is not what the target writes alone. Mend it in exercise 6.7 first.")
else:
    text, gained = written
    print(spoken(text))
    print(f"{len(text)} tokens in {len(gained)} passes of the target: {gained}")

# %% [markdown]
# The text is the target's, word by word, and took a fraction of the passes. (With *sampling* instead
# of greedy choice there is a rule that accepts at random, and keeps the target's distribution
# exactly. Nothing is lost there either.)
#
# ### What it costs
#
# A round of γ drafts takes γ · c + 1 steps: the drafts, one after the other, and the target's pass.
# So
#
# > speed-up = (1 + α + α² + … + α^γ) ÷ (γ · c + 1)
#
# The sum is (1 − α^(γ+1)) ÷ (1 − α) for α below 1. That is Leviathan's formula (2023).

# %% exercise 6.8 given=false

# %% [markdown]
# Try it on a pair that the chapter proposes: TinyLlama drafts for Llama-2-13B, both in BF16, one GPU
# each. Steps read weights, so c is the ratio of what they read.

# %% id="tinyllama"
tiny, llama13 = catalog.model("tinyllama-1.1b"), catalog.model("llama-2-13b")
c_tiny = streamed_weight_bytes(tiny, bf16) / streamed_weight_bytes(llama13, bf16)
print(f"c = {c_tiny:.3f}")
for alpha in (0.5, 0.6, 0.7, 0.8, 0.9):
    best = best_gamma(alpha, c_tiny)
    if np.shape(best) != (2,):
        print("Write best_gamma() in exercise 6.8 first. Then run this cell again.")
        break
    print(f"α = {alpha}: draft {best[0]:>2}, {best[1]:.2f} times as fast")

a10g = catalog.accelerator("A10G")
print(
    f"Llama-2-13B in BF16: {resident_weight_bytes(llama13, bf16) / 2**30:.1f} GiB. "
    f"An A10G has {a10g.usable_bytes / 2**30:.1f} GiB."
)

# %% [markdown]
# *2 to 3 times*, says the chapter, and names no condition. The condition is α. (And its 13B does not
# fit on the one A10G that it is given.)
#
# ## A drafter that is too dear
#
# The same chapter also proposes something larger: a 7B model as the drafter on GPU 0, a 70B model as
# the target on GPUs 1 to 4 of a `g5`. First, does that exist?

# %% id="does-it-fit"
for name in ("g5.12xlarge", "g5.48xlarge"):
    host = catalog.instance(name)
    print(f"{name}: {host.accelerator_count} × {host.accelerator.name}")
llama70 = catalog.model("llama-2-70b")
room = 4 * a10g.usable_bytes
for name in ("fp16", "int4"):
    size = resident_weight_bytes(llama70, catalog.format(name))
    fits = "fits" if size < room else "does not fit"
    print(f"70B in {name.upper()}: {size / 1e9:5.1f} GB, four A10G have {room / 1e9:.1f} GB: {fits}")

# %% [markdown]
# Five GPUs: that is more than a `g5.12xlarge` has. Take five of a `g5.48xlarge`'s eight, and INT4
# for the target.

# %% exercise 6.4

# %% exercise 6.5

# %% [markdown]
# What would have helped? Any drafter with a small c. A drafter may also be one extra layer that is
# trained to guess on from the target's own hidden state. That is the idea of **EAGLE**, and of the
# **MTP** (multi-token prediction) modules that some models bring along. We do not run them here, but
# the formula knows them: they are another α and another c.

# %% id="other-drafters"
def alpha_needed(c, gain):
    """The smallest α (in hundredths) that gives this speed-up at the best γ; None if none does."""
    for hundredths in range(100):
        if best_gamma(hundredths / 100, c)[1] >= gain:
            return hundredths / 100
    return None


small7 = catalog.model("llama-2-7b")
target_ms = streamed_weight_bytes(llama70, int4) / (4 * a10g.bandwidth_bytes_per_s) * 1e3
layer = resident_weight_bytes(llama70, int4) - 2 * llama70.params.head * 2
layer_and_head = layer / llama70.layers + llama70.params.head * 2
drafters = {
    "7B in FP16, one GPU (the chapter)": streamed_weight_bytes(small7, fp16),
    "7B in INT4, one GPU": streamed_weight_bytes(small7, int4),
    "7B in INT4, on the target's four": streamed_weight_bytes(small7, int4) / 4,
    "1.1B in FP16, one GPU": streamed_weight_bytes(tiny, fp16),
    "one more layer and the head, on four": layer_and_head / 4,
}
if np.shape(best_gamma(0.8, 0.1)) == (2,):
    print(f"{'drafter of the 70B in INT4':<38}{'c':>6}{'at α = 0.8':>14}{'α for 2 times':>16}")
    for name, size in drafters.items():
        c = size / a10g.bandwidth_bytes_per_s * 1e3 / target_ms
        gamma, gain = best_gamma(0.8, c)
        needed = alpha_needed(c, 2)
        said = f"{gain:.2f} (γ = {gamma})"
        print(f"{name:<38}{c:>6.2f}{said:>14}{'none' if needed is None else needed:>16}")
else:
    print("Write best_gamma() in exercise 6.8 first. Then run this cell again.")

# %% [markdown]
# Read the last row with care: c counts the bytes only. With drafts that small, the time that a GPU
# needs to start its kernels and the links between the GPUs are no longer small.
#
# ## On your machine
#
# Now for real. `bench.speculation()` lets SmolLM2-135M decode greedily, with several drafters:
#
# - **lookup**: *prompt lookup*. It looks for the last words earlier in the text and proposes what
#   followed them there. No model at all; c is nearly 0.
# - **layers10**: the first 10 of the target's own 30 layers
# - **int8**: the target itself with INT8 weights, which are turned back into FP32 at each product.
#   An excellent guesser, but hardly cheaper than its target: the chapter's design in miniature.
#   What that makes of it, its c will say.
#
# There are two prompts. *copy* asks for a text to be repeated with one correction. *open* is the
# beginning of a story. Every text must be identical to plain greedy decoding.
#
# It takes about three minutes. In a hurry: `speculation = bench.speculation(replay=True)`. After a
# restart: `speculation = bench.last("speculation")`.

# %% id="measure-speculation"
speculation = bench.speculation()
speculation

# %% id="what-was-written"
for name, prompt in speculation.facts["prompts"].items():
    print(f"{name}: …{prompt['text'][-70:]!r}\n    → {prompt['continuation']!r}\n")

# %% id="drafters"
runs = speculation.facts["runs"]
labels = {name: found["label"] for name, found in speculation.facts["drafters"].items()}
fig, ax = plt.subplots(figsize=(8.5, 0.55 * len(labels) + 1.2))
for row, name in enumerate(labels):
    for shift, prompt, color, hatch in ((-0.2, "copy", "#0969da", ""), (0.2, "open", "#bc4c00", "//")):
        run = next(r for r in runs if (r["drafter"], r["prompt"]) == (name, prompt))
        alpha = "nothing found" if run["alpha"] is None else f"α = {run['alpha']:.2f}"
        ax.barh(row + shift, run["speedup"], height=0.36, color=color, hatch=hatch, edgecolor="white",
                label=f"{prompt} prompt" if row == 0 else None)  # fmt: skip
        said = f" {run['speedup']:.2f}  ({alpha}, {run['tokens_per_forward']:.1f} tokens per pass)"
        ax.text(run["speedup"], row + shift, said, va="center", fontsize=8,
                bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.5})  # fmt: skip
ax.axvline(1, color="black", lw=1, zorder=1.5)
costs = {name: found["c"] for name, found in speculation.facts["drafters"].items()}
ax.set_yticks(
    range(len(labels)),
    [f"{labels[n]}\nc = {costs[n]:.2g}" if costs[n] is not None else labels[n] for n in labels],
    fontsize=8,
)
ax.invert_yaxis()
ax.set_xlim(0, 1.6 * max(run["speedup"] for run in runs))
ax.set_xlabel("speed-up over plain decoding")
ax.legend(frameon=False, loc="lower right", fontsize=9)
ax.spines[["top", "right"]].set_visible(False)
fig.tight_layout()
print(speculation.origin())

# %% [markdown]
# Three lessons in one figure. A free drafter pays where the text repeats itself, and loses a little
# where it does not. A drafter that costs something and guesses badly slows things down. And being
# right is not enough: with a c near 1 even a drafter that is nearly always right gains next to
# nothing, and with a c above 1 it loses.
#
# ### The formula and your record

# %% exercise 6.13

# %% [markdown]
# What each step of the correction does, for every lookup that was measured on the copy prompt:

# %% id="formula-and-reality"
print(f"{'':<12}{'published':>11}{'with the real pass':>20}{'with real rounds':>18}{'measured':>10}")
for run in runs:
    if not run["drafter"].startswith("lookup") or run["prompt"] != "copy":
        continue
    if run["alpha"] is None or run["verify_over_step"] is None:
        continue
    gamma, alpha, pass_cost = run["gamma"], run["alpha"], run["verify_over_step"]
    per_pass = sum(alpha**i for i in range(gamma + 1))
    share = run["rounds_with_draft"] / run["target_forwards"]
    counted = run["tokens_per_forward"] / (share * pass_cost + 1 - share)
    print(
        f"{run['drafter']:<12}{per_pass / (gamma * run['c'] + 1):>11.2f}"
        f"{per_pass / (gamma * run['c'] + pass_cost):>20.2f}{counted:>18.2f}{run['speedup']:>10.2f}"
    )

# %% [markdown]
# The third column replaces α by what was counted: how many tokens a pass really gave, and how many
# of the passes had a draft at all. α assumes that each token is an independent coin. In a real text
# the right guesses come in a row, and then the copy ends or a word differs.
#
# ### When many are served
#
# So far there was one user. Lab 01 says what happens with more: a batch uses up the compute that a
# single sequence leaves idle. The record has measured that too: a step, and a pass over γ + 1 tokens,
# for many sequences at once.
#
# Guess first: **with the largest batch of your record, all of them copying, by which
# factor does prompt lookup still speed up?** Below 1 means that it slows down.

# %% predict 6.14 value=1.5 confidence=40

# %% exercise 6.14

# %% id="gain-by-batch"
batches = speculation.facts["batches"]
fig, ax = plt.subplots(figsize=(8, 3.4))
for prompt, style, color in (("copy", "-o", "#0969da"), ("open", "--s", "#bc4c00")):
    name = f"lookup{batches['gamma']}"
    run = next(r for r in runs if (r["drafter"], r["prompt"]) == (name, prompt))
    share = run["rounds_with_draft"] / run["target_forwards"]
    gains = [
        run["tokens_per_forward"] / (share * ratio + 1 - share)
        for ratio in batches["verify_over_step"]
    ]
    ax.plot(batches["batch"], gains, style, color=color, lw=2, label=f"{prompt} prompt")
    losing = [b for b, gained in zip(batches["batch"], gains) if gained < 1]
    stops = f"loses at batch {', '.join(map(str, losing))}" if losing else "never loses"
    needed = share * batches["verify_over_step"][-1] + 1 - share
    print(
        f"{prompt} prompt, {name}: {stops}. At batch {batches['batch'][-1]} a pass must give "
        f"{needed:.1f} tokens to pay; it gives {run['tokens_per_forward']:.1f}."
    )
ax.axhline(1, color="black", lw=1)
ax.set_xscale("log", base=2)
ax.set_xticks(batches["batch"], [str(b) for b in batches["batch"]])
ax.set_xlabel("batch (sequences)")
ax.set_ylabel("speed-up")
ax.set_ylim(0)
ax.legend(frameon=False)
ax.spines[["top", "right"]].set_visible(False)
fig.tight_layout()
print(speculation.origin())

# %% [markdown]
# If a curve rises before it falls, look at the times in your record: there the plain step became
# dearer, and the pass hardly did.
#
# A GPU has far more compute per byte than your CPU (Lab 01: compare the ridge points), so there the
# curve falls later. It falls all the same. That is why engines can switch speculation off when the
# batch is large.
#
# ### Everything in one figure

# %% exercise 6.15

# %% [markdown]
# ## What to remember
#
# - Naive attention holds a number per pair of tokens. In blocks, with an online softmax, it holds a
#   few numbers per query. Same answer, same work, less memory and less traffic.
# - At decode, with a short context, attention is a small part of a step. Profile first.
# - Greedy speculation never changes the text. It changes the number of passes.
# - c compares **times**, not sizes: bandwidth, number of GPUs and format all count.
# - speed-up = (1 + α + … + α^γ) ÷ (γ · c + cost of a pass). The published formula has 1 for the last
#   term.
# - Speculation spends idle compute. A full batch has none left.
#
# **What is still missing:** traffic over a day (Lab 07), and what an answer costs (Lab 08).
#
# ### Your own use case
#
# The case that you wrote down in Lab 00, priced again. Does its text repeat its prompt? Then prompt
# lookup costs one option of the engine.

# %% id="reprice"
lab.reprice()

# %% id="progress"
lab.progress()
