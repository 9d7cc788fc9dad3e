"""Every engine by name: what it is, what it needs, and how a mode of it is made.

A new engine is a line here and a function ``make(bench) -> Mode``.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable
from dataclasses import dataclass
from importlib import metadata
from typing import Any

from labkit.bench.engine.environment import Installed, find_environment
from labkit.bench.engine.modes import Mode
from labkit.bench.progress import Report
from labkit.contract import LabkitError
from labkit.contract.errors import UnknownNameError


@dataclass(frozen=True, slots=True)
class Workbench:
    """What a mode may be made of: the loaded FP32 model, its tokenizer and folder, and the plan."""

    model: Any
    tokenizer: Any
    folder: Any
    device: str
    slots: int
    url: str
    report: Report


@dataclass(frozen=True, slots=True)
class Engine:
    """One way of serving.

    `make` is "module:function". `environment` names one of `environment`'s, where it needs its
    own; `module` a package that must be importable; `setting` an option without which it cannot
    run. `usual`: it is measured unless others are named. `serves`: `bench.load` can use it.
    """

    id: str
    label: str
    make: str
    needs: str
    environment: str = ""
    module: str = ""
    setting: str = ""
    usual: bool = True
    serves: bool = False

    def missing(self, options: dict[str, Any] | None = None) -> str:
        """Why it cannot run here, with the remedy; "" where it can."""
        if self.environment and find_environment(self.environment) is None:
            return f"{self.label} is not installed: `labkit engine install {self.environment}`."
        if self.module and importlib.util.find_spec(self.module) is None:
            return f"{self.label} is not installed: {self.needs}."
        if self.setting and not (options or {}).get(self.setting):
            return f'{self.label} needs an address: bench.engines(url="http://…/v1").'
        return ""

    def open(self, workbench: Workbench) -> Mode:
        """A mode of it, not yet entered."""
        module, _, function = self.make.partition(":")
        maker: Callable[[Workbench], Mode] = getattr(importlib.import_module(module), function)
        return maker(workbench)

    def installed(self) -> Installed | None:
        """Its own environment, where it has one and it is there."""
        return find_environment(self.environment) if self.environment else None

    def version(self) -> str:
        """The version of its environment or package; "" where there is none."""
        if found := self.installed():
            return found.version
        try:
            return metadata.version(self.module) if self.module else ""
        except metadata.PackageNotFoundError:  # then `missing` says so
            return ""


_MAKERS = "labkit.bench.engine.makers"
ENGINES = {
    engine.id: engine
    for engine in (
        Engine(
            id="sequential",
            label="transformers generate, one at a time",
            make=f"{_MAKERS}:sequential",
            needs="torch and transformers, which `make lab` brings",
            module="transformers",
        ),
        Engine(
            id="static",
            label="transformers generate, padded static batches",
            make=f"{_MAKERS}:static",
            needs="torch and transformers, which `make lab` brings",
            module="transformers",
        ),
        Engine(
            id="continuous",
            label="transformers continuous batching",
            make=f"{_MAKERS}:continuous",
            needs="torch and transformers, which `make lab` brings",
            module="transformers",
            serves=True,
        ),
        Engine(
            id="vllm",
            label="vLLM",
            make=f"{_MAKERS}:vllm",
            needs="Linux and an environment of its own",
            environment="vllm",
            serves=True,
        ),
        Engine(
            id="llama.cpp",
            label="llama.cpp (xllamacpp)",
            make=f"{_MAKERS}:llama_cpp",
            needs="the extra `llamacpp` (`pip install xllamacpp`)",
            module="xllamacpp",
            usual=False,
        ),
        Engine(
            id="url",
            label="an OpenAI-compatible server of yours",
            make=f"{_MAKERS}:url",
            needs="its address, and SmolLM2-135M-Instruct served there in FP32",
            setting="url",
            usual=False,
        ),
    )
}
BASELINE = "sequential"


def find_engine(name: str) -> Engine:
    """The engine of this name. Raises UnknownNameError with the nearest names."""
    try:
        return ENGINES[name]
    except KeyError:
        raise UnknownNameError("engine", name, ENGINES) from None


def chosen_engines(names: list[str]) -> list[Engine]:
    """The engines to measure: the usual ones, or the named ones with the baseline first.

    Raises UnknownNameError, and LabkitError for "sequential" alone: nothing would be compared.
    """
    if not names:
        return [engine for engine in ENGINES.values() if engine.usual]
    others = [
        find_engine(name) for name in dict.fromkeys(names) if find_engine(name).id != BASELINE
    ]
    if not others:
        raise LabkitError(f"Name at least one engine beside {BASELINE!r}: {', '.join(ENGINES)}.")
    return [ENGINES[BASELINE], *others]
