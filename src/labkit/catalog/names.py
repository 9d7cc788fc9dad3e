"""Looking a thing up by name: case does not matter, aliases count, near misses are suggested."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from labkit.contract.errors import UnknownNameError


class Index:
    """Names and their aliases, folded; `resolve` gives the canonical name.

    `fold` adds a second, looser reading of a name, asked only where the first finds nothing. A
    loose spelling that two things share names neither.
    """

    def __init__(
        self,
        what: str,
        aliases: Mapping[str, Iterable[str]],
        fold: Callable[[str], str] | None = None,
    ) -> None:
        self._what = what
        self._names = tuple(aliases)
        self._folded: dict[str, str] = {}
        self._fold = fold
        self._loose: dict[str, str] = {}
        shared: set[str] = set()
        for name, others in aliases.items():
            for spelling in (name, *others):
                self._folded[_fold(spelling)] = name
                if fold is not None and self._loose.setdefault(fold(spelling), name) != name:
                    shared.add(fold(spelling))
        for spelling in shared:
            del self._loose[spelling]

    def __contains__(self, name: str) -> bool:
        """Whether a thing has that very name or alias; letter case, "_" and "-" are alike."""
        return _fold(name) in self._folded

    def find(self, name: str) -> str | None:
        """The canonical name, read strictly and then loosely; None for an unknown one."""
        found = self._folded.get(_fold(name))
        if found is None and self._fold is not None:
            found = self._loose.get(self._fold(name))
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def resolve(self, name: str, hint: str = "") -> str:
        """The canonical name; raises `LabkitError` with the nearest names for an unknown one."""
        found = self.find(name) if isinstance(name, str) else None
        if found is None:
            # "A100" means one of the A100s before it means a V100.
            longer = [known for known in self._names if _fold(known).startswith(_fold(str(name)))]
            raise UnknownNameError(
                self._what, str(name), longer if name and longer else self._names, hint
            )
        return found


def _fold(name: str) -> str:
    return "-".join(name.strip().casefold().replace("_", "-").split())
