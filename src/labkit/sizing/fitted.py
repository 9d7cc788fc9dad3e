"""The calibration that ships. Made by `python -m benchmarks.calibrate`; do not edit.

Fitted 2026-11-30 to 570 published measurements (compiled 80, neuron 117, eager 187, launched 97,
llama.cpp 89), sources S01, S02, S03, S04, S06, S11, S12, S17, S24, S26, S30, S31 of
benchmarks/data/measurements.csv.
"""

from __future__ import annotations

from collections.abc import Mapping


FITTED: Mapping[str, float] = {
    "compiled.mbu.hbm": 0.7657,
    "compiled.mbu.gddr": 0.9189,
    "compiled.mbu.turing": 0.7354,
    "compiled.mbu_factor.8-bit@hbm": 0.8078,
    "compiled.mbu_factor.8-bit@gddr": 0.9189,
    "compiled.mbu_factor.4-bit": 0.6149,
    "compiled.mbu_kv.hbm": 0.8773,
    "compiled.mbu_kv.gddr": 0.7887,
    "compiled.mbu_kv.turing": 0.6,
    "compiled.mbu_kv_factor.pre-xqa": 0.2913,
    "compiled.mfu.hbm": 0.7544,
    "compiled.mfu.gddr": 0.6681,
    "compiled.mfu.turing": 0.4003,
    "compiled.mfu_factor.8-bit": 0.7677,
    "compiled.mfu_factor.4-bit": 0.6505,
    "compiled.layer_us": 44.25,
    "compiled.step_us": 198.5,
    "compiled.prompt_us": 500.3,
    "compiled.sequence_us": 9.801,
    "launched.mbu.gddr": 0.7581,
    "launched.mbu.turing": 0.7798,
    "launched.mbu_factor.4-bit": 0.579,
    "launched.mbu_kv": 0.4992,
    "launched.mfu": 0.4066,
    "launched.mfu.turing": 0.3025,
    "launched.mfu_factor.4-bit": 0.3112,
    "launched.layer_us": 759.6,
    "launched.host_factor.8-bit": 4.103,
    "launched.prompt_us": 1004.0,
    "launched.sequence_us.gddr": 971.7,
    "launched.sequence_us.hbm": 203.1,
    "launched.sequence_us.turing": 698.5,
    "eager.mbu": 0.675,
    "eager.mbu_factor.4-bit": 0.3238,
    "eager.mbu_kv": 0.1108,
    "eager.mfu": 0.4592,
    "eager.mfu_factor.4-bit": 0.8357,
    "eager.mfu_decode_factor": 0.4892,
    "eager.layer_us": 845.8,
    "eager.host_factor.4-bit": 1.239,
    "eager.host_factor.bnb-4-bit": 1.988,
    "eager.prompt_us": 1002.0,
    "llama.cpp.mbu.hbm": 0.5546,
    "llama.cpp.mbu.gddr": 0.861,
    "llama.cpp.mbu.cpu": 0.6619,
    "llama.cpp.mbu_factor.4-bit": 1.082,
    "llama.cpp.mbu_kv": 0.4984,
    "llama.cpp.mfu": 0.3404,
    "llama.cpp.mfu.cpu": 0.3086,
    "llama.cpp.mfu_factor.4-bit": 0.624,
    "llama.cpp.layer_us": 104.9,
    "llama.cpp.layer_us.cpu": 14.99,
    "llama.cpp.prompt_us": 500.0,
    "llama.cpp.sequence_us": 10.0,
    "neuron.mbu": 0.6193,
    "neuron.mbu_factor.8-bit": 0.6842,
    "neuron.mbu_kv": 0.3392,
    "neuron.mfu": 0.5743,
    "neuron.mfu_decode_factor": 0.4998,
    "neuron.batched_prefill_factor": 0.3803,
    "neuron.layer_us": 80.36,
    "neuron.step_us": 1008.0,
    "neuron.prompt_us": 505.3,
    "neuron.sequence_us": 10.01,
    "link.alpha_us.nvlink": 8.112,
    "link.alpha_us.neuronlink": 14.02,
    "link.share_of_two.nvlink": 0.4506,
    "link.share_of_more.nvlink": 0.4414,
    "link.share_of_more.neuronlink": 0.2159,
}
"""Parameter name -> value; names and units are those of `priors`."""

SPREADS: Mapping[tuple[str, str], Mapping[str, tuple[float, float, int]]] = {
    ("compiled", "gddr"): {
        "batched decode": (0.76, 1.6, 8),
        "prefill": (0.7547, 1.6, 20),
    },
    ("compiled", "hbm"): {
        "batched decode": (0.6903, 1.6, 13),
        "decode": (0.722, 1.6, 80),
        "prefill": (0.76, 1.6, 16),
        "sharded": (0.76, 1.6, 32),
    },
    ("compiled", "turing"): {
        "sharded": (0.76, 1.6, 33),
    },
    ("eager", "hbm"): {
        "batched decode": (0.76, 1.71, 77),
        "decode": (0.76, 1.6, 16),
        "prefill": (0.6387, 1.756, 93),
    },
    ("eager", "turing"): {
        "decode": (0.76, 1.6, 17),
    },
    ("launched", "gddr"): {
        "batched decode": (0.76, 1.746, 18),
        "decode": (0.694, 1.6, 11),
        "sharded": (0.76, 2.0, 40),
    },
    ("launched", "hbm"): {
        "sharded": (0.76, 2.0, 24),
    },
    ("launched", "turing"): {
        "decode": (0.694, 1.6, 11),
        "prefill": (0.7508, 2.0, 97),
        "sharded": (0.76, 2.0, 65),
    },
    ("llama.cpp", "cpu"): {
        "decode": (0.7262, 1.6, 49),
    },
    ("llama.cpp", "gddr"): {
        "decode": (0.76, 1.6, 14),
        "prefill": (0.5841, 2.0, 10),
    },
    ("llama.cpp", "hbm"): {
        "decode": (0.7475, 1.6, 34),
        "prefill": (0.5, 2.0, 30),
    },
    ("neuron", "neuron"): {
        "prefill": (0.642, 2.0, 39),
        "sharded": (0.76, 1.6, 78),
    },
}
"""(variant, hardware) -> kind of step -> (low, high, rows) of time / predicted."""
