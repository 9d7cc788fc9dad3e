"""The shapes of facts: model, accelerator, instance, price and number-format records.

Pure data: nothing here reads a file or computes a size in bytes. Every fact row carries the
source it was read from, the day it was true (`as_of`), and when it expires.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from enum import StrEnum
from pathlib import Path
from typing import Any


class Confidence(StrEnum):
    """How sure the row is: `low` rows are said to be so wherever they are shown."""

    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


@dataclass(frozen=True, slots=True)
class Provenance:
    """Where a fact comes from. `expires` is None for silicon, which does not change.

    `dated` is false where the source carries no date: then `as_of` is the day it was read, and
    the fact is at least that old.
    """

    source: str
    as_of: date
    expires: date | None = None
    confidence: Confidence = Confidence.HIGH
    note: str = ""
    dated: bool = True

    def stale(self, on: date) -> bool:
        """Whether the fact has expired on the given day."""
        return self.expires is not None and on > self.expires


@dataclass(frozen=True, slots=True)
class NumberFormat:
    """How one number is stored: fp32, fp16, bf16, fp8, int8, int4 (grouped), mxfp4, nvfp4.

    `bits` is the element's own width. A grouped format also stores `scale_bits` (scale and
    zero point) once per `group_size` elements; `bits_per_weight` adds that share.
    `tables`: the embedding and the output head are stored in this format too, although it is
    below 16 bits (GGUF files); elsewhere they stay at 16.
    """

    name: str
    bits: float
    group_size: int | None = None
    scale_bits: float = 0.0
    weight_only: bool = False
    compute_dtype: str = "bf16"
    note: str = ""
    tables: bool = False

    @property
    def bits_per_weight(self) -> float:
        """Stored bits per element, scales and zero points included."""
        return self.bits + (self.scale_bits / self.group_size if self.group_size else 0.0)

    @property
    def bytes_per_weight(self) -> float:
        """Stored bytes per element, scales and zero points included."""
        return self.bits_per_weight / 8


@dataclass(frozen=True, slots=True)
class Attention:
    """One kind of attention layer and how many layers use it.

    kind: "full" (cache grows with the sequence), "sliding" (capped at `window` tokens),
    "mla" (one shared latent of `latent_dim + rope_dim` per token), "linear" (constant state).
    """

    kind: str
    layers: int
    heads: int
    kv_heads: int
    head_dim: int
    value_head_dim: int = 0  # 0: the same as head_dim
    window: int | None = None
    latent_dim: int = 0
    rope_dim: int = 0


@dataclass(frozen=True, slots=True)
class MoE:
    """Mixture of experts: counts per MoE layer; parameters per expert are in `ParamCounts`."""

    experts: int
    experts_per_token: int
    shared_experts: int
    moe_layers: int


@dataclass(frozen=True, slots=True)
class ParamCounts:
    """Parameters by how they behave at decode.

    embedding: input embedding table (resident, but only one row per token is read);
    head: output projection (0 stored when tied: then the embedding table itself is streamed
    as the head); positions: learned position table (resident, not streamed);
    experts: all routed experts of all layers; per_expert: one routed expert of one layer;
    linear: every other weight matrix that a quantizer would quantize (attention, dense MLP,
    shared experts); other: norms, biases, routers, sinks (streamed, never quantized).
    Parameters are those of transformers' model: a checkpoint may carry more (DeepSeek-V3's
    multi-token-prediction layer) that plain decoding does not use.
    """

    embedding: int
    head: int
    positions: int
    linear: int
    other: int
    experts: int = 0
    per_expert: int = 0
    tied: bool = False

    @property
    def total(self) -> int:
        """Every stored parameter, each counted once."""
        return self.embedding + self.head + self.positions + self.linear + self.other + self.experts


@dataclass(frozen=True, slots=True)
class ModelSpec:
    """A model's architecture, enough to count its bytes and FLOPs.

    `kind` is "decoder", "encoder" (BERT) or "cnn" (ResNet); only decoders have a KV cache.
    `attention` lists the kinds of layer; `params` the parameter counts; `native_format` the
    format in which the published checkpoint stores its weights. A quantized checkpoint stores
    only the groups of `ParamCounts` named in `native_parts` that way (gpt-oss: the experts);
    everything else is in `rest_format`.
    """

    name: str
    kind: str
    layers: int
    hidden_size: int
    vocab_size: int
    max_context: int
    attention: tuple[Attention, ...]
    params: ParamCounts
    native_format: str = "bf16"
    moe: MoE | None = None
    architecture: str = ""
    aliases: tuple[str, ...] = ()
    provenance: Provenance | None = None
    flops_per_inference: float = 0.0  # encoders and CNNs: forward FLOPs of one stated input
    note: str = ""
    native_parts: tuple[str, ...] = ("linear", "experts", "embedding", "head")
    rest_format: str = "bf16"

    @classmethod
    def from_config(cls, source: str | Path | Mapping[str, Any]) -> ModelSpec:
        """A model from a Hugging Face `config.json`.

        `source` is the parsed object, a path to the file or to its folder, or the name of a
        model in the catalogue (a hub id works too). Works for any decoder; where the
        architecture is not a listed one, the general rules count it and `note` says so.
        Raises `LabkitError`, one sentence, for what cannot be read.
        """
        from labkit.catalog.models import model_from

        return model_from(source)


@dataclass(frozen=True, slots=True)
class Accelerator:
    """One accelerator. FLOP/s are dense (no sparsity); 0 means the format is not supported.

    Units: bytes, bytes/s, FLOP/s. `memory_bytes` is the size the AWS API names;
    `usable_bytes` what an engine can really see (T4: 15,360 of 16,384 MiB).
    `engine_visible_bytes` is what serving engines log as the card's total, 0 where no log was
    seen: the driver keeps a little back.
    `flops` maps format names (fp32, fp16, bf16, fp8, int8) to dense FLOP/s; it is empty, and
    `rates_known` false, where no source gives the rates.
    `weight_formats` are the formats that an engine can hold weights in, natively or through a
    weight-only kernel.
    `link_bytes_per_s` is the bidirectional bandwidth of one accelerator's link to its peers as
    seen on AWS hosts (PCIe x8 on g4dn to g6e), `link` its kind: "pcie", "nvlink", "neuronlink".
    """

    name: str
    vendor: str
    architecture: str
    compute_capability: str
    memory_bytes: int
    usable_bytes: int
    memory_kind: str
    bandwidth_bytes_per_s: float
    flops: dict[str, float]
    link: str
    link_bytes_per_s: float
    weight_formats: tuple[str, ...]
    aws_families: tuple[str, ...]
    provenance: Provenance
    cores: int = 1  # NeuronCores per chip; 1 on a GPU
    aliases: tuple[str, ...] = ()
    engine_visible_bytes: int = 0

    @property
    def rates_known(self) -> bool:
        """Whether any source gives this accelerator's compute rates."""
        return bool(self.flops)

    def peak_flops(self, number_format: str) -> float:
        """Dense FLOP/s in the given format, 0.0 where the silicon has no such units."""
        return self.flops.get(number_format, 0.0)


@dataclass(frozen=True, slots=True)
class Cpu:
    """One CPU socket. Bytes, bytes/s, Hz; 0 or an absent format means that no source gives it.

    `flop_per_cycle` maps format names to dense FLOP per cycle and core at full vector or matrix
    width; `flops` = FLOP per cycle x clock x cores, a ceiling.
    """

    name: str
    vendor: str
    architecture: str
    cores: int
    threads_per_core: int
    clock_hz: float
    bandwidth_bytes_per_s: float
    flop_per_cycle: dict[str, float]
    aws_families: tuple[str, ...]
    provenance: Provenance
    aliases: tuple[str, ...] = ()

    @property
    def flops(self) -> dict[str, float]:
        """Dense FLOP/s of the whole socket by format; empty where the clock has no source."""
        if not self.clock_hz:
            return {}
        rate = self.clock_hz * self.cores
        return {name: per_cycle * rate for name, per_cycle in self.flop_per_cycle.items()}

    def peak_flops(self, number_format: str) -> float:
        """Dense FLOP/s of one socket in the given format, 0.0 where it is not known."""
        return self.flops.get(number_format, 0.0)

    def sockets(self, vcpus: int) -> float:
        """How many sockets `vcpus` virtual CPUs are: 0.5 is half of one."""
        return vcpus / (self.cores * self.threads_per_core)


@dataclass(frozen=True, slots=True)
class Price:
    """One hourly price in USD. `kind`: on-demand, spot, sagemaker. `low`/`high`: its range."""

    kind: str
    usd_per_hour: float
    region: str
    provenance: Provenance
    low: float | None = None
    high: float | None = None

    def age_days(self, on: date) -> int:
        """Days between the price's date and `on`: to be shown wherever the price is."""
        return (on - self.provenance.as_of).days

    def age(self, on: date) -> str:
        """The age for people: "67 d", or "≥ 0 d" where only the day of reading is known."""
        at_least = "" if self.provenance.dated else "≥ "
        return f"{at_least}{self.age_days(on)} d"


@dataclass(frozen=True, slots=True)
class Instance:
    """An EC2 instance type. `accelerator` is None for CPU-only types; sizes are in bytes."""

    name: str
    family: str
    kind: str  # gpu, neuron, cpu
    vcpus: int
    host_memory_bytes: int
    accelerator: Accelerator | None
    accelerator_count: int
    accelerator_fraction: float  # 1.0 = whole cards; 0.125 = an eighth of one (g6f)
    neuron_cores: int
    nvme_bytes: int
    network_bytes_per_s: float
    link: str
    link_bytes_per_s: float
    cpu: str
    cpu_bandwidth_bytes_per_s: float  # this instance's fair share of the socket, 0 = unknown
    sagemaker_hosting: bool
    prices: tuple[Price, ...]
    provenance: Provenance
    accelerator_memory_bytes: int = 0  # of one device as this instance sees it (fraction applied)
    accelerator_usable_bytes: int = 0
    # Dense FLOP/s by format of this instance's share of its CPUs, by vCPUs; empty = unknown.
    cpu_flops: Mapping[str, float] = field(default_factory=dict)

    def price(self, kind: str = "on-demand", region: str = "us-east-1") -> Price | None:
        """The instance's price of that kind in that region, or None where no source gives one."""
        for price in self.prices:
            if price.kind == kind and price.region == region:
                return price
        return None
