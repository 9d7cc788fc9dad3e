# %% [markdown]
# # Lab 00 · Start here
#
# This course answers one question: **which AWS machine should serve this model, and what will it
# cost?** Here you make sure that your machine is ready, see what happens when a language model
# writes, and write down the case that *you* care about.
#
# **About 20 minutes, ungraded.** Nothing here counts, and nothing here can be done wrong.
#
# When you are done you can
#
# - say what your machine can run, and what to do about what is missing
# - follow one token from the prompt to the answer
# - tell which of five things that the course takes for granted you should read up on
# - put a first price on your own use case

# %% [markdown]
# ## How this works
#
# A notebook is a list of cells. Click into a grey cell and press **Shift+Enter** to run it. Run
# them from top to bottom; the first one is below. Text stands between the cells, like this.

# %% setup
import matplotlib.pyplot as plt

from labkit import Catalog, Lab, Q

catalog = Catalog.load()
lab = Lab("00")

# %% [markdown]
# ## Is your machine ready?
#
# The next cell asks `labkit doctor`, a command that you can also type in a terminal. It changes
# nothing. Each line has a state:
#
# - **✓ ok** needs nothing from you
# - **! attention** works, with the limit that is named; below the table stands what to do
# - **✗ missing** must be put right before you measure; you can do every lab without, on
#   recordings of another machine
#
# You need no GPU. The line *Weights* is about the files of a small but real language model, with
# 135 million parameters. Lab 01 measures it on your machine.

# %% id="preflight"
lab.preflight()

# %% [markdown]
# ## One token's journey
#
# A language model is a program around a very long list of numbers, its **weights** (also called
# *parameters*): 8 billion of them in an "8B" model. They stand in many *layers*, which a text passes
# one after the other.
#
# It reads and writes *tokens*: words, or parts of words. Ask it
# *"The capital of France is"*, five tokens, and it answers *"Paris, of course"*, in four. Follow
# them from left to right.
#
# 1. **Prefill.** All five tokens of the prompt go through the model at once. For each of them, every
#    layer computes a *key* and a *value*, and keeps both: that is the **KV cache**. At the end of
#    this first step stands the first token of the answer. How long it takes is called **TTFT**,
#    *time to first token*.
# 2. **Decode.** Each further token is a step of its own. The token just written goes in, adds its
#    own key and value to the cache, and is compared with all the earlier ones, which are *read* from
#    the cache. The time of one such step is **TPOT**, *time per output token*.
#
# Two things to see in the picture. Every step reads **all weights of the model**, for five tokens or
# for one. And the cache **only grows**: it takes memory for as long as the answer is being written.
#
# (Run the cell and look at the picture. Its code only draws; nobody needs to read it.)

# %% id="journey"
prompt = ["The", "capital", "of", "France", "is"]
answer = ["Paris", ",", "of", "course"]
steps = [f"step {n}\n{name}" for n, name in enumerate(["prefill", *["decode"] * 3], start=1)]

fig, grid = plt.subplots(figsize=(9, 5.4))
for step in range(len(steps)):
    cached = len(prompt) + step  # tokens in the cache when the step is over
    written = range(len(prompt)) if step == 0 else [cached - 1]
    for row in range(cached):
        new = row in written
        grid.add_patch(plt.Rectangle(
            (step + 0.06, row + 0.08), 0.62, 0.84, edgecolor="black", linewidth=1,
            facecolor="#0969da" if new else "#dbe9f9",
        ))
        grid.text(step + 0.37, row + 0.5, "new" if new else "read", ha="center", va="center",
                  color="white" if new else "black", fontsize=9)
    grid.add_patch(plt.Rectangle((step + 0.06, -1.7), 0.62, 0.9, edgecolor="black",
                                 facecolor="#f0d9b5", hatch="//"))
    grid.text(step + 0.37, -1.25, "all weights", ha="center", va="center", fontsize=8,
              bbox={"facecolor": "white", "edgecolor": "none", "pad": 1})
    grid.annotate(f"“{answer[step]}”", (step + 0.98, cached - 0.5), (step + 0.70, cached - 0.5),
                  va="center", ha="left", fontsize=10, fontweight="bold")
    span = "TTFT" if step == 0 else "TPOT"
    grid.annotate("", (step + 0.99, 9.15), (step + 0.01, 9.15), arrowprops={"arrowstyle": "<->"})
    grid.text(step + 0.5, 9.3, span, ha="center", va="top", fontsize=10)
grid.set_yticks([row + 0.5 for row in range(8)],
                [f"{n}  {token}" for n, token in enumerate([*prompt, *answer[:3]], start=1)])
grid.text(-0.02, -1.25, "read in every step", ha="right", va="center", fontsize=10)
grid.set_xticks([step + 0.37 for step in range(len(steps))], steps)
grid.set_xlim(0, len(steps) + 0.1)
grid.set_ylim(10.2, -2.1)
grid.set_ylabel("token in the KV cache")
grid.set_title("One prompt, four output tokens: what each step reads and what it writes", loc="left")
grid.spines[["top", "right", "bottom", "left"]].set_visible(False)
grid.tick_params(length=0)
fig.tight_layout()

# %% [markdown]
# In real sizes: this is what has to be read for one more token, and what one token leaves in the
# cache. Three models. Each number takes 16 bits, two bytes: 8 billion weights are 16 GB. The table
# says 15.01, because one part, the table that turns tokens into numbers, is not read in full. Lab 01
# counts it exactly.

# %% id="sizes"
from labkit.sizing import kv_bytes_per_token, streamed_weight_bytes

bf16 = catalog.format("bf16")
print(f"{'model':<14} {'weights read per step':>22} {'cache of one token':>20} {'of 4,000 tokens':>17}")
for name in ("smollm2-135m", "llama-3-8b", "llama-3-70b"):
    model = catalog.model(name)
    weights, token = streamed_weight_bytes(model, bf16), kv_bytes_per_token(model, bf16)
    print(f"{name:<14} {weights / 1e9:>19.2f} GB {token / 1e3:>17.1f} kB {4000 * token / 1e9:>14.2f} GB")

# %% [markdown]
# The weights are there once, for all users. The cache is there for each text that is being written.
# So reading the weights decides how fast a model can write: Lab 01. The cache decides how many users
# fit on a machine: Lab 02.

# %% [markdown]
# ## Five things the course takes for granted
#
# An exercise has three or four cells: the question, the numbers you are given, your answer, and a
# check. Replace the `...`, run the cell, run the check. A given such as `g.users` is a plain Python
# number: calculate with it in the answer cell. The comment behind the `...` says in which unit your
# number is read.
#
# These five are worth no points. Where you are wrong, the check says which mistake leads there. You
# may answer as often as you like, and the last answer counts. Stuck? Type `lab.hint("0.1")` into any
# cell: hints are free.

# %% exercise 0.1 given=false

# %% exercise 0.2

# %% exercise 0.3

# %% exercise 0.4

# %% [markdown]
# ### An axis that multiplies
#
# Speeds and sizes in this course span a factor of a thousand and more, so some figures have
# *logarithmic* axes. Equal steps on such an axis do not add, they multiply.

# %% id="log-axis"
fig, axis = plt.subplots(figsize=(8, 1.3))
axis.set_xscale("log")
axis.set_xlim(8, 1.2e4)
axis.plot((100 * 1000) ** 0.5, 0, "o", color="black", markersize=11)
axis.grid(which="major", axis="x")
axis.set_xticks([10, 100, 1000, 10_000], ["10", "100", "1,000", "10,000"])
axis.minorticks_off()
axis.set_yticks([])
axis.set_xlabel("memory bandwidth, GB/s")
axis.spines[["top", "right", "left"]].set_visible(False)
fig.tight_layout()

# %% exercise 0.5 given=false

# %% [markdown]
# All five right at the first try? Go on. One or two wrong? Read what the check says; that is enough.
# Three or more? You can do the course, but plan more time, and ask somebody to sit beside you for
# Lab 01.

# %% [markdown]
# ## Your own use case
#
# Which model do *you* want to serve, to whom, how fast, for how much? Beside this notebook lies the
# file **`my_workload.toml`**. Run the next cell: it shows the example that stands there. Then open the
# file with a double click in the file list on the left, replace the example by your own case, save
# it (Ctrl+S), come back to this tab and run the cell again.
#
# Not sure about a number? Guess. Every lab prices your case again at its end, with what you know by
# then, and you may change the file at any time. In the last lab it becomes the record of your
# decision.

# %% id="my-workload"
lab.workload()

# %% [markdown]
# And this is what it costs today, by a formula that you will take apart in the coming labs. Each
# number comes with a range. The wider the range, the less is known: narrowing it is what measuring
# is for.
#
# Look at *Batch* first: how many texts one machine writes at once and still keeps your wishes. A
# machine with a small batch serves few users, so you need many of it, and the cheapest by the hour can
# be the dearest by the month.

# %% id="reprice"
lab.reprice()

# %% [markdown]
# ## What to remember
#
# - Prefill reads the prompt in one step and ends with the first token (TTFT). Decode writes one
#   token per step (TPOT).
# - Every step reads all weights. Every token stays in the KV cache until the answer is finished.
# - GB is not GiB, FLOP is not FLOP/s. A pace (seconds per token) is not a rate (tokens per second).
# - A number without a range is a guess that does not say so.
#
# Next: Lab 01, where one division tells whether memory or arithmetic holds a chip back.

# %% id="progress"
lab.progress()
