"""Lab 01's known mistakes as a learner types them, where a number or an option does not do."""

from __future__ import annotations

from labkit.contract import Code
from labkit.exercises.lab01_roofline.figure import SOLUTION

_ROOFLINE = (
    "import numpy as np\n\n\ndef roofline(ai, peak, bw):\n    ai = np.asarray(ai)\n    return "
)
_RATE = """\
def decode_rate(params, bytes_per_weight, batch, bandwidth_gbps, peak_tflops):
    m = params * bytes_per_weight / (bandwidth_gbps * 1e9)
    c = 2 * params * batch / (peak_tflops * 1e12)
    return """

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
}
