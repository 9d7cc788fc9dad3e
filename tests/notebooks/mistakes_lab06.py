"""Lab 06's known mistakes as a learner types them, where a number or an option does not do."""

from __future__ import annotations

from labkit.contract import Code
from labkit.exercises.lab06_attention.figure import SOLUTION

_BLOCKS = """\
def block_attention(q, k, v, block):
    largest = np.full(len(q), {start})
    total = np.zeros(len(q))
    out = np.zeros((len(q), v.shape[1]))
    for at in range(0, {keys}, block):
        part = k[at : at + block]
        scores = q @ part.T / {root}
        new = {new}
        shrink = np.exp(largest - new)
        weights = np.exp(scores - new[:, None])
        total = total{total} + weights.sum(axis=1)
        out = out{out} + weights @ v[at : at + block]
        largest = new
    return out / total[:, None]
"""
_NAIVE = """\
def block_attention(q, k, v, block):
    scores = q @ k.T / np.sqrt(q.shape[1])
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    return weights @ v{divided}
"""
_AVERAGED = """\
def block_attention(q, k, v, block):
    answers = []
    for at in range(0, len(k), block):
        scores = q @ k[at : at + block].T / np.sqrt(q.shape[1])
        weights = np.exp(scores - scores.max(axis=1, keepdims=True))
        answers.append(weights @ v[at : at + block] / weights.sum(axis=1, keepdims=True))
    return sum(answers) / len(answers)
"""
_DECODE = """\
def speculative_decode(target, draft, prompt, new_tokens, gamma):
    text, gained = [], []
    while len(text) < new_tokens:
        last = text[-1] if text else prompt[-1]
        proposal = []
        for _ in range(gamma):
            proposal += choices(draft, [proposal[-1] if proposal else {begin}])
        said = choices(target, [last, *proposal])
        {shift}
        count = 0
        while count < gamma and proposal[count] == said[count]:
            count += 1
        new = {new}
        new = new[: {room}]
        text += new
        gained.append(len(new))
    return text, gained
"""
_ALONE = """\
def speculative_decode(target, draft, prompt, new_tokens, gamma):
    text = []
    while len(text) < new_tokens:
        text += choices(target, [text[-1] if text else prompt[-1]])
    return text, [1] * new_tokens
"""
_GAMMA = """\
def best_gamma(alpha, c):
    speedups = [{tokens} / ({cost}) for n in range({first}, 17)]
    best = speedups.index(max(speedups))
    return best + {first}, speedups[best]
"""
_RIGHT = {
    "start": "-np.inf",
    "keys": "len(k)",
    "root": "np.sqrt(q.shape[1])",
    "new": "np.maximum(largest, scores.max(axis=1))",
    "total": " * shrink",
    "out": " * shrink[:, None]",
}
_RIGHT_DECODE = {
    "begin": "last",
    "shift": "",
    "new": "[*proposal[:count], said[count]]",
    "room": "new_tokens - len(text)",
}
_RIGHT_GAMMA = {
    "tokens": "sum(alpha**i for i in range(n + 1))",
    "cost": "n * c + 1",
    "first": "0",
}


def _blocks(**wrong: str) -> str:
    return _BLOCKS.format(**(_RIGHT | wrong))


def _decode(**wrong: str) -> str:
    return _DECODE.format(**(_RIGHT_DECODE | wrong))


def _gamma(**wrong: str) -> str:
    return _GAMMA.format(**(_RIGHT_GAMMA | wrong))


TYPED: dict[tuple[str, Code], str] = {
    ("6.6", Code.MEMORY_LIMIT): _NAIVE.format(divided=" / weights.sum(axis=1, keepdims=True)"),
    ("6.6", Code.NOT_RESCALED): _blocks(total="", out=""),
    ("6.6", Code.SUM_NOT_RESCALED): _blocks(total=""),
    ("6.6", Code.OUTPUT_NOT_RESCALED): _blocks(out=""),
    ("6.6", Code.AVERAGED_BLOCKS): _AVERAGED,
    ("6.6", Code.NOT_NORMALIZED): _NAIVE.format(divided=""),
    ("6.6", Code.SCALE_FORGOTTEN): _blocks(root="1"),
    ("6.6", Code.LAST_BLOCK): _blocks(keys="len(k) // (block := min(block, len(k))) * block"),
    ("6.6", Code.MAX_FORGOTTEN): _blocks(start="0.0", new="largest"),
    ("6.6", Code.START_AT_ZERO): _blocks(start="0.0"),
    ("6.7", Code.AS_PRINTED): "speculative_decode = broken_decode",
    ("6.7", Code.UNVERIFIED): _decode(new="proposal"),
    ("6.7", Code.OFF_BY_ONE): _decode(shift="said = [*said[1:], said[-1]]"),
    ("6.7", Code.PAST_REFUSAL): _decode(
        new="[*(p for p, s in zip(proposal, said) if p == s), said[-1]]"
    ),
    ("6.7", Code.BONUS_FORGOTTEN): _decode(
        new="[*proposal[:count], said[count]] if count < gamma else proposal"
    ),
    ("6.7", Code.STALE_DRAFT): _decode(begin="prompt[-1]"),
    ("6.7", Code.SLOWER): _ALONE,
    ("6.7", Code.OVERSHOOT): _decode(room="gamma + 1"),
    ("6.8", Code.LIMIT_LEFT_OUT): _gamma(first="1"),
    ("6.8", Code.FREE_DRAFT): _gamma(cost="1"),
    ("6.8", Code.COST_ONCE): _gamma(cost="(c if n else 0) + 1"),
    ("6.8", Code.BONUS_FORGOTTEN): _gamma(tokens="sum(alpha**i for i in range(n))"),
    ("6.8", Code.PAST_REFUSAL): _gamma(tokens="(1 + alpha * n)"),
    ("6.15", Code.FREE_DRAFT): SOLUTION.replace("(n * g.c + 1)", "1"),
    ("6.15", Code.BONUS_FORGOTTEN): SOLUTION.replace("range(n + 1)) /", "range(n)) /"),
    ("6.15", Code.COST_ONCE): SOLUTION.replace("(n * g.c + 1)", "(g.c + 1)"),
    ("6.15", Code.SERIES_MISSING): SOLUTION.replace("g.measured_speedup[1:]", "[0.01] * 9").replace(
        "g.measured_gamma[1:]", "list(range(1, 10))"
    ),
    ("6.15", Code.AXIS_LABEL): SOLUTION.replace('"γ, drafted tokens per round"', '"x"'),
}
