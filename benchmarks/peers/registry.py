"""The tools that are compared, in the order of the report."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import version
from types import ModuleType


@dataclass(frozen=True, slots=True)
class Peer:
    """One tool. `installed`: it is a package, asked in the environment made for it."""

    name: str
    module: str
    installed: bool
    home: str

    def load(self) -> ModuleType:
        """Its module here: `answer`, `TRANSLATION`, and `DISTRIBUTION` or `VERSION`."""
        return import_module(f"benchmarks.peers.{self.module}")

    def version(self) -> str:
        """The version of the package that is installed, or of the formulas."""
        module = self.load()
        return version(module.DISTRIBUTION) if self.installed else str(module.VERSION)


PEERS = {
    peer.name: peer
    for peer in (
        Peer("naive", "naive", False, "any textbook"),
        Peer("llm-analysis", "llm_analysis", False, "github.com/cli99/llm-analysis"),
        Peer("mlsysim", "mlsysim", True, "github.com/harvard-edge/cs249r_book"),
        Peer("ridgepoint", "ridgepoint", True, "github.com/Isk4R1oT/ridgepoint"),
        Peer("servcalc", "servcalc", True, "github.com/sacom123/servcalc"),
    )
}
