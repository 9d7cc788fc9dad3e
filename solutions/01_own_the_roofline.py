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
# Most exercises have three cells: the numbers you are given, your answer, and a check.
# Replace the `...`, run the cell, run the check. A wrong answer is told which mistake makes it.
#
# - The numbers of the exercises are names, not an order. Some belong to other labs.
# - Stuck? Run `lab.hint("1.1")` in a new cell. There are three hints for each exercise, all free.
# - Units: `Q(12.5, "GB")`, `"12.5 GB"` and plain `12.5` are all read. A plain number is taken in
#   the unit that the exercise asks for. `Q` labels a finished answer; calculate with plain numbers.
# - You may close the laptop at any time. Your answers and your progress are kept.

# %% setup
import matplotlib.pyplot as plt
import numpy as np

from labkit import Catalog, Lab, Q, bench
from labkit.sizing import (
    critical_batch,
    decode_ceiling_tokens_per_s,
    decode_flops,
    streamed_weight_bytes,
)

catalog = Catalog.load()
bf16, fp32 = catalog.format("bf16"), catalog.format("fp32")

lab = Lab("01")

# %% [markdown]
# ## Two limits
#
# A language model writes one *token* at a time, a token being a word or a part of one. To write
# one token for one user, the chip must read nearly every weight of the model once, because nearly
# every weight takes part in it. (The exceptions follow.) That step is called *decode*.
#
# Five words for what comes:
#
# - a *FLOP* is one addition or one multiplication; FLOP/s is how many of them happen in a second
# - *BF16* and *FP16* store a number in 2 bytes, *FP32* in 4, *INT8* in 1
# - the *batch* is how many texts are written at the same time; "batch 1" is one user
# - the *KV cache* is what the model keeps about earlier tokens; it has to wait for Lab 02
# - weights are *dense* when none is left out as zero; LLMs are
#
# How long does the reading take, and how long does the arithmetic take? Here is Mistral-7B
# (BF16) on an L4, the GPU of AWS's `g6` instances, at the datasheet's speeds.

# %% id="two-limits"
model, chip = catalog.model("mistral-7b"), catalog.accelerator("L4")

reading_ms = 1e3 * streamed_weight_bytes(model, bf16) / chip.bandwidth_bytes_per_s
computing_ms = 1e3 * decode_flops(model) / chip.peak_flops("bf16")

fig, bars = plt.subplots(figsize=(8, 1.9))
bars.barh(["computing", "reading"], [computing_ms, reading_ms], color=["#8250df", "#0969da"])
for row, ms in enumerate([computing_ms, reading_ms]):
    bars.text(ms, row, f"  {ms:.2f} ms", va="center")
bars.set_xlabel("milliseconds for one token")
bars.set_xlim(0, reading_ms * 1.15)
bars.set_title("Mistral-7B on an L4: one token, one user", loc="left")
bars.spines[["top", "right"]].set_visible(False)
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
# At some batch it reaches the ridge, and the compute roof takes over. That batch is the *knee*.

# %% exercise 1.11 given=false

# %% [markdown]
# This is what such a function looks like for one model on two chips: tokens per second of all
# sequences together, against the batch. The dots mark the knees.
# The KV cache is still left out. Lab 02 puts it in, and for long contexts the knee disappears.

# %% id="knees"
llama = catalog.model("llama-3-8b")
batches = [round(2 ** (n / 8)) for n in range(81)]

fig, curves = plt.subplots(figsize=(8, 4))
for name, style in (("A10G", "-"), ("H100", "--")):
    chip = catalog.accelerator(name)
    rates = [decode_ceiling_tokens_per_s(llama, chip, bf16, batch=b) for b in batches]
    knee = critical_batch(chip, bf16)
    curves.loglog(batches, rates, style, label=f"{name}, knee at batch {knee:.0f}")
    curves.plot(knee, decode_ceiling_tokens_per_s(llama, chip, bf16, batch=round(knee)), "ko")
curves.set_xlabel("batch (sequences)")
curves.set_ylabel("output tokens/s, all sequences")
curves.set_title("Llama-3-8B in BF16: the ceiling, KV cache left out", loc="left")
curves.grid(which="major", alpha=0.3)
curves.legend(frameon=False)
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
# larger than a laptop's caches, so its weights must be streamed.

# %% id="smollm2-size"
smollm2 = catalog.model("smollm2-135m")
streamed = streamed_weight_bytes(smollm2, fp32)
print(f"{smollm2.params.total:,} parameters; {streamed / 1e6:,.0f} MB to stream for each token")

# %% [markdown]
# Before you measure: **which share of the ceiling will it reach, in percent?** Say a number, and
# how sure you are that you are within a factor of 1.25 (10 = a guess, 100 = certain). Nobody grades
# this. At the end you see what became of it.

# %% predict 1.13 value=50 confidence=60

# %% [markdown]
# Now measure. The first time, the model's weights are fetched and converted (about 100 MB).
# On a busy machine write `decode = bench.decode(replay=True)`.

# %% id="measure-decode"
decode = bench.decode()
decode

# %% exercise 1.13

# %% [markdown]
# ### Where the rest went
#
# The machine of our recording reaches less than half of its ceiling. Serving engines on
# data-centre GPUs, with models of 7B and more, reach between half and nine tenths of theirs.
# Something else takes time. The roofline does not know what; your record does.
#
# The matrix product of a step is a call into a compiled routine, a *kernel*. Around it stand
# Python, norms, attention and the copying of small things: *overhead*.

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

fig, panels = plt.subplots(1, 2, figsize=(9, 3.4), sharey=True)
for panel, fmt in zip(panels, ("fp32", "bf16")):
    points = bench.sweep_points(record, fmt)
    rows = range(len(points))
    panel.bar(rows, [1e3 * p.seconds for p in points], color="#0969da", label="measured")
    roof = [1e3 * max(p.bytes / read, p.flop / peak[fmt]) for p in points]
    panel.plot(rows, roof, "ko-", label="roofline")
    panel.set_xticks(rows, [str(p.batch) for p in points])
    panel.set_xlabel("batch (rows)")
    panel.set_title(f"{fmt.upper()} weights", loc="left")
    panel.spines[["top", "right"]].set_visible(False)
panels[0].set_ylabel("milliseconds")
panels[0].legend(frameon=False)
fig.suptitle(record.origin(), fontsize=9, x=0.01, ha="left")
fig.tight_layout()

# %% exercise 1.15

# %% [markdown]
# ## One picture
#
# Seven accelerators that AWS rents, and the machine in front of you, on the same axes. You need
# your `roofline()` of 1.7.

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

# %% [markdown]
# ### Your own use case
#
# The case that you wrote down in Lab 00, priced again. Look at the column *Batch*: you know now what
# it does to the price. To change the case, edit `my_workload.toml` beside this notebook.

# %% id="reprice"
lab.reprice()

# %% id="progress"
lab.progress()
