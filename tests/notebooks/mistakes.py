"""Known mistakes as a learner types them, where a number or an option does not do."""

from __future__ import annotations

from labkit.contract import Code
from labkit.exercises.lab01_roofline.figure import SOLUTION
from labkit.exercises.lab02_memory.figure import SOLUTION as BUDGET_BAR

_ROOFLINE = (
    "import numpy as np\n\n\ndef roofline(ai, peak, bw):\n    ai = np.asarray(ai)\n    return "
)
_RATE = """\
def decode_rate(params, bytes_per_weight, batch, bandwidth_gbps, peak_tflops):
    m = params * bytes_per_weight / (bandwidth_gbps * 1e9)
    c = 2 * params * batch / (peak_tflops * 1e12)
    return """

_COUNT = """\
def count_parameters(config):
    h, heads = config["hidden_size"], config["num_attention_heads"]
    kv_heads = {kv_heads}
    head_dim = {head_dim}
    q, kv = heads * head_dim, kv_heads * head_dim
    layer = h * (q + 2 * kv) + q * h + {mlp} * h * config["intermediate_size"] + {norms} * h
    table = config["vocab_size"] * h
    return {tables} * table + config["num_hidden_layers"] * layer + {last} * h
"""
_KV = """\
def kv_bytes_per_token(config, kv_bits=16):
    heads = config["num_attention_heads"]
    kv_heads = {kv_heads}
    head_dim = {head_dim}
    numbers = {tensors} * kv_heads * head_dim
    if {mla}:
        numbers = (config["kv_lora_rank"] + config["qk_rope_head_dim"]) * {tensors} / 2
    return {layers} * numbers * {bytes}
"""
_RIGHT = {
    "kv_heads": 'config.get("num_key_value_heads", heads)',
    "head_dim": 'config.get("head_dim", config["hidden_size"] // heads)',
    "mlp": "3",
    "norms": "2",
    "last": "1",
    "tables": '(1 if config["tie_word_embeddings"] else 2)',
    "tensors": "2",
    "mla": '"kv_lora_rank" in config',
    "layers": 'config["num_hidden_layers"]',
    "bytes": "kv_bits / 8",
}


def _but(template: str, **wrong: str) -> str:
    """The right function with one thing wrong."""
    return template.format(**(_RIGHT | wrong))


TYPED: dict[tuple[str, Code], str] = {
    ("1.7", Code.SUM_OF_ROOFS): _ROOFLINE + "peak + ai * bw",
    ("1.7", Code.WRONG_ROOF): _ROOFLINE + "np.maximum(peak, ai * bw)",
    ("1.7", Code.PEAK_FORGOTTEN): _ROOFLINE + "ai * bw",
    ("1.7", Code.INVERTED): _ROOFLINE + "np.minimum(peak, bw / np.maximum(ai, 1e-300))",
    ("1.7", Code.PREFIX): _ROOFLINE + "np.minimum(peak * 1e12, ai * bw * 1e9)",
    ("1.11", Code.ONE_SEQUENCE): _RATE + "1 / max(m, c)",
    ("1.11", Code.WEIGHTS_PER_SEQUENCE): _RATE + "batch / max(batch * m, c)",
    ("1.11", Code.WRONG_ROOF): _RATE + "batch / min(m, c)",
    ("1.11", Code.PEAK_FORGOTTEN): _RATE + "batch / m",
    ("1.11", Code.SUM_OF_ROOFS): _RATE + "batch / (m + c)",
    ("1.11", Code.MAC_ONE_FLOP): _RATE + "batch / max(m, c / 2)",
    ("1.8", Code.AXIS_SCALE): SOLUTION + '\nax.set_xscale("linear"); ax.set_yscale("linear")',
    ("1.8", Code.AXIS_LABEL): SOLUTION + '\nax.set_xlabel("intensity")',
    ("1.8", Code.SUM_OF_ROOFS): SOLUTION.replace("roofline(", "(lambda a, p, b: p + a * b)("),
    ("1.8", Code.WRONG_ROOF): SOLUTION.replace(
        "roofline(", "(lambda a, p, b: np.maximum(p, a * b))("
    ),
    ("2.11", Code.TYING_IGNORED): _but(_COUNT, tables="2"),
    ("2.11", Code.HEAD_NOT_STREAMED): _but(_COUNT, tables="1"),
    ("2.11", Code.MLP_TWO_MATRICES): _but(_COUNT, mlp="2"),
    ("2.11", Code.QUERY_HEADS): _but(_COUNT, kv_heads="heads"),
    ("2.11", Code.HEAD_DIM_GUESSED): _but(_COUNT, head_dim="h // heads"),
    ("2.11", Code.SHAPE): _but(_COUNT, kv_heads="heads", head_dim="h // heads"),
    ("2.11", Code.ONE_TENSOR): _but(_COUNT.replace("2 * kv", "kv")),
    ("2.11", Code.NORMS_FORGOTTEN): _but(_COUNT, norms="0", last="0"),
    ("2.11", Code.FINAL_NORM): _but(_COUNT, last="0"),
    ("2.8", Code.QUERY_HEADS): _but(_KV, kv_heads="heads"),
    ("2.8", Code.ONE_TENSOR): _but(_KV, tensors="1"),
    ("2.8", Code.PER_LAYER): _but(_KV, layers="1"),
    ("2.8", Code.HEAD_DIM_GUESSED): _but(_KV, head_dim='config["hidden_size"] // heads'),
    ("2.8", Code.BITS_AS_BYTES): _but(_KV, bytes="kv_bits"),
    ("2.8", Code.BYTES_PER_WEIGHT): _but(_KV, bytes="2"),
    ("2.8", Code.MLA_IGNORED): _but(_KV, mla="False"),
    ("2.8", Code.MLA_DOUBLED): _but(_KV.replace("{tensors} / 2", "2")),
    ("2.8", Code.MLA_PER_HEAD): _but(_KV.replace("{tensors} / 2", "heads")),
    ("2.8", Code.ROPE_FORGOTTEN): _but(_KV.replace(' + config["qk_rope_head_dim"]', "")),
    ("2.9", Code.NOT_STACKED): BUDGET_BAR.replace("left=start, ", ""),
    ("2.9", Code.AXIS_LABEL): BUDGET_BAR + '\nax.set_xlabel("memory")',
    ("2.9", Code.UTILIZATION_FORGOTTEN): BUDGET_BAR.replace("engine - not_used", "engine"),
    ("2.9", Code.BYTES_PER_WEIGHT): BUDGET_BAR.replace(
        "g.params_rest * 2", "g.params_rest * g.bytes_per_weight"
    ),
}
