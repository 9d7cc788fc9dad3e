"""The measurement "load": TTFT under concurrency, shared prompts and long prompts, over HTTP.

All times are a client's wall clock. The servers run one after another, each with the machine to
itself; two of them are started twice, because the most tokens of a step are fixed at the start.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from labkit.bench.engine.environment import EngineUnavailable, find_environment
from labkit.bench.engine.launch import Server, ServerSpec
from labkit.bench.engine.registry import ENGINES
from labkit.bench.engine.replayed import from_recording
from labkit.bench.engine.requests import SENTENCES, SLOTS
from labkit.bench.engine.scenes import LONG, Prompts, long_prompt, shared_prefix, staircase
from labkit.bench.engine.small import LABELS, small_server_spec
from labkit.bench.engine.small_server import Options
from labkit.bench.engine.vllm import MAX_MODEL_LEN, Flags, vllm_server
from labkit.bench.session import Measured, Session
from labkit.bench.weights import ensure_weights
from labkit.contract import Series
from labkit.contract.errors import UnknownNameError

SERVERS = ("plain", "continuous", "vllm")
USERS = (1, 4, 8)
QUICK_USERS = (1, 4)
# Most tokens of one step: all of a long prompt, or a piece of it.
WHOLE, PIECE = MAX_MODEL_LEN, 64
_PARTS = ("staircase", "prefix", "chunked")


@dataclass(frozen=True, slots=True)
class Plan:
    """How much is measured."""

    users: Sequence[int]
    repetitions: int


def measure(session: Session) -> Measured:
    """Series and facts as `bench.load` says."""
    wanted = _wanted(list(session.options.get("servers") or ()))
    weights = ensure_weights(session.report)
    missing = {name: why for name in wanted if (why := _missing(name))}
    here = [name for name in wanted if name not in missing]
    plan = Plan(QUICK_USERS, 1) if session.quick else Plan(USERS, 3)
    session.steps.total = session.steps.begun + sum(4 if n == "plain" else 7 for n in here)
    sentences = _tokens(weights.folder)
    facts: dict[str, Any] = {part: {} for part in _PARTS}
    facts["servers"] = {}
    for name in here:
        _measure_server(session, name, weights.folder, sentences, plan, facts)
    for name in missing:
        for part in _PARTS:
            if entry := from_recording("load", part, name):
                facts[part][name] = entry
    measured = Measured(series=list(_series(facts)), facts=facts)
    measured.facts |= {
        "weights": weights.source.key,
        "slots": SLOTS,
        "missing": missing,
    }
    measured.notes.append(
        "Latencies are wall clock: another program on this machine stretches all of them, so "
        "compare within this record."
    )
    return measured


def _wanted(names: list[str]) -> list[str]:
    for name in names:
        if name not in SERVERS:
            raise UnknownNameError("server", name, SERVERS)
    return [name for name in SERVERS if not names or name in names]


def _missing(name: str) -> str:
    return ENGINES[name].missing() if name in ENGINES else ENGINES["sequential"].missing()


def _tokens(folder: Path) -> list[list[int]]:
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    return [tokenizer(text).input_ids for text in SENTENCES]


def _measure_server(
    session: Session,
    name: str,
    folder: Path,
    sentences: Sequence[Sequence[int]],
    plan: Plan,
    facts: dict[str, Any],
) -> None:
    label = LABELS.get(name, "vLLM")
    head = {"label": label, "origin": ""}
    session.say(f"starting {label}")
    with Server(_spec(name, folder, step_tokens=WHOLE), session.report) as server:
        prompts = Prompts(sentences)
        levels = {}
        session.say(f"{label}: {' and then '.join(str(u) for u in plan.users)} users at once")
        for users in plan.users:
            levels[str(users)] = staircase(server.endpoint, prompts, users)
        facts["staircase"][name] = {**head, "levels": levels}
        session.say(f"{label}: prompts with the same beginning")
        pairs = shared_prefix(server.endpoint, prompts, plan.repetitions)
        facts["prefix"][name] = {**head, **pairs}
        if name != "plain":
            session.say(f"{label}: a long prompt, read in one step")
            whole = long_prompt(server.endpoint, prompts, plan.repetitions, WHOLE)
        session.say(f"ending {label}")
        facts["servers"][name] = {
            "ready_after_s": server.ready_after_s,
            "memory_bytes": server.memory_bytes(),
        }
    if name == "plain":
        return
    session.say(f"starting {label} with at most {PIECE} tokens a step")
    with Server(_spec(name, folder, step_tokens=PIECE), session.report) as server:
        session.say(f"{label}: a long prompt, read in pieces")
        pieces = long_prompt(server.endpoint, Prompts(sentences), plan.repetitions, PIECE)
    facts["chunked"][name] = {
        **head,
        "long_prompt_tokens": LONG,
        "whole": whole,
        "chunked": pieces,
    }


def _spec(name: str, folder: Path, *, step_tokens: int) -> ServerSpec:
    if name != "vllm":
        options = Options(name, str(folder), 0, SLOTS, step_tokens, share_prefixes=True)
        return small_server_spec(options)
    found = find_environment("vllm")
    if found is None:
        raise EngineUnavailable(
            "vLLM was here when this measurement began, and is gone: was labkit updated meanwhile? "
            "See `labkit engine list`, then measure again."
        )
    flags = Flags(
        max_num_seqs=SLOTS,
        enable_prefix_caching=True,
        enable_chunked_prefill=step_tokens < MAX_MODEL_LEN,
        max_num_batched_tokens=step_tokens,
    )
    return vllm_server(found.python, folder, flags, gpu=found.gpu)


def _series(facts: Mapping[str, Any]) -> list[Series]:
    """What was measured here, as series; replayed parts are facts only."""
    found: list[Series] = []

    def add(name: str, values: Sequence[float], label: str) -> None:
        found.append(Series(f"load.{name}", "ms", tuple(values), label))

    for name, part in facts["staircase"].items():
        if not part["origin"]:
            for users, level in part["levels"].items():
                add(f"{name}.c{users}.ttft", level["ttft_ms"], f"{name}: TTFT, {users} at once")
    for name, part in facts["prefix"].items():
        if not part["origin"]:
            add(f"prefix.{name}.cold", part["cold_ms"], f"{name}: TTFT, prompt never seen")
            add(f"prefix.{name}.warm", part["warm_ms"], f"{name}: TTFT, beginning seen before")
    for name, part in facts["chunked"].items():
        if not part["origin"]:
            for kind, words in (("whole", "in one step"), ("chunked", "in pieces")):
                worst = part[kind]["worst_ms"]
                add(f"chunked.{name}.{kind}", worst, f"{name}: worst gap, long prompt {words}")
    return found
