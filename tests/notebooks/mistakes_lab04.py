"""Lab 04's known mistakes as a learner types them, where a number or an option does not do."""

from __future__ import annotations

from labkit.contract import Code
from labkit.exercises.lab04_quantization.figure import SOLUTION

_ROWS = """\
def quantize_rows(w):
    largest = {largest}
    scale = np.where(largest == 0, 1.0, largest / {levels})
    q = {round}(w / {spread}){clip}{store}
    return {result}
"""
_GROUPS = """\
def quantize_groups(w, group):
    parts = w.reshape({shape})
    largest = {largest}
    scale = np.where(largest == 0, 1.0, largest / {levels})
    q = {round}(parts / {spread}){clip}.astype(np.int8)
    return q.reshape(w.shape), {scale}
"""
_BOUND = """\
def speedup_bound(matrices, rest, bits_per_weight, batch, context, kv_bytes):
    cache = {cache}
    before = 2 * (matrices + rest) + cache
    after = matrices * {bytes} + {rest} + {kept}
    return {result}
"""
_RIGHT_ROWS = {
    "largest": "np.abs(w).max(axis=1)",
    "levels": "127",
    "round": "np.round",
    "spread": "scale[:, None]",
    "clip": "",
    "store": ".astype(np.int8)",
    "result": "q, scale",
}
_RIGHT_GROUPS = {
    "shape": "len(w), -1, group",
    "largest": "np.abs(parts).max(axis=2)",
    "levels": "7",
    "round": "np.round",
    "spread": "scale[..., None]",
    "clip": "",
    "scale": "scale",
}
_RIGHT_BOUND = {
    "cache": "batch * context * kv_bytes",
    "bytes": "bits_per_weight / 8",
    "rest": "2 * rest",
    "kept": "cache",
    "result": "before / after",
}
_ALL_ROWS = "np.full(len(w), np.abs(w).max())"
_ALL_GROUPS = "np.full(parts.shape[:2], np.abs(w).max())"


def _rows(**wrong: str) -> str:
    return _ROWS.format(**(_RIGHT_ROWS | wrong))


def _groups(**wrong: str) -> str:
    return _GROUPS.format(**(_RIGHT_GROUPS | wrong))


def _bound(**wrong: str) -> str:
    return _BOUND.format(**(_RIGHT_BOUND | wrong))


TYPED: dict[tuple[str, Code], str] = {
    ("4.7", Code.PER_TENSOR): _rows(largest=_ALL_ROWS),
    ("4.7", Code.WRONG_AXIS): _rows(largest="np.abs(w).max(axis=0)", spread="scale"),
    ("4.7", Code.ASYMMETRIC): _rows(levels="128", clip=".clip(-128, 127)"),
    ("4.7", Code.TRUNCATED): _rows(round=""),
    ("4.7", Code.SIGN): _rows(largest="w.max(axis=1)", clip=".clip(-127, 127)"),
    ("4.7", Code.INVERTED): _rows(result="q, 1 / scale"),
    ("4.7", Code.OTHER_QUANTITY): _rows(result="q * scale[:, None], scale"),
    ("4.10", Code.PER_TENSOR): _groups(largest=_ALL_GROUPS),
    ("4.10", Code.PER_CHANNEL): _groups(
        largest="np.repeat(np.abs(w).max(axis=1, keepdims=True), w.shape[1] // group, axis=1)"
    ),
    ("4.10", Code.WRONG_AXIS): _groups(
        shape="len(w), group, -1", largest="np.abs(parts).max(axis=1)", spread="scale[:, None, :]"
    ),
    ("4.10", Code.ASYMMETRIC): _groups(levels="8", clip=".clip(-8, 7)"),
    ("4.10", Code.BITS_AS_BYTES): _groups(levels="127"),
    ("4.10", Code.MAGNITUDE): _groups(levels="15", clip=".clip(-7, 7)"),
    ("4.10", Code.TRUNCATED): _groups(round=""),
    ("4.10", Code.SIGN): _groups(largest="parts.max(axis=2)", clip=".clip(-127, 127)"),
    ("4.9", Code.KV_FORGOTTEN): _bound(cache="0"),
    ("4.9", Code.KV_AS_WEIGHTS): _bound(kept="cache * bits_per_weight / 16"),
    ("4.9", Code.ONE_SEQUENCE): _bound(cache="context * kv_bytes"),
    ("4.9", Code.CONTEXT_FORGOTTEN): _bound(cache="batch * kv_bytes"),
    ("4.9", Code.HEAD_NOT_STREAMED): _bound(rest="0", result="(before - 2 * rest) / after"),
    ("4.9", Code.UNITS_MIXED): _bound(
        bytes="bits_per_weight", rest="16 * rest", result="(8 * before - 7 * cache) / after"
    ),
    ("4.9", Code.NAME_NOT_SIZE): _bound(bytes="4 / 8"),
    ("4.9", Code.HEAD_QUANTIZED): _bound(rest="rest * bits_per_weight / 8"),
    ("4.9", Code.BITS_AS_BYTES): _bound(bytes="bits_per_weight"),
    ("4.9", Code.INVERTED): _bound(result="after / before"),
    ("4.15", Code.MAGNITUDE): SOLUTION.replace(
        "[point - low, high - point]", "[np.abs(low), np.abs(high)]"
    ),
    ("4.15", Code.SERIES_MISSING): SOLUTION.replace("yerr=[point - low, high - point], ", ""),
    ("4.15", Code.AXIS_LABEL): SOLUTION.replace('"weights (MB)"', '"weights"'),
}
