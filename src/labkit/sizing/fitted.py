"""The calibration that ships. Made by `python -m benchmarks.calibrate`; do not edit.

Fitted 2026-11-30 to 554 published measurements (compiled 80, neuron 117, eager 187, launched 81,
llama.cpp 89), sources S01, S02, S03, S04, S06, S11, S12, S17, S24, S26, S30, S31 of
benchmarks/data/measurements.csv.
"""

from __future__ import annotations

from collections.abc import Mapping


FITTED: Mapping[str, float] = {
    "compiled.mbu.hbm": 0.7531,
    "compiled.mbu.gddr": 0.8907,
    "compiled.mbu.turing": 0.7339,
    "compiled.mbu_factor.8-bit@hbm": 0.8003,
    "compiled.mbu_factor.8-bit@gddr": 0.8907,
    "compiled.mbu_factor.4-bit": 0.6164,
    "compiled.mbu_kv.hbm": 0.8999,
    "compiled.mbu_kv.gddr": 0.8004,
    "compiled.mbu_kv.turing": 0.6,
    "compiled.mbu_kv_factor.pre-xqa": 0.2933,
    "compiled.mfu.hbm": 0.7225,
    "compiled.mfu.gddr": 0.6483,
    "compiled.mfu.turing": 0.4003,
    "compiled.mfu_factor.8-bit": 0.8499,
    "compiled.mfu_factor.fp8": 0.7551,
    "compiled.mfu_factor.4-bit": 0.6505,
    "compiled.layer_us": 44.6,
    "compiled.step_us": 198.8,
    "compiled.prompt_us": 505.4,
    "compiled.sequence_us": 9.768,
    "launched.mbu.gddr": 0.7337,
    "launched.mbu.turing": 0.7996,
    "launched.mbu_factor.4-bit": 0.5643,
    "launched.mbu_kv": 0.499,
    "launched.mfu": 0.3754,
    "launched.mfu.turing": 0.3023,
    "launched.mfu_factor.4-bit": 0.2987,
    "launched.layer_us": 617.4,
    "launched.host_factor.8-bit": 4.784,
    "launched.prompt_us": 1004.0,
    "launched.sequence_us.gddr": 1005.0,
    "launched.sequence_us.hbm": 201.7,
    "launched.sequence_us.turing": 698.5,
    "eager.mbu": 0.6429,
    "eager.mbu_factor.4-bit": 0.3393,
    "eager.mbu_kv": 0.1127,
    "eager.mfu": 0.4348,
    "eager.mfu_factor.4-bit": 0.8404,
    "eager.mfu_decode_factor": 0.4899,
    "eager.layer_us": 847.2,
    "eager.host_factor.4-bit": 1.251,
    "eager.host_factor.bnb-4-bit": 1.986,
    "eager.prompt_us": 1008.0,
    "llama.cpp.mbu.hbm": 0.5498,
    "llama.cpp.mbu.gddr": 0.8636,
    "llama.cpp.mbu.cpu": 0.6494,
    "llama.cpp.mbu_factor.4-bit": 1.102,
    "llama.cpp.mbu_kv": 0.4983,
    "llama.cpp.mfu": 0.32,
    "llama.cpp.mfu.cpu": 0.3083,
    "llama.cpp.mfu_factor.4-bit": 0.6404,
    "llama.cpp.layer_us": 105.9,
    "llama.cpp.layer_us.cpu": 14.99,
    "llama.cpp.prompt_us": 500.4,
    "llama.cpp.sequence_us": 10.0,
    "neuron.mbu": 0.6157,
    "neuron.mbu_factor.8-bit": 0.6853,
    "neuron.mbu_kv": 0.3404,
    "neuron.mfu": 0.5807,
    "neuron.mfu_decode_factor": 0.5,
    "neuron.batched_prefill_factor": 0.3834,
    "neuron.layer_us": 80.43,
    "neuron.step_us": 1007.0,
    "neuron.prompt_us": 505.8,
    "neuron.sequence_us": 10.01,
    "link.alpha_us.nvlink": 8.089,
    "link.alpha_us.neuronlink": 14.03,
    "link.share_of_two.nvlink": 0.4516,
    "link.share_of_more.nvlink": 0.437,
    "link.share_of_more.neuronlink": 0.2047,
}
"""Parameter name -> value; names and units are those of `priors`."""

SPREADS: Mapping[tuple[str, str], Mapping[str, tuple[float, float, int]]] = {
    ("compiled", "gddr"): {
        "batched decode": (0.76, 1.6, 8),
        "decode": (0.722, 1.6, 80),
        "prefill": (0.76, 1.6, 20),
        "sharded": (0.76, 1.6, 33),
    },
    ("compiled", "hbm"): {
        "batched decode": (0.6905, 1.6, 13),
        "decode": (0.722, 1.6, 80),
        "prefill": (0.76, 1.6, 16),
        "sharded": (0.76, 1.6, 32),
    },
    ("compiled", "turing"): {
        "batched decode": (0.6975, 1.6, 21),
        "decode": (0.722, 1.6, 80),
        "prefill": (0.76, 1.6, 20),
        "sharded": (0.76, 1.6, 33),
    },
    ("eager", "hbm"): {
        "batched decode": (0.76, 1.708, 77),
        "decode": (0.76, 1.6, 16),
        "prefill": (0.6297, 1.866, 93),
    },
    ("eager", "turing"): {
        "batched decode": (0.76, 1.708, 77),
        "decode": (0.76, 1.6, 17),
        "prefill": (0.6297, 1.866, 93),
    },
    ("launched", "gddr"): {
        "batched decode": (0.76, 1.787, 18),
        "decode": (0.6653, 1.6, 11),
        "prefill": (0.6976, 1.723, 81),
        "sharded": (0.76, 1.841, 32),
    },
    ("launched", "hbm"): {
        "batched decode": (0.76, 1.787, 18),
        "decode": (0.6653, 1.6, 11),
        "prefill": (0.6976, 1.723, 81),
        "sharded": (0.76, 1.6, 16),
    },
    ("launched", "turing"): {
        "batched decode": (0.76, 1.787, 18),
        "decode": (0.6653, 1.6, 11),
        "prefill": (0.6976, 1.723, 81),
        "sharded": (0.76, 1.695, 49),
    },
    ("llama.cpp", "cpu"): {
        "decode": (0.7227, 1.6, 49),
        "prefill": (0.5, 2.0, 40),
    },
    ("llama.cpp", "gddr"): {
        "decode": (0.76, 1.6, 14),
        "prefill": (0.6473, 2.0, 10),
    },
    ("llama.cpp", "hbm"): {
        "decode": (0.7479, 1.6, 34),
        "prefill": (0.5, 2.0, 30),
    },
    ("neuron", "neuron"): {
        "prefill": (0.6531, 2.0, 39),
        "sharded": (0.76, 1.6, 78),
    },
}
"""(variant, hardware) -> kind of step -> (low, high, rows) of time / predicted."""
