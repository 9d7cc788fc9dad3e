# %% [markdown]
# # Lab 04 · Quantization
#
# Decode waits for bytes. So store each weight in fewer of them: 8 bits, 4, even 2. The model gets
# smaller at once. Whether it also gets faster, and how much worse it gets, are two questions that
# people answer by hearsay. In this lab you answer them with numbers.
#
# **About 90 minutes.** You need Labs 01 and 02, and NumPy at the level of `max(axis=1)` and
# `reshape`.
#
# When you are done you can
#
# - quantize a matrix to 8 and to 4 bits, and state a bound for the error
# - say what fewer bytes can buy at most, and when that melts away
# - measure what a format costs in quality, with an interval, and decide by a budget
# - tell why one engine turns fewer bytes into speed and another does not
#
# Everything works as before: replace the `...`, run the cell, run the check. Hints are free
# (`lab.hint("4.7")`). The numbers of the exercises are names, not an order.

# %% setup
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.ticker import FixedLocator, NullLocator

from labkit import Catalog, Lab, Q, bench
from labkit.sizing import kv_bytes_per_token, resident_weight_bytes

catalog = Catalog.load()
bf16, int8, int4 = catalog.format("bf16"), catalog.format("int8"), catalog.format("int4")

lab = Lab("04")

# %% [markdown]
# ## A grid for numbers
#
# Take a ruler with evenly spaced marks and move each weight to the nearest mark. Then it is enough
# to store *which* mark it was, a small integer, and once for all of them how far apart the marks
# are. That distance is the **scale**:
#
# > weight ≈ integer · scale
#
# *Symmetric* means that the ruler reaches equally far to both sides, and its middle is zero. With
# 8 bits the integers go from −127 to 127. To use all of them, the largest weight gets the 127:
#
# > scale = largest |weight| ÷ 127
#
# A weight is moved by half a scale at most. That is a promise you can keep: **|w − ŵ| ≤ scale ÷ 2**,
# where ŵ is what the integer stands for. Here are seven weights on a coarse ruler, with 3 bits
# (−3 to 3).

# %% id="ruler"
weights = np.array([-0.81, -0.42, -0.13, 0.05, 0.30, 0.48, 0.90])
scale = np.abs(weights).max() / 3
integers = np.round(weights / scale)

fig, ruler = plt.subplots(figsize=(8, 1.7))
for mark in range(-3, 4):
    ruler.plot([mark * scale] * 2, [-0.08, 0.08], color="#57606a", lw=2)
    ruler.text(mark * scale, -0.3, f"{mark}", ha="center")
for w, q in zip(weights, integers):
    ruler.annotate(
        "", (q * scale, 0.06), (w, 0.6), arrowprops={"arrowstyle": "->", "color": "#0969da"}
    )
    ruler.plot(w, 0.62, "o", color="#0969da")
    ruler.text(w, 0.75, f"{w:.2f}", ha="center", fontsize=9)
ruler.set_ylim(-0.45, 1.0)
ruler.axis("off")
ruler.set_title(f"One step is {scale:.2f}; nothing moves farther than {scale / 2:.2f}", loc="left")
fig.tight_layout()

# %% [markdown]
# ### Who shares a scale?
#
# A weight matrix has a row for each of its outputs, and some rows hold larger numbers than others.
# If the whole matrix shares one scale, the largest row dictates the step, and the small rows are
# rounded to a few integers. So each row, or *channel*, gets a scale of its own. It costs one number
# per row.

# %% exercise 4.7 given=false

# %% [markdown]
# Try it on a matrix that is easy, and on one that is not. In the second one a few weights are far
# larger than the rest. Trained models have such *outliers*, in a small number of places.

# %% id="outliers"
rng = np.random.default_rng(4)
easy = rng.standard_normal((64, 256)) * rng.uniform(0.01, 0.05, (64, 1))
hard = easy.copy()
spots = rng.choice(hard.size, 40, replace=False)
hard.flat[spots] = np.sign(hard.flat[spots]) * rng.uniform(0.8, 1.2, 40)


def error(w, restored):
    """Root mean square of what was lost, as a share of the weights' own."""
    return np.sqrt(np.mean((w - restored) ** 2) / np.mean(w**2))


for name, w in (("easy", easy), ("with outliers", hard)):
    found = quantize_rows(w)
    if found is ...:
        print("Write quantize_rows() in exercise 4.7 first. Then run this cell again.")
        break
    q, scale = found
    one = np.abs(w).max() / 127
    whole = np.round(w / one) * one
    restored = q * np.reshape(scale, (-1, 1))
    print(
        f"{name:<14} one scale for all: {error(w, whole):6.2%}    one per row: {error(w, restored):6.2%}"
    )

# %% [markdown]
# At 8 bits even the outliers are bearable. At 4 bits only 15 integers are left, and one outlier in a
# row of 256 makes zeros of nearly all its neighbours. The remedy is to share among fewer: a
# **group** of 32 or 128 neighbours gets a scale of its own. An outlier then spoils its group only.

# %% exercise 4.10 given=false

# %% [markdown]
# What that buys, on the matrix with outliers:

# %% id="groups-figure"
groups = [256, 128, 64, 32, 16]
if quantize_groups(hard, 32) is ...:
    print("Write quantize_groups() in exercise 4.10 first. Then run this cell again.")
else:
    one = np.abs(hard).max() / 7
    labels, errors = ["all"], [error(hard, np.round(hard / one) * one)]
    for group in groups:
        q, scale = quantize_groups(hard, group)
        parts = q.reshape(64, -1, group) * np.reshape(scale, (64, -1, 1))
        labels.append(f"{group}" if group < 256 else "256\n(a row)")
        errors.append(error(hard, parts.reshape(hard.shape)))
    fig, bars = plt.subplots(figsize=(8, 2.8))
    bars.bar(labels, [100 * e for e in errors], color="#0969da")
    for place, value in enumerate(errors):
        bars.text(place, 100 * value, f"{value:.1%}", ha="center", va="bottom", fontsize=9)
    bars.set_xlabel("weights that share a scale")
    bars.set_ylabel("error (% of the weights)")
    bars.spines[["top", "right"]].set_visible(False)
    bars.margins(y=0.15)
    fig.tight_layout()

# %% [markdown]
# ## What it costs in bytes
#
# Smaller groups are more exact, and they have more scales. The scales are stored too.

# %% exercise 4.1

# %% [markdown]
# Formats differ in the integers, in the group, and in what a group stores. *Zero point* and
# *minimum* are two ways to let a ruler lie off-centre.
#
# | Format | Integers | Group | A group stores | Bits per weight | Comes as |
# |---|---|---|---|---|---|
# | INT8 | 8 bits | a row | FP16 scale | 8, and a little | W8A16 checkpoints, bitsandbytes |
# | GPTQ, AWQ | 4 bits | 128 | FP16 scale, zero point | your answer | checkpoints for GPUs |
# | NF4 | 4 bits | 64 | scale | 4.1 to 4.5 | bitsandbytes; the marks are not evenly spaced |
# | Q8_0 | 8 bits | 32 | FP16 scale | 8.5 | GGUF files, llama.cpp |
# | Q4_0 | 4 bits | 32 | FP16 scale | 4.5 | GGUF files |
# | Q4_1 | 4 bits | 32 | FP16 scale, FP16 minimum | 5 | GGUF files |
# | FP8 (E4M3) | a small float | a row or all | scale | 8, and a little | checkpoints for newer GPUs |
#
# *W8A16* says: 8-bit weights, 16-bit activations. *Activations* are the numbers that pass through
# the model. They stay as they are in almost all of these formats, and so does the arithmetic.
#
# **Not every weight is quantized.** GPTQ and AWQ take the matrices in the layers. The two tables
# of the vocabulary stay at 16 bits, and for a model with a large vocabulary that shows. (GGUF files
# quantize the tables as well.)

# %% id="checkpoints"
print("                 BF16     INT4   INT4 if everything had 4 bits   smaller by")
for name in ("llama-2-7b", "llama-3-8b", "qwen2.5-7b", "llama-2-13b", "llama-3-70b"):
    spec = catalog.model(name)
    whole, small = (resident_weight_bytes(spec, fmt) / 1e9 for fmt in (bf16, int4))
    print(
        f"{name:<12} {whole:6.2f} GB {small:5.2f} GB {spec.params.total / 2e9:26.2f} GB"
        f"{whole / small:16.2f}×"
    )

# %% [markdown]
# ## What it can buy
#
# At batch 1 decode takes as long as it takes to stream the weights (Lab 01). Then fewer bytes
# should be just as much faster. How much is that at most, for a 7B model in INT4? Guess first: **how
# many times faster than BF16**, and how sure you are to be within a factor of 1.25.

# %% predict 4.4 value=4 confidence=50

# %% exercise 4.4

# %% [markdown]
# ### Users and contexts
#
# The bound of 4.4 is for one user who has not said anything yet. With more users the caches are read
# as well (Lab 02), and no weight format makes them smaller.

# %% exercise 4.9 given=false

# %% [markdown]
# Your function, for Llama-2-7B and for Llama-3-8B with 1,024 tokens of context each. The first has
# a large cache, the second shares heads.

# %% id="bound-figure"
batches = [1, 2, 4, 8, 16, 32, 64]
if speedup_bound(1, 1, 4, 1, 1, 1) is ...:
    print("Write speedup_bound() in exercise 4.9 first. Then run this cell again.")
else:
    fig, curves = plt.subplots(figsize=(8, 3.2))
    for name, style in (("llama-2-7b", "o-"), ("llama-3-8b", "s--")):
        spec = catalog.model(name)
        rest = spec.params.head + spec.params.other
        for fmt, color in ((int4, "#0969da"), (int8, "#bc4c00")):
            bounds = [
                speedup_bound(
                    spec.params.linear,
                    rest,
                    fmt.bits_per_weight,
                    batch,
                    1024,
                    kv_bytes_per_token(spec),
                )
                for batch in batches
            ]
            curves.plot(
                batches, bounds, style, color=color, label=f"{spec.name}, {fmt.name.upper()}"
            )
            if name == "llama-2-7b" and fmt is int4:
                at_16 = bounds[batches.index(16)]
    curves.axhline(1, color="#57606a", lw=1)
    curves.set_xscale("log", base=2)
    curves.set_xticks(batches, [str(batch) for batch in batches])
    curves.set_xlabel("batch (sequences, 1,024 tokens each)")
    curves.set_ylabel("speed-up, at most (×)")
    curves.legend(frameon=False, fontsize=9)
    curves.spines[["top", "right"]].set_visible(False)
    fig.tight_layout()
    print(f"Llama-2-7B in INT4 at batch 16: {at_16:.2f}× at most.")

# %% [markdown]
# *Always quantize, four times cheaper*: refuted as a speed. The factor holds for the **size** of the
# weights. The step is a sum of weights and caches, and only one of the two shrinks.
#
# ### The other roof
#
# There is a second limit. Arithmetic does not get less: a 4-bit weight is turned into FP16 and
# multiplied as before. So the compute roof stays where it is, and you meet it sooner.

# %% exercise 1.3

# %% [markdown]
# *Prefill*, reading the prompt, is a batch of as many rows as the prompt has tokens. A prompt of a few
# hundred tokens lies beyond both knees, so W4A16 gains nothing there.
#
# ### What somebody measured
#
# A published benchmark ran Llama-2-7B on one A10G, in FP16 and in INT4 (GPTQ), with 1 to 20 users at
# once. **Before you look: with 20 users, which of the two takes longer for a token?**

# %% id="published"
points = bench.int4_under_load()
fig, panel = plt.subplots(figsize=(8, 3.2))
measured = {}
for weights_in, style in (("FP16", "o-"), ("INT4 (GPTQ)", "s--")):
    rows = [point for point in points if point.weights == weights_in]
    measured[weights_in] = {row.users: row.tpot_ms for row in rows}
    panel.plot([r.users for r in rows], [r.tpot_ms for r in rows], style, label=weights_in)
panel.set_xlabel("users at once")
panel.set_xticks([1, 5, 10, 20])
panel.set_ylabel("time per output token (ms)")
panel.set_ylim(bottom=0)
panel.legend(frameon=False)
panel.spines[["top", "right"]].set_visible(False)
panel.set_title(f"{points[0].model} on one {points[0].accelerator}, {points[0].engine}", loc="left")
fig.tight_layout()
for users in measured["FP16"]:
    gain = measured["FP16"][users] / measured["INT4 (GPTQ)"][users]
    print(f"users at once: {users:>2}   INT4 is {gain:.2f} times as fast as FP16")
print(f"Source: {points[0].cite()}")

# %% [markdown]
# With one user INT4 is one and a half times as fast: the chapter's *1.5×*, and far from the bound of
# 4.4. With ten users it is behind, and your knee of 1.3 promised more. The likely reason: the ideal
# kernel of 1.3 turned 4-bit numbers into FP16 for nothing. A real one spends time on it, and many
# kernels of 2023 gave up on small numbers beyond a handful of rows: they wrote out the whole matrix
# in FP16 and multiplied that. Newer ones (Marlin and its kin) unpack while they wait for memory, and
# are built to keep the gain for larger batches. **The format is a promise; the kernel keeps it or
# does not.** You will see it on your own machine.
#
# ## Measure
#
# `SmolLM2-135M` again. Quality is measured as **perplexity**: the model reads a text, and at each
# token we note which probability it had given to the token that really comes. (The text is from
# Python's manual. The model may have met it in training; what counts here is that all formats read
# the same pages.) The *loss* is −ln of that probability, in *nats*, averaged over all tokens. Perplexity
# is `exp(loss)`: a model of perplexity 20 is on average as unsure as if it chose among 20 tokens.
# Lower is better.

# %% id="perplexity"
for loss in (0.0, 1.0, 2.0, 3.0):
    print(f"a loss of {loss:.1f} nats is a perplexity of {np.exp(loss):5.1f}")

# %% [markdown]
# It is `exp`, not `2 **`: the loss is in nats, with the natural logarithm.
#
# ### Predict, then measure
#
# Your machine runs this model in two engines: in plain PyTorch, operation by operation (*eager*),
# and in llama.cpp, a program written for quantized models. Formats of fewer bytes than FP32 are timed
# in both. **In which engine is every smaller format faster?** Say `"both"`, `"llama"`, `"torch"` or
# `"neither"`, and how sure you are (25 = a guess among four, 100 = certain). *Faster* means at least
# 1.25 times as fast as FP32 in the same engine. Nobody grades this; exercise 4.14 shows what became
# of it.

# %% predict 4.14 value="both" confidence=60

# %% exercise 4.11 given=false

# %% id="table"
record = bench.quantization(replay=True) if quantized is ... else quantized
formats = bench.format_points(record)


def one_token(point, engine):
    """Time of one token in ms: CPU time on a CPU, wall time on a GPU. None where it was not run."""
    on_cpu = record.facts.get("device", "cpu") == "cpu"
    return getattr(point, f"{engine}_cpu_ms" if on_cpu else f"{engine}_ms")


def ms(value):
    """A time, or a dash where this format was not run in that engine."""
    return f"{value:8.1f}" if value is not None else f"{'–':>8}"


print(f"{'':<30}{'bits':>6}{'MB':>8}{'perplexity':>12}{'torch ms':>10}{'llama.cpp ms':>14}")
for point in formats:
    shown = f"{point.perplexity:,.{2 if point.perplexity < 1e4 else 0}f}"
    print(
        f"{point.label:<30}{point.bits_per_weight:>6.1f}{point.weight_bytes / 1e6:>8.0f}"
        f"{shown:>12}  {ms(one_token(point, 'torch'))}      {ms(one_token(point, 'llama'))}"
    )
print(record.origin())

# %% [markdown]
# Read the columns. *Bits* are those of a weight in the matrices, scales included. *MB* are all weights:
# a fifth of this small model is embedding, which stays at 8 bits or more. *ms* is the time of one
# token at batch 1, on a CPU in CPU time. A dash: not run in that engine here. *RTN* is round to
# nearest, as in 4.10, in groups of 64 (*g64*) that store a step and a minimum. The perplexity is that
# of the rounded weights in FP32 arithmetic, except for bitsandbytes, which runs as it is. Do not read
# much into its second decimal: by chance a format may even come out better than FP32.
#
# And one row is odd.

# %% exercise 4.12

# %% [markdown]
# That is a trap for real benchmarks too. *Compared with what?* is the first question to ask of a
# quality number. Where only a quantized copy of a model can be had, say so, and call a loss what it
# is: extra loss on top of the copy's.
#
# ### How sure?
#
# Perplexity is an average over some pages. On other pages it would be another number. So a
# difference of two perplexities needs an interval before anyone decides by it.
#
# The record holds the loss of each of its windows of text, the same windows for every format. How
# hard a window is has nothing to do with the format, but it makes most of the scatter. Look at the
# difference within each window, and that scatter is gone:

# %% id="paired"
by_key = {point.key: point for point in formats}
reference = np.array(by_key["fp32"].nll)
small = np.array(by_key["q4_0"].nll)
order = np.argsort(reference)

fig, (left, right) = plt.subplots(1, 2, figsize=(9, 3.0))
left.plot(reference[order], "o-", ms=4, label="FP32 (reference)")
left.plot(small[order], "s--", ms=4, label="Q4_0")
left.set_ylabel("loss (nats per token)")
left.set_title("two lists", loc="left")
left.legend(frameon=False, fontsize=9)
right.plot((small - reference)[order], "D", color="#1a7f37", ms=4)
right.axhline(0, color="#57606a", lw=1)
right.set_title("one list of differences", loc="left")
right.set_ylabel("difference (nats per token)")
spread = np.ptp(reference)
right.set_ylim(-0.15 * spread, 0.85 * spread)
for panel in (left, right):
    panel.set_xlabel("window of text, easy to hard")
    panel.spines[["top", "right"]].set_visible(False)
fig.tight_layout()

# %% exercise 4.13

# %% [markdown]
# ### Decide
#
# *Always INT8 at least, INT4 for cost*, says the chapter, and in the same list: *measure the
# accuracy loss before deploying INT4*. The second sentence is the better one. Nobody but you can say
# how much loss is too much. But once you have said it, the numbers decide.
#
# One thing first: write the budget down **before** you look at the list.

# %% exercise 4.8

# %% [markdown]
# ### The cliff
#
# Each bit less halves the number of marks on the ruler. From 16 bits to 8 nothing happens. Somewhere
# below 4 the model stops being one.

# %% id="cliff"
fig, cliff = plt.subplots(figsize=(8, 3.0))
keys = [key for key in ("bf16", "q8_0", "q4_0", "rtn4", "rtn3", "rtn2") if key in by_key]
for place, key in enumerate(keys):
    point = by_key[key]
    cliff.bar(place, point.perplexity, color="#0969da", hatch="//" if point.kind == "rtn" else "")
    shown = f"{point.perplexity:,.1f}" if point.perplexity < 1000 else f"{point.perplexity:,.0f}"
    cliff.text(place, point.perplexity * 1.1, shown, ha="center", va="bottom", fontsize=9)
cliff.axhline(by_key["fp32"].perplexity, color="#bc4c00", ls="--", label="the reference")
cliff.set_yscale("log")
cliff.set_ylim(top=4 * max(by_key[key].perplexity for key in keys))
names = [f"{p.bits} bits,\nnearest" if p.kind == "rtn" else p.label for p in map(by_key.get, keys)]
cliff.set_xticks(range(len(keys)), names)
cliff.set_ylabel("perplexity (log scale)")
cliff.legend(frameon=False)
cliff.spines[["top", "right"]].set_visible(False)
fig.tight_layout()

# %% [markdown]
# Two remarks. This is *round to nearest*, the plainest way; GPTQ and AWQ choose the rounding so that
# the outputs suffer less, and lose less at the same bits. And small models suffer more than large
# ones: this one has few weights to spare.
#
# ## Does it get faster?
#
# The centre of this lab. Memory-bound means: time follows bytes. Half the bytes, twice the speed. So
# take your own times.

# %% exercise 4.14

# %% [markdown]
# Now against the bandwidth line. If time followed bytes, every point would lie on the dashed line
# through FP32: twice to the left, twice as low.

# %% id="bandwidth-line"
fig, plane = plt.subplots(figsize=(8, 4))
for engine, marker, color in (("torch", "s", "#bc4c00"), ("llama", "o", "#0969da")):
    timed = [p for p in formats if one_token(p, engine) is not None]
    if not timed:
        print(f"This record has no times of {engine}: {record.facts['left_out'].get(engine, '')}")
        continue
    first = timed[0]
    start = one_token(first, engine)
    ends = [min(p.weight_bytes for p in timed), first.weight_bytes]
    plane.plot(
        [b / 1e6 for b in ends], [start * b / first.weight_bytes for b in ends], "--", color=color
    )
    name = "eager torch" if engine == "torch" else "llama.cpp"
    plane.plot(
        [p.weight_bytes / 1e6 for p in timed],
        [one_token(p, engine) for p in timed],
        marker,
        color=color,
        ms=8,
        label=name,
    )
    for p in timed:
        value = one_token(p, engine)
        # The lines rise to the right and pass below most points; FP16 in torch lies on its line,
        # and FP32 at the end of it.
        shift = (8, -12) if (engine, p.key) == ("torch", "fp16") else (-5, 8)
        plane.annotate(
            p.key,
            (p.weight_bytes / 1e6, value),
            xytext=shift,
            textcoords="offset points",
            fontsize=8,
        )
        promised = first.weight_bytes / p.weight_bytes
        print(
            f"{name:<12} {p.label:<22} {promised:4.1f}× fewer bytes, {start / value:4.2f}× as fast: "
            f"{start / value / promised:4.0%} of the promise"
        )
plane.set_xscale("log")
plane.set_yscale("log")
for axis, marks in (
    (plane.xaxis, (75, 100, 150, 200, 300, 400, 600)),
    (plane.yaxis, (5, 10, 20, 40, 80)),
):
    axis.set_major_locator(FixedLocator(marks))
    axis.set_major_formatter("{x:g}")
    axis.set_minor_locator(NullLocator())
plane.margins(0.09, 0.12)
plane.set_xlabel("weights (MB)")
plane.set_ylabel("time of one token (ms)")
plane.legend(frameon=False)
plane.grid(which="both", alpha=0.2)
fig.tight_layout()

# %% [markdown]
# Why points of the same size lie so far apart. A format is a way to store. What takes time is the
# *kernel* that multiplies with it, and kernels do it in two ways:
#
# - read the small numbers and unpack them in registers, in the middle of the multiplication. Nothing
#   wide is ever written, so fewer bytes are less time. llama.cpp has such a kernel for each format.
# - turn the whole matrix into wide numbers first, **write** it to memory and **read** it again. That
#   moves more bytes than FP32 alone did.
#
# In eager torch it depends on the format and on the machine which of the two you get. bitsandbytes
# 0.50 has a 4-bit kernel of the first kind for CPUs with AVX-512 BF16. Elsewhere NF4 goes the second
# way. Its INT8 rounds the activations too, at every product, sets outliers aside and scales back: for
# a single row that is more work than it saves. And whether torch's 16-bit products are the fast ones
# differs from CPU to CPU. None of this stands in a format's name.
#
# Why llama.cpp leaves the line as well: part of a step is no reading of weights. Attention, norms and
# unpacking do not shrink. Once reading is down to a third, they are what is left. It is the same law
# as everywhere: what you did not speed up is what you wait for. And its kernels are not all equally
# good: compare Q4_1 with Q8_0 in your list.
#
# So the right question about a format is not *how many bits?* but *which kernel, on which chip, at
# which batch?*
#
# ### One picture to decide by

# %% exercise 4.15

# %% [markdown]
# ## The cache can be quantized too
#
# Where users are many and contexts are long, the cache is the larger part of a step, and weight
# formats do not touch it. So engines offer a small cache: in vLLM `--kv-cache-dtype fp8`. Its
# tokens are rounded as they are stored, and unpacked when attention reads them. Your record tried
# two formats.

# %% id="kv-cache"
caches = record.facts["kv"]
print(f"{'cache':<34}{'B/token':>9}{'smaller':>9}{'perplexity':>12}{'error of attention':>20}")
for cache in caches.values():
    worst = max(cache["attention_error"], default=0)
    print(
        f"{cache['label']:<34}{cache['bytes_per_token']:>9,}"
        f"{caches['fp32']['bytes_per_token'] / cache['bytes_per_token']:>8.1f}×"
        f"{cache['perplexity']:>12.3f}{worst:>20.2%}"
    )

# %% [markdown]
# The *error of attention* is that of attention's output, as a share of the output itself, in the layer
# where it is largest. INT8 with a scale for each token and head costs next to nothing in quality.
# FP8 (*E4M3*: four bits of exponent, three of mantissa) has no scale here, and only three bits to be
# exact with: its error is larger. An average over a page may hide what a long answer feels. Test on
# your own task.
#
# A published chapter says that *an FP8 cache needs Hopper or Ada, Ampere does INT8 only*. Half
# right, and the halves are worth keeping apart:
#
# - the **error** of a format is the same everywhere. You have just measured it on your machine, which
#   need not know FP8 at all;
# - **storing** FP8 needs no special silicon: one byte is one byte. In vLLM 0.32 one attention
#   back end keeps an FP8 cache on Ampere (an A10G, an A100), others ask for compute capability 8.9
#   or 9.0 (read in its source, not tried). Which one you get depends on the version;
# - **multiplying** in FP8 is what Ada and Hopper brought. Only there do FP8 weights and FP8
#   activations (W8A8) raise the compute roof.

# %% id="fp8"
fp8 = by_key["fp8"]
native = record.facts["fp8_native"]
print(
    f"FP8 E4M3 weights: perplexity {fp8.perplexity:.2f}, reference {by_key['fp32'].perplexity:.2f}."
)
print("This device multiplies FP8 itself." if native else "This device does not multiply FP8.")
print("Catalogue: dense peak in FP8 over FP16")
for name in ("A10G", "L4", "L40S", "A100-40GB", "H100"):
    chip = catalog.accelerator(name)
    own = chip.peak_flops("fp8") > 0
    ratio = f"{chip.peak_flops('fp8') / chip.peak_flops('fp16'):.1f}×" if own else "no FP8 units"
    print(f"  {name:<10} {ratio}")

# %% [markdown]
# ## With a GPU of your own
#
# On an NVIDIA GPU the torch columns of your record come from the GPU, and bitsandbytes has kernels
# there that unpack while they multiply. A model of this size is mostly Python on a big GPU, so
# the differences may drown: compare with what `bench.big_decode()` said in Lab 01. The bound of 4.9
# and the knee of 1.3 are for models that fill the card.
#
# ## What to remember
#
# - Weight ≈ integer · scale, and |w − ŵ| ≤ scale ÷ 2. Who shares a scale decides how outliers hurt.
# - INT4 is 4.16 bits on the matrices, and 16 on the tables. 7B is 3.89 GB, not 3.5.
# - The speed-up is bounded by bytes: 3.64× at batch 1, less with every user and every token of
#   context. Where even 16-bit weights are past their knee there is none.
# - The bound is kept by kernels, or not. llama.cpp keeps a good part of it in most formats, eager torch
#   in some; a GPU kernel of 2023 lost to FP16 at ten users.
# - Loss is relative to a reference. Ask what the reference was.
# - Differences on the same text are paired. Budget first, then the upper end of the interval.
# - The cache has a format of its own, and at many users it matters more than the weights'.
#
# **What is still missing:** how requests share the engine (Lab 05), and what a format does to the
# price per token (Lab 08).

# %% [markdown]
# ### Your own use case
#
# The case that you wrote down in Lab 00, priced again. If it says `weights = "bf16"`, try
# `"int8"` and `"int4"` in `my_workload.toml` beside this notebook: first watch whether the model
# fits a smaller machine, then the price.

# %% id="reprice"
lab.reprice()

# %% id="progress"
lab.progress()
