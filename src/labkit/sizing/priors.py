"""Every parameter of the step-time model: its unit, and the value it starts from.

A parameter's name is `variant.what` or `variant.what.where`. `where` narrows it to a class of
hardware (hbm, gddr, turing, neuron, cpu), to a format class (fp8, 8-bit, 4-bit) or to both
("8-bit@hbm"), and the narrower one is used where it exists. Factors for formats multiply the
value of 16 bits.

The values here are priors: ranges that were published, not a fit. `calibrate` starts from them,
and what it could not learn from a measurement stays as it is here and is called a prior.

Sources. notes: percentiles of the 814 published measurements and of aiconfigurator's operator
tables (decode MBU 0.73-0.87 on GDDR and 0.44-0.71 on HBM cards; FP8 kernels 0.61-0.67 on an L40S;
eager transformers 0.25-0.43; CPUs 0.07-0.56; Inferentia2 0.08-0.45; prefill MFU 0.55-0.70 on
L40S, 0.6-0.74 on A100, 0.43 eager, 0.18-0.31 llama.cpp, 0.10 Inferentia2, 0.09 T4 with AWQ).
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

# Engines that replay CUDA graphs or run a compiled program: little host time, and it adds up.
_COMPILED = {
    "compiled.mbu.hbm": 0.72,
    "compiled.mbu.gddr": 0.85,
    "compiled.mbu.turing": 0.72,
    "compiled.mbu_factor.8-bit@hbm": 0.90,
    "compiled.mbu_factor.8-bit@gddr": 0.85,
    "compiled.mbu_factor.8-bit": 0.85,
    "compiled.mbu_factor.4-bit": 0.60,
    "compiled.mbu_kv.hbm": 0.65,
    "compiled.mbu_kv.gddr": 0.75,
    "compiled.mbu_kv.turing": 0.60,
    "compiled.mbu_kv_factor.pre-xqa": 0.30,
    "compiled.mfu.hbm": 0.70,
    "compiled.mfu.gddr": 0.62,
    "compiled.mfu.turing": 0.40,
    "compiled.mfu_factor.8-bit": 0.85,
    "compiled.mfu_factor.fp8": 0.75,
    "compiled.mfu_factor.4-bit": 0.65,
    "compiled.layer_us": 45.0,
    "compiled.step_us": 200.0,
    "compiled.prompt_us": 500.0,
    "compiled.sequence_us": 10.0,
}

# Serving engines that launch every kernel from Python: the host works beside the device and only
# what it cannot hide shows.
_LAUNCHED = {
    "launched.mbu.gddr": 0.80,
    "launched.mbu.hbm": 0.70,
    "launched.mbu.turing": 0.70,
    "launched.mbu_factor.8-bit": 0.80,
    "launched.mbu_factor.4-bit": 0.60,
    "launched.mbu_kv": 0.50,
    "launched.mfu": 0.50,
    "launched.mfu.turing": 0.30,
    "launched.mfu_factor.8-bit": 0.50,
    "launched.mfu_factor.4-bit": 0.40,
    "launched.layer_us": 500.0,
    "launched.host_factor.8-bit": 4.0,
    "launched.step_us": 0.0,
    "launched.prompt_us": 1000.0,
    "launched.sequence_us.gddr": 700.0,
    "launched.sequence_us.hbm": 200.0,
    "launched.sequence_us.turing": 700.0,
}

# Eager transformers: host time hides behind the device as above; the cache is copied and widened
# at every step, so its traffic is a multiple of its size.
_EAGER = {
    "eager.mbu": 0.75,
    "eager.mbu_factor.8-bit": 0.50,
    "eager.mbu_factor.4-bit": 0.40,
    "eager.mbu_kv": 0.12,
    "eager.mfu": 0.45,
    "eager.mfu_factor.8-bit": 0.50,
    "eager.mfu_factor.4-bit": 0.80,
    "eager.mfu_decode_factor": 0.50,
    "eager.layer_us": 750.0,
    "eager.host_factor.4-bit": 1.2,
    "eager.host_factor.bnb-4-bit": 1.8,
    "eager.host_factor.8-bit": 4.5,
    "eager.step_us": 0.0,
    "eager.prompt_us": 1000.0,
    "eager.sequence_us": 0.0,
}

_LLAMA_CPP = {
    "llama.cpp.mbu.hbm": 0.55,
    "llama.cpp.mbu.gddr": 0.85,
    "llama.cpp.mbu.turing": 0.70,
    "llama.cpp.mbu.cpu": 0.45,
    "llama.cpp.mbu_factor.8-bit": 0.85,
    "llama.cpp.mbu_factor.4-bit": 0.80,
    "llama.cpp.mbu_kv": 0.50,
    "llama.cpp.mfu": 0.40,
    "llama.cpp.mfu.cpu": 0.30,
    "llama.cpp.mfu_factor.8-bit": 0.70,
    "llama.cpp.mfu_factor.4-bit": 0.60,
    "llama.cpp.layer_us": 100.0,
    "llama.cpp.layer_us.cpu": 15.0,
    "llama.cpp.step_us": 0.0,
    "llama.cpp.prompt_us": 500.0,
    "llama.cpp.sequence_us": 10.0,
}

_NEURON = {
    "neuron.mbu": 0.60,
    "neuron.mbu_factor.8-bit": 0.70,
    "neuron.mbu_factor.4-bit": 0.50,
    "neuron.mbu_kv": 0.32,
    "neuron.mfu": 0.60,
    "neuron.mfu_decode_factor": 0.50,
    "neuron.batched_prefill_factor": 0.40,
    "neuron.layer_us": 80.0,
    "neuron.step_us": 1000.0,
    "neuron.prompt_us": 500.0,
    "neuron.sequence_us": 10.0,
}

# PyTorch on a CPU (IPEX and the like). The published range of MBU is one of 4-bit weights; MFU is
# the p10 of all published prefills, for want of any on matrix units of a CPU.
_CPU = {
    "cpu.mbu": 0.32,
    "cpu.mbu_kv": 0.15,
    "cpu.mfu": 0.14,
    "cpu.layer_us": 100.0,
    "cpu.step_us": 0.0,
    "cpu.prompt_us": 1000.0,
    "cpu.sequence_us": 100.0,
}

# One all-reduce: latency (fixed, and per device), and the share of a link's one-way rate that the
# transfer reaches between two and among more devices. PCIe: aiconfigurator's operator tables of
# an L40S without NVLink (27, 31 and 37 us at 2, 4 and 8 devices; 15, 3.7 and 1.8 GB/s).
_LINKS = {
    "link.alpha_us.pcie": 25.4,
    "link.alpha_us.nvlink": 8.0,
    "link.alpha_us.neuronlink": 14.0,
    "link.alpha_per_device_us.pcie": 1.45,
    "link.alpha_per_device_us.nvlink": 0.0,
    "link.alpha_per_device_us.neuronlink": 0.0,
    "link.share_of_two.pcie": 0.94,
    "link.share_of_two.nvlink": 0.45,
    "link.share_of_two.neuronlink": 0.25,
    "link.share_of_more.pcie": 0.92,
    "link.share_of_more.nvlink": 0.45,
    "link.share_of_more.neuronlink": 0.25,
}

# An L4 is an L40S's silicon at 72 instead of 350 W. An L40S in prefill makes 0.65 x 362 TFLOP/s of
# its power; at the same energy per FLOP, 72 W make 48 TFLOP/s, 0.40 of the L4's peak: 0.62 x 0.65.
_POWER = {"power.mfu_factor.gddr-75w": 0.62}

PRIORS: Mapping[str, float] = MappingProxyType(
    _COMPILED | _LAUNCHED | _EAGER | _LLAMA_CPP | _NEURON | _CPU | _LINKS | _POWER
)
"""Parameter name -> prior value. *_us: microseconds; all others: a share or a factor."""

MOST_SHARE = 0.95
"""No engine is credited with more of a roof than this, whatever a fit would like."""
