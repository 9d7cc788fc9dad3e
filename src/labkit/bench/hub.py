"""SmolLM2-135M-Instruct's original BF16 weights from the Hugging Face hub, at a pinned commit.

`HF_HUB_OFFLINE`, `HF_HOME` and the hub's other variables mean what they always mean. Files that
the hub's own cache holds already are used without any network.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from labkit.bench.progress import Progress, Report
from labkit.bench.wheel import WrongFile

# Seconds to wait for a first answer: a captive network must not hold up the other source.
_TIMEOUT_S = 5.0


@dataclass(frozen=True, slots=True)
class HubSpec:
    """A repository on the hub at one commit, the files wanted, and the weights' SHA-256."""

    repository: str
    revision: str
    files: tuple[str, ...]
    weights: str
    weights_sha256: str
    weights_size: int


SMOLLM2 = HubSpec(
    repository="HuggingFaceTB/SmolLM2-135M-Instruct",
    revision="12fd25f77366fa6b3b4b768ec3050bf629380bac",
    files=("config.json", "generation_config.json", "tokenizer.json", "tokenizer_config.json"),
    weights="model.safetensors",
    weights_sha256="5af571cbf074e6d21a03528d2330792e532ca608f24ac70a143f6b369968ab8c",
    weights_size=269_060_552,
)


class HubUnavailable(Exception):  # noqa: N818  a fork in the road, not an error to show
    """The hub cannot deliver; `str()` is a short reason. The caller takes the other source."""


def fetch_original(spec: HubSpec, target: Path, report: Report) -> None:
    """Fill the folder `target` with the original model.

    Raises HubUnavailable when the hub does not answer or is switched off, and WrongFile when the
    weights are not the pinned ones.
    """
    names = (*spec.files, spec.weights)
    try:
        found = {name: _cached(spec, name) for name in names}
        if not all(found.values()):
            report(Progress("asking the Hugging Face hub"))
            _probe(spec)
            found = {name: _download(spec, name, report) for name in names}
    except Exception as error:  # whatever it is, there is a second source
        raise HubUnavailable(f"{type(error).__name__}: {str(error).splitlines()[0]}") from error
    for name, path in found.items():
        _adopt(Path(str(path)), target / name)
    with (target / spec.weights).open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
    if digest != spec.weights_sha256:
        raise WrongFile(
            f"{spec.weights} of {spec.repository} has SHA-256 {digest[:16]}…, expected "
            f"{spec.weights_sha256[:16]}…, so it is not used: clear that model from the hub's "
            "cache and try again."
        )


def _cached(spec: HubSpec, name: str) -> str | None:
    from huggingface_hub import try_to_load_from_cache

    found = try_to_load_from_cache(spec.repository, name, revision=spec.revision)
    return found if isinstance(found, str) else None


def _probe(spec: HubSpec) -> None:
    """One quick question, so that a dead network costs seconds and not the client's retries."""
    from huggingface_hub import HfApi

    HfApi().model_info(spec.repository, revision=spec.revision, timeout=_TIMEOUT_S)


def _download(spec: HubSpec, name: str, report: Report) -> str:
    from huggingface_hub import hf_hub_download

    class Bar(_Bar):
        """The client makes the bar itself, so the report travels in the class."""

        def show(self) -> None:
            report(Progress("SmolLM2 weights", self.done, self.total, "bytes"))

    return hf_hub_download(
        spec.repository,
        name,
        revision=spec.revision,
        etag_timeout=_TIMEOUT_S,
        tqdm_class=Bar if name == spec.weights else _Bar,
    )


class _Bar:
    """As much of a tqdm bar as the hub client uses; shows nothing."""

    def __init__(self, *_: object, **options: Any) -> None:
        self.done = int(options.get("initial") or 0)
        self.total: int | None = options.get("total")

    def __enter__(self) -> _Bar:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def show(self) -> None:
        """Nothing, unless a subclass has something to show it on."""

    def update(self, n: float | None = 1) -> None:
        """`n` more bytes have come."""
        self.done += int(n or 0)
        self.show()

    def close(self) -> None:
        """A bar that shows nothing has nothing to close."""

    update_transfer = set_postfix_str = set_transfer_postfix_str = lambda *_, **__: None


def _adopt(source: Path, target: Path) -> None:
    """A second name for the hub cache's file, or a copy where the file system has no links."""
    real = source.resolve()
    try:
        os.link(real, target)
    except OSError:  # another file system, or one without hard links
        shutil.copyfile(real, target)
