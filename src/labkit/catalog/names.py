"""Looking a thing up by name: case does not matter, aliases count, near misses are suggested."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from labkit.contract.errors import UnknownNameError


class Index:
    """Names and their aliases, folded; `resolve` gives the canonical name."""

    def __init__(self, what: str, aliases: Mapping[str, Iterable[str]]) -> None:
        self._what = what
        self._names = tuple(aliases)
        self._folded: dict[str, str] = {}
        for name, others in aliases.items():
            for spelling in (name, *others):
                self._folded[_fold(spelling)] = name

    def __contains__(self, name: str) -> bool:
        return _fold(name) in self._folded

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def resolve(self, name: str, hint: str = "") -> str:
        """The canonical name; raises `LabkitError` with the nearest names for an unknown one."""
        found = self._folded.get(_fold(name)) if isinstance(name, str) else None
        if found is None:
            # "A100" means one of the A100s before it means a V100.
            longer = [known for known in self._names if _fold(known).startswith(_fold(str(name)))]
            raise UnknownNameError(
                self._what, str(name), longer if name and longer else self._names, hint
            )
        return found


def _fold(name: str) -> str:
    return "-".join(name.strip().casefold().replace("_", "-").split())
