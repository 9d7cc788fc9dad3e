# %% [markdown]
# # Lab 01 · Own the roofline
#
# An inference chip does two things: it reads memory, and it computes. Each has a top speed.
# Which of the two holds you back decides what you should rent. In this lab you learn to tell,
# for any model on any chip, with one division. Then you measure your own machine and find out
# how far the division can be trusted.
#
# **About 60 minutes.** You need Python at the level of lists and functions. No GPU is needed.
#
# When you are done you can
#
# - compute the *arithmetic intensity* of a decode step and the *ridge point* of a chip
# - predict the highest token rate that a chip can reach with a model
# - put your own machine on the same picture as seven AWS accelerators
# - explain the gap between what you predicted and what you measured

# %% [markdown]
# ## How a lab works
#
# Each exercise has three cells: the numbers you are given, your answer, and a check.
# Replace the `...`, run the cell, run the check. A wrong answer is told which mistake makes it.
#
# - Stuck? Run `lab.hint("1.1")` in a new cell. There are three hints for each exercise, all free.
# - Units: `Q(39.5, "tok/s")`, `"39.5 tok/s"` and plain `39.5` are all read. A plain number is
#   taken in the unit that the exercise asks for.
# - You may close the laptop at any time. Your answers and your progress are kept.

# %% setup
from labkit import Catalog, Lab, Q, bench

lab = Lab("01")

# %% [markdown]
# ## Two limits
#
# A language model writes one token at a time. To write one token for one user, the chip must read
# every weight of the model once, because every weight takes part in every token. That step is
# called *decode*.
#
# How long does the reading take, and how long does the arithmetic take? Here is Mistral-7B
# (BF16) on an L4, the GPU of AWS's `g6` instances, at the datasheet's speeds.

# %% id="two-limits"
import matplotlib.pyplot as plt

from labkit.sizing import decode_flops, streamed_weight_bytes

catalog = Catalog.load()
model, chip, bf16 = catalog.model("mistral-7b"), catalog.accelerator("L4"), catalog.format("bf16")

reading_ms = 1e3 * streamed_weight_bytes(model, bf16) / chip.bandwidth_bytes_per_s
computing_ms = 1e3 * decode_flops(model) / chip.peak_flops("bf16")

fig, ax = plt.subplots(figsize=(8, 1.9))
ax.barh(["computing", "reading"], [computing_ms, reading_ms], color=["#8250df", "#0969da"])
for row, ms in enumerate([computing_ms, reading_ms]):
    ax.text(ms, row, f"  {ms:.2f} ms", va="center")
ax.set_xlabel("milliseconds for one token")
ax.set_xlim(0, reading_ms * 1.15)
ax.set_title("Mistral-7B on an L4: one token, one user", loc="left")
ax.spines[["top", "right"]].set_visible(False)
fig.tight_layout()

# %% [markdown]
# The chip can read and compute at the same time, so the longer bar counts. The arithmetic units
# wait almost all of the time. To see this coming without drawing bars, look at a single byte.

# %% exercise 1.2

# %% [markdown]
# ## The ridge point
#
# Now the chip's side. In the time in which it reads one byte, how many FLOPs could it do?
# That number belongs to the chip alone. It is called the *ridge point*, and it has the same unit
# as the intensity of your work: FLOP per byte. So you can compare the two:
#
# - intensity **below** the ridge: the work is *memory-bound*. Buy bandwidth.
# - intensity **above** the ridge: the work is *compute-bound*. Buy FLOP/s.

# %% exercise 1.1

# %% exercise 1.9

# %% [markdown]
# ## The roofline
#
# Put both limits into one function. At low intensity the speed is whatever memory can feed.
# At high intensity it is the chip's peak. Drawn on two logarithmic axes this looks like a roof:
# a slope, an edge at the ridge, and a flat top. Williams, Waterman and Patterson published it
# in 2009 under the name *roofline*.

# %% exercise 1.7 given=false

# %% [markdown]
# ## How fast can it write?
#
# Turn the picture into tokens per second. At batch 1 decode is far below every ridge, so only
# the slope matters: bytes per second over bytes per token.
#
# Be exact about the bytes. Two tables have one row per word of the vocabulary. The *input
# embedding* turns a token into a vector: one row is looked up, the rest of the table lies still.
# The *output head* scores every word: all of it is multiplied, so all of it is read.
# Llama-3's vocabulary is large, so leaving the wrong table in costs several percent.

# %% exercise 1.4

# %% [markdown]
# ### A formula that travels
#
# You will meet *"max tokens/s ≈ memory bandwidth ÷ model size"* in blog posts and books.
# You have just derived when it holds: batch 1, an empty context, and every weight used.
# The last condition fails for a *mixture of experts*. Such a model stores many feed-forward
# blocks per layer, the experts, and a small router sends each token to a few of them.

# %% exercise 1.10

# %% [markdown]
# ### More than one user
#
# So far one pass over the weights served one token. With a batch of 16 sequences the same pass
# serves 16 tokens. The bytes stay the same; the FLOPs grow sixteenfold; the intensity grows too.

# %% exercise 1.11 given=false

# %% [markdown]
# This is what the function says for one model on two chips: tokens per second of all sequences
# together, against the batch. The dots mark the *knee*, where the compute roof is reached.
# The KV cache is still left out. Lab 02 puts it in, and for long contexts the knee disappears.

# %% id="knees"
from labkit.sizing import critical_batch, decode_ceiling_tokens_per_s

llama = catalog.model("llama-3-8b")
batches = [round(2 ** (n / 8)) for n in range(81)]

fig, ax = plt.subplots(figsize=(8, 4))
for name, style in (("A10G", "-"), ("H100", "--")):
    chip = catalog.accelerator(name)
    rates = [decode_ceiling_tokens_per_s(llama, chip, bf16, batch=b) for b in batches]
    knee = critical_batch(chip, bf16)
    ax.loglog(batches, rates, style, label=f"{name}, knee at batch {knee:.0f}")
    ax.plot(knee, decode_ceiling_tokens_per_s(llama, chip, bf16, batch=round(knee)), "ko")
ax.set_xlabel("batch (sequences)")
ax.set_ylabel("output tokens/s, all sequences")
ax.set_title("Llama-3-8B in BF16: the ceiling, KV cache left out", loc="left")
ax.grid(which="major", alpha=0.3)
ax.legend(frameon=False)
fig.tight_layout()

# %% [markdown]
# ## Your machine
#
# A datasheet is a promise. Measure. The next cells run on **one thread**, in a process of their
# own, and give the memory back afterwards. They time
#
# - reading and copying a buffer that is too large for any cache
# - a large square matrix product: your peak
# - a *decode-shaped* product: 1, 2, 4 … 64 rows times a stack of weight matrices, as decode does
#   it with that many sequences
#
# On a machine with an NVIDIA or Apple GPU the same cells run on the GPU.
# No quiet machine at hand? `bench.machine(replay=True)` gives you a recording of another one.
# It is labelled as such and earns the same points.

# %% exercise 1.12 given=false

# %% [markdown]
# ### Predict, then measure
#
# `SmolLM2-135M-Instruct` is a real language model, small enough for a laptop, and in FP32 still
# larger than any cache, so its weights must be streamed.

# %% id="smollm2-size"
smollm2, fp32 = catalog.model("smollm2-135m"), catalog.format("fp32")
streamed = streamed_weight_bytes(smollm2, fp32)
print(f"{smollm2.params.total:,} parameters; {streamed / 1e6:,.0f} MB to stream for each token")

# %% [markdown]
# Before you measure: **which share of the ceiling will it reach, in percent?** Say a number, and
# how sure you are that you are within a factor of 1.25 (50 = a coin toss, 100 = certain). Nobody
# grades this. At the end you see how well you know what you know.

# %% predict 1.13 value=50 confidence=60

# %% [markdown]
# Now measure. The first time, the model's weights are fetched and converted (about 100 MB).

# %% id="measure-decode"
decode = bench.decode()
decode

# %% exercise 1.13

# %% [markdown]
# ### Where the rest went
#
# The machine of our recording reaches less than half of its ceiling. Serving engines on
# data-centre GPUs, with models of 7B and more, get about two thirds of theirs. Something else
# takes time. The roofline does not know what; your record does.

# %% exercise 1.14

# %% [markdown]
# ### Is batching free?
#
# Everything about serving rests on one claim: below the knee, another sequence in the batch costs
# no time. Look at your own decode-shaped products. The bars are what you measured. The line is
# what the roofline allows with your bandwidth and your peak: flat at first, then rising.

# %% id="sweep-figure"
record = bench.machine(replay=True) if machine is ... else machine
read, peak = record.median("bandwidth.read") * 1e9, {
    fmt: record.median(f"gemm.{fmt}") * 1e9 for fmt in ("fp32", "bf16")
}

fig, axes = plt.subplots(1, 2, figsize=(9, 3.4), sharey=True)
for ax, fmt in zip(axes, ("fp32", "bf16")):
    points = bench.sweep_points(record, fmt)
    rows = range(len(points))
    ax.bar(rows, [1e3 * p.seconds for p in points], color="#0969da", label="measured")
    roof = [1e3 * max(p.bytes / read, p.flop / peak[fmt]) for p in points]
    ax.plot(rows, roof, "ko-", label="roofline")
    ax.set_xticks(rows, [str(p.batch) for p in points])
    ax.set_xlabel("batch (rows)")
    ax.set_title(f"{fmt.upper()} weights", loc="left")
    ax.spines[["top", "right"]].set_visible(False)
axes[0].set_ylabel("milliseconds")
axes[0].legend(frameon=False)
fig.suptitle(record.origin(), fontsize=8, x=0.01, ha="left")
fig.tight_layout()

# %% exercise 1.15

# %% [markdown]
# ## One picture
#
# Seven accelerators that AWS rents, and the machine in front of you, on the same axes.

# %% exercise 1.8

# %% [markdown]
# Keep it: this cell saves your roofline as a picture beside the notebook.

# %% id="export"
if ax is ... or not hasattr(ax, "figure"):
    print("Draw the figure of exercise 1.8 first.")
else:
    ax.figure.savefig("my_roofline.png", dpi=150, bbox_inches="tight")
    print("Saved as my_roofline.png")

# %% [markdown]
# ## With a GPU of your own
#
# A model of 135 million parameters is too small for a big GPU: most of its time is Python.
# If you have one, time a model that fills 60 % of its memory instead. Its weights are random, so
# nothing is downloaded, and the time of a step does not depend on what the weights say.
# On a CPU this cell has nothing to do.

# %% id="big-decode"
if record.facts["device"] == "cpu":
    print("No GPU here: SmolLM2 above is the right measurement for a CPU.")
else:
    big = bench.big_decode()
    display(big)

# %% [markdown]
# ## What to remember
#
# - Intensity below the ridge means memory-bound. Decode at batch 1 has 1 FLOP/B in 16 bits, and
#   no accelerator's ridge is anywhere near as low.
# - Ceiling at batch 1 = bandwidth ÷ bytes streamed. The input embedding is not streamed, idle
#   experts are not streamed, the output head is.
# - A batch raises the intensity. That is why serving is affordable, and where it ends is the knee.
# - The ceiling is a bound, not a forecast. What lies between it and a measurement has a cause
#   that you can find.
#
# **What the roofline does not know:** the KV cache (Lab 02), quantization (Lab 04), how requests
# arrive and queue (Labs 05 and 07), communication between accelerators, and what it all costs
# (Lab 08).

# %% id="ridges"
names = ["A10G", "A100-40GB", "T4", "Inferentia2", "H100", "L4", "L40S"]
for name in names:
    chip = catalog.accelerator(name)
    ridge = chip.peak_flops("fp16") / chip.bandwidth_bytes_per_s
    print(f"{name:<12} {ridge:6.0f} FLOP/B  {'▪' * round(ridge / 10)}")

# %% id="progress"
lab.progress()
