# %% [markdown]
# # Lab 02 · Memory budget
#
# Before a model can be fast it has to fit, and what must fit is more than the model. In this lab
# you fill the memory of a card, byte by byte: the weights, what the model remembers of each
# conversation, and what the engine keeps for itself. What is left over decides how many users
# one machine can serve.
#
# **About 75 minutes.** You need Lab 01 and Python at the level of dicts and functions.
#
# When you are done you can
#
# - count a model's parameters from its config, to the last one
# - size the KV cache of any decoder, and prove it on a real model, to the byte
# - say what reading the cache adds to each step
# - fill the budget of a card and say how many sequences it holds
#
# Everything works as in Lab 01: replace the `...`, run the cell, run the check. Hints are free
# (`lab.hint("2.1")`). The numbers of the exercises are names, not an order: the lab begins with 2.11,
# and two are called 1.5 and 1.6 because they take up a question of Lab 01.

# %% setup
import matplotlib.pyplot as plt

from labkit import Catalog, Lab, Q, bench
from labkit.sizing import (
    EngineConfig,
    Workload,
    estimate,
    kv_bytes_per_sequence,
    resident_weight_bytes,
    streamed_weight_bytes,
)

catalog = Catalog.load()
bf16, fp16, int8 = catalog.format("bf16"), catalog.format("fp16"), catalog.format("int8")

lab = Lab("02")

# %% [markdown]
# ## What must fit
#
# A *card* is a GPU with its memory. A *sequence* is one conversation as the model sees it: the tokens
# of the prompt and those of the answer. Three things share the memory of a card:
#
# 1. the **weights**: all of the model's numbers, also called *parameters*
# 2. the **KV cache**: what the model keeps about the tokens that it has read and written so far
# 3. the **engine**: the program that runs the model, with its buffers
#
# ### GB is not GiB
#
# Memory is sold in two units under one name. **1 GB is 10⁹ bytes, 1 GiB is 2³⁰ bytes**, and that
# is 7 % more. Vendors mix them: the label says 24 GB, the cloud's API says 22,888 MiB, and both
# mean the same A10G. (1 KiB is 2¹⁰ bytes, 1 MiB is 2²⁰.) In doubt, calculate in bytes: multiply what
# you are given in MiB by `2**20`, in GiB by `2**30`, in GB by `1e9`.

# %% id="gb-gib"
a10g = catalog.accelerator("A10G")
llama13 = catalog.model("llama-2-13b")
for what, size in (
    ("A10G, usable", a10g.usable_bytes),
    ("Llama-2-13B in BF16", resident_weight_bytes(llama13, bf16)),
    ("Llama-2-13B in INT8", resident_weight_bytes(llama13, int8)),
):
    print(f"{what:<20} {size / 1e9:6.2f} GB = {size / 2**30:6.2f} GiB = {size / 2**20:7,.0f} MiB")

# %% [markdown]
# ## Weights, from a config
#
# Each published model comes with a small file, `config.json`. This is what it says of
# Llama-3-8B, as far as size is concerned:

# %% id="config"
catalog.config("llama-3-8b")

# %% [markdown]
# A few words for these fields; the others say nothing about size. Inside the model a token is a list of `hidden_size` numbers. It
# passes through `num_hidden_layers` layers. Each layer has two parts:
#
# - *attention* lets a token look at the earlier ones. It works in several *heads*. Each head turns
#   the token into three short lists of `head_dim` numbers: a **query** (what am I looking for?), a
#   **key** (what do I offer?) and a **value** (what do I say?).
# - the *MLP* works on each token by itself: it widens it to `intermediate_size` numbers and back.
#   In Llama-like models it has three matrices.
#
# Before each part, and after the last layer, a *norm* rescales the numbers: a list of factors, one
# for each of the `hidden_size` numbers. Some models add a *bias* to a product, one more number per
# row; Llama does not.
#
# A *tensor* is a block of numbers: a list, or a table with rows and columns (a *matrix*). These are
# all the tensors of such a model:
#
# | Tensor | Size | How often |
# |---|---|---|
# | input embedding | `vocab_size` × `hidden_size` | once |
# | Q | `hidden_size` × (query heads · `head_dim`) | per layer |
# | K and V, each | `hidden_size` × (KV heads · `head_dim`) | per layer |
# | O (attention's output) | (query heads · `head_dim`) × `hidden_size` | per layer |
# | MLP: gate, up, down, each | `hidden_size` × `intermediate_size` | per layer |
# | norm | `hidden_size` | 2 per layer, and 1 at the end |
# | output head | `vocab_size` × `hidden_size` | once, or not at all if *tied* |
#
# Query heads are `num_attention_heads`. KV heads, those that make K and V, are
# `num_key_value_heads`. Why there can be fewer of them comes right after this. `head_dim` stands in
# some configs only; this one leaves it out, and then it is `hidden_size` / `num_attention_heads`.
#
# The input embedding and the output head have one row for each token of the vocabulary. They are the
# two *vocabulary tables*. *The matrices* are Q, K, V, O and the MLP's.

# %% exercise 2.11 given=false

# %% [markdown]
# ## The KV cache
#
# To write the next token, attention compares its *query* with the *keys* of all earlier tokens and
# mixes their *values*. Keys and values of earlier tokens never change. So they are computed once
# and kept: that is the **KV cache**. Each token adds one key and one value, per KV head, per layer.
#
# Early models gave each query head a key and value of its own. That made the cache large, so newer
# ones share:


# %% id="attention-kinds"
def heads(axis, name, rows, words):
    """One panel: eight query heads above, what is cached below."""
    for q in range(8):
        target = rows[q * len(rows) // 8]
        axis.plot([q, target], [1, 0.18], color="#8c959f", lw=1, zorder=1)
        axis.plot(q, 1, "o", color="#0969da", ms=9)
    for x in rows:
        axis.plot(x, 0.1, "s", color="#bc4c00", ms=11)
    axis.set_title(name, loc="left", fontsize=11)
    axis.text(3.5, -0.45, words, ha="center", va="top", fontsize=9)
    axis.set_xlim(-0.8, 7.8)
    axis.set_ylim(-1.2, 1.3)
    axis.axis("off")


fig, four = plt.subplots(1, 4, figsize=(10, 2.3))
heads(four[0], "MHA: multi-head", list(range(8)), "K and V for each\nquery head")
heads(four[1], "GQA: grouped-query", [1.5, 5.5], "K and V for each\ngroup of query heads")
heads(four[2], "MQA: multi-query", [3.5], "one K and V\nfor all")
heads(four[3], "MLA: latent", [3.5], "one compressed vector,\nno K, no V")
four[0].text(-0.6, 1.18, "● query heads", color="#0969da", fontsize=8)
four[0].text(-0.6, -0.22, "■ cached per token", color="#bc4c00", fontsize=8)
fig.tight_layout()

# %% exercise 2.1

# %% exercise 2.2

# %% [markdown]
# ### Reading it off a config
#
# Which kind a model has is not written down in words. You see it from its fields:
#
# | Kind | How the config shows it | For example |
# |---|---|---|
# | MHA | `num_key_value_heads` equals `num_attention_heads`, or is missing | Llama-2-7B, OPT |
# | GQA | `num_key_value_heads` is smaller | Llama-3, Mistral, Qwen |
# | MQA | `num_key_value_heads` is 1 | Gemma-2B |
# | MLA | `kv_lora_rank` is there | DeepSeek-V2, DeepSeek-V3 |
#
# With MLA, K and V are computed from one short vector per token and layer whenever they are
# needed. Only that vector is cached: `kv_lora_rank` numbers, and `qk_rope_head_dim` more that
# carry the token's position.

# %% exercise 2.8 given=false

# %% [markdown]
# Ten published models, the cache of one token each, at 16 bits. The bars are in KiB: times 1,024, the
# one of Llama-3-70B is your answer to 2.1. The size of a model says little: DeepSeek-V3 has fifty
# times the parameters of Llama-2-13B and caches less than a tenth.

# %% id="ten-models"
ten = [
    "llama-2-13b",
    "opt-6.7b",
    "phi-3-mini",
    "llama-3-70b",
    "qwen2.5-32b",
    "qwen3-8b",
    "mistral-7b",
    "deepseek-v3",
    "qwen2.5-7b",
    "deepseek-v2-lite",
]
looks = {"MHA": ("#bc4c00", ""), "GQA": ("#0969da", "//"), "MLA": ("#1a7f37", "xx")}


def kind_of(spec):
    """MHA, GQA or MLA."""
    first = spec.attention[0]
    if first.kind == "mla":
        return "MLA"
    return "MHA" if first.kv_heads == first.heads else "GQA"


fig, panel = plt.subplots(figsize=(8, 3.8))
for row, name in enumerate(reversed(ten)):
    spec = catalog.model(name)
    color, hatch = looks[kind_of(spec)]
    kib = kv_bytes_per_sequence(spec, fp16, 1) / 1024
    panel.barh(row, kib, color=color, hatch=hatch, edgecolor="white")
    panel.text(kib, row, f"  {kib:,.0f} KiB", va="center", fontsize=9)
panel.set_yticks(range(len(ten)), [f"{n}  ({kind_of(catalog.model(n))})" for n in reversed(ten)])
panel.set_xlabel("KiB of cache per token (16 bits)")
panel.set_xlim(0, 920)
panel.spines[["top", "right"]].set_visible(False)
fig.tight_layout()

# %% [markdown]
# ## A real cache
#
# Is it true? SmolLM2-135M is the small model of Lab 01. Let it read on your machine and add up
# what it keeps.

# %% exercise 2.12 given=false

# %% [markdown]
# Now the moment of truth. Your own function predicts from the model's shape; the record counted.

# %% id="theory-and-reality"
record = bench.memory(replay=True) if memory is ... else memory
model_shape = record.facts["config"]

if kv_bytes_per_token(model_shape, 32) is ...:
    print("Write kv_bytes_per_token() in exercise 2.8 first. Then run this cell again.")
else:
    print("cache  tokens  predicted (B)    counted (B)   difference")
    for name, bits in (("fp32", 32), ("bf16", 16)):
        grown = record.facts["kv"][name]
        for tokens, counted in zip(grown["tokens"], grown["bytes"]):
            predicted = tokens * kv_bytes_per_token(model_shape, bits)
            print(
                f"{name.upper():<6}{tokens:>7}{predicted:>15,.0f}{counted:>15,}"
                f"{counted - predicted:>13,.0f}"
            )
    fp32 = record.facts["kv"]["fp32"]
    built = record.facts["built_tokens"]
    cache_mb = fp32["bytes"][fp32["tokens"].index(built)] / 1e6
    grown_mb = record.median("rss.growth")
    print(f"\nThe process grew by {grown_mb:.1f} MB while it built {cache_mb:.1f} MB of cache.")
print(record.origin())

# %% [markdown]
# Few formulas in this field are exact. This one is. What the *process* takes is another matter: a
# program takes memory in larger pieces, works in some of it, and gives it back when it likes. So the
# last number is not exact, and on your machine it may even be zero.
#
# The same test for the weights: `transformers`, the library that most models are published for, built
# these models on its *meta device*, which knows shapes and holds no numbers, and counted. Your function counts from the config.

# %% id="meta-counts"
print("model              by the library           by you     difference")
for name, counted in record.facts["meta_parameters"].items():
    yours = count_parameters(catalog.config(name))
    if yours is ...:
        print("Write count_parameters() in exercise 2.11 first. Then run this cell again.")
        break
    print(f"{name:<14} {counted:>18,} {yours:>16,} {counted - yours:>14,}")

# %% [markdown]
# Where a difference is left it has a name. Qwen2.5 adds biases to Q, K and V, which our exercise
# left out. Mixtral has eight MLPs per layer, its experts, and a router that chooses two.
#
# ### A cache grows with every token
#
# The weights are there once. The cache is there for each sequence, and it grows while the
# conversation lasts. Some models put a lid on it: with a *sliding window* a layer looks back a
# fixed number of tokens only, and forgets what is older. Gemma-3 does this in five of six layers.
# Each line ends where its model's context ends, or at 16,384 tokens.

# %% id="growth"
contexts = [256 * n for n in range(1, 65)]
fig, curves = plt.subplots(figsize=(8, 3.6))
for name, style, note in (
    ("llama-2-7b", "-", "Llama-2-7B (MHA)"),
    ("gemma-3-27b", "-.", "Gemma-3-27B (GQA, window in five of six layers)"),
    ("llama-3.1-8b", "--", "Llama-3.1-8B (GQA)"),
    ("deepseek-v2-lite", ":", "DeepSeek-V2-Lite, 16B (MLA)"),
):
    spec = catalog.model(name)
    lengths = [n for n in contexts if n <= spec.max_context]
    gib = [kv_bytes_per_sequence(spec, fp16, n) / 2**30 for n in lengths]
    curves.plot(lengths, gib, style, lw=2, label=note)
curves.set_xlabel("context (tokens of one sequence)")
curves.set_ylabel("KV cache (GiB, 16 bits)")
curves.grid(alpha=0.3)
curves.set_ylim(0, 2.8)
curves.legend(frameon=False, loc="upper right", fontsize=9)
curves.spines[["top", "right"]].set_visible(False)
fig.tight_layout()

# %% exercise 2.10

# %% [markdown]
# ## The cache takes time too
#
# The cache is not only stored. At every step attention reads all of it, for every sequence. Lab 01
# left that out. Now it comes in.

# %% exercise 1.5

# %% exercise 1.6

# %% [markdown]
# This is why the promise of batching has an end. Llama-3-8B on an A10G, 2,048 tokens of context
# each: the weights are shared, the caches are not.

# %% id="step-bars"
llama8 = catalog.model("llama-3-8b")
batches = [1, 2, 4, 8, 16]
weights_ms = 1e3 * streamed_weight_bytes(llama8, bf16) / a10g.bandwidth_bytes_per_s
cache_ms = [
    1e3 * b * kv_bytes_per_sequence(llama8, bf16, 2048) / a10g.bandwidth_bytes_per_s
    for b in batches
]
fig, steps = plt.subplots(figsize=(8, 3.2))
places = range(len(batches))
steps.bar(places, [weights_ms] * len(batches), color="#0969da", label="reading the weights, once")
steps.bar(
    places,
    cache_ms,
    bottom=weights_ms,
    color="#bc4c00",
    hatch="//",
    edgecolor="white",
    label="reading the caches, one per sequence",
)
steps.set_xticks(places, [str(b) for b in batches])
steps.set_xlabel("batch (sequences)")
steps.set_ylabel("milliseconds per step")
steps.set_ylim(0, 44)
steps.legend(frameon=False, loc="upper left")
steps.spines[["top", "right"]].set_visible(False)
fig.tight_layout()

# %% [markdown]
# ## The budget
#
# Now put it together. An engine such as vLLM takes a fixed share of the card when it starts: the
# option `gpu_memory_utilization`, in this lab **0.90**. Into that share go the weights and what
# the engine needs itself. Everything that is left becomes room for caches:
#
# > room for caches = utilization × usable memory − weights − engine
#
# How much the engine needs depends on its version, on the model and on the card. We assume
# **1 GiB**. That is a guess with a band around it, and you will see how wide the band is.
#
# Before you calculate: a 7B model on a 24 GB card. **How many tokens of cache fit, of all users
# together?** Guess, and say how sure you are to be within a factor of 1.25 (10 = a guess,
# 100 = certain). Nobody grades this.

# %% predict 2.3 value=30000 confidence=30

# %% exercise 2.3

# %% [markdown]
# ### How sure is that gigabyte?
#
# Not very. What an engine keeps depends on its version, its limits and the card. Public logs of vLLM
# tell what other machines saw. From them come the three lines below, for its newest version on this
# card: the least that it may keep, the usual, and the most. Each does something else to the answer
# that you just gave. A plan needs the cautious end.

# %% id="overhead-band"
answer = estimate(
    catalog.model("llama-2-7b"),
    catalog.instance("g5.xlarge"),
    EngineConfig("bf16", "bf16", gpu_memory_utilization=0.90),
    Workload(prompt_tokens=512, output_tokens=256),
).memory
for words, needs, left in (
    ("least", answer.overhead.low, answer.pool.high),
    ("usual", answer.overhead.mid, answer.pool.mid),
    ("cautious", answer.overhead.high, answer.pool.low),
):
    print(
        f"{words:<11} engine {needs / 2**30:5.2f} GiB   room {left / 2**30:5.2f} GiB   "
        f"{left / answer.kv_bytes_per_token:7,.0f} tokens"
    )

# %% [markdown]
# ### Whole sequences
#
# A user does not want tokens but a conversation. How many conversations fit depends on how long
# they get: an engine that promises 4,096 tokens to everybody must have room for them at the end,
# not at the beginning. (Engines hand out the room in small blocks as it is needed. Lab 05 shows
# what that buys.)

# %% exercise 2.4

# %% exercise 2.13

# %% [markdown]
# ### The budget as a picture

# %% exercise 2.9

# %% [markdown]
# ## Host memory is another matter
#
# An instance has two memories: the card's, and the *host's*, which belongs to the CPUs. The weights
# pass through the host on their way to the card. Whether they must fit there depends on who
# carries them, the *loader*. Most models are published as `safetensors` files, and a loader of these
# takes one tensor at a time and needs little. For Inferentia2, a chip of AWS's own in the `inf2`
# machines, the usual loader first builds the *state dict* in host memory: all tensors, by name.
#
# Llama-3-8B in BF16 on both. The second machine's chip has two cores, and each takes half of the
# model: that is what `tensor_parallel_size=2` says. (The `--loader` in
# the answer is an option of the command `labkit size`.)

# %% id="host-memory"
import textwrap

for name, tp in (("g5.xlarge", 1), ("inf2.xlarge", 2)):
    instance = catalog.instance(name)
    found = estimate(
        llama8,
        instance,
        EngineConfig("bf16", "bf16", tensor_parallel_size=tp),
        Workload(prompt_tokens=512, output_tokens=256),
    )
    print(
        f"{name}: host memory {instance.host_memory_bytes / 2**30:.0f} GiB, "
        f"loader: {found.loader.words}"
    )
    for refusal in found.refusals:
        print(textwrap.indent(textwrap.fill(f"{refusal.code}: {refusal.detail}", 88), "    "))
    if not found.refusals:
        print("    nothing refused")

# %% [markdown]
# ## With a GPU of your own
#
# On an NVIDIA GPU your record also holds what PyTorch had allocated while the cache was full. The
# difference to weights plus cache is what the step needed to work in.

# %% id="own-gpu"
held = record.facts.get("cuda")
if held is None:
    print("This record was made without an NVIDIA GPU.")
else:
    for words, size in (
        ("90 % of the card", held["budget_bytes"]),
        ("weights", held["weights_bytes"]),
        ("KV cache", held["kv_bytes"]),
        ("allocated", held["allocated_bytes"]),
        ("allocated at most", held["max_allocated_bytes"]),
    ):
        print(f"{words:<18} {size / 2**20:12,.1f} MiB")

# %% [markdown]
# ## What to remember
#
# - Parameters follow from the config, to the last one. Bytes follow from the format, part by part.
# - Cache per token = 2 × layers × KV heads × `head_dim` × bytes. KV heads, not query heads. Read
#   `head_dim` where it is given. MLA is the exception: one short vector per layer.
# - The cache has a number format of its own.
# - GB is 10⁹, GiB is 2³⁰. A 24 GB card has 22.35 GiB, and the engine does not get all of it.
# - Weights are paid once, the cache per sequence: in memory, and in time at every step.
# - "It fits" is not the question. How many sequences fit at full length is.
#
# **What is still missing:** formats below 16 bits and what they cost (Lab 04), how blocks of cache
# are handed out and shared (Lab 05), models that need several cards (Lab 03).

# %% id="sequences-that-fit"
print("Sequences of 4,096 tokens on one card, weights and cache in 16 bits, cautious to usual")
print("(0: the weights leave no room for a single one):")
for name in ("llama-2-7b", "llama-2-13b", "llama-3.1-8b", "qwen2.5-7b"):
    spec = catalog.model(name)
    row = []
    for host in ("g5.2xlarge", "g6e.2xlarge"):
        budget = estimate(
            spec,
            catalog.instance(host),
            EngineConfig("fp16", "fp16", gpu_memory_utilization=0.90),
            Workload(prompt_tokens=3840, output_tokens=256),
        ).memory
        each = kv_bytes_per_sequence(spec, fp16, 4096)
        few, usual = (max(0, int(left // each)) for left in (budget.pool.low, budget.pool.mid))
        row.append(f"{host}: {few:>3} to {usual:<3}")
    print(f"  {name:<14}", "   ".join(row))

# %% [markdown]
# ### Your own use case
#
# The case that you wrote down in Lab 00, priced again. Its batch can be no larger than what the
# cache has room for. Take a model with fewer KV heads, or a shorter context, and see what becomes of
# the price: edit `my_workload.toml` beside this notebook and run the cell again.

# %% id="reprice"
lab.reprice()

# %% id="progress"
lab.progress()
