"""What an exercise gives the learner: named numbers with unit and source."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from labkit.contract.view import number, table, text_table


@dataclass(frozen=True, slots=True)
class Given:
    """One given: `name` is how the notebook reaches it, `label` what a person reads.

    `value` is a number, text, or a list of numbers (samples: ``statistics.mean(g.runs_ms)``).
    """

    name: str
    value: Any
    unit: str
    label: str
    source: str = ""

    def shown(self) -> str:
        """Value and unit as text; of many numbers how many there are, and the first three."""
        if isinstance(self.value, list):
            first = ", ".join(number(value, 4) for value in self.value[:3])
            more = ", …" if len(self.value) > 3 else ""
            return f"{len(self.value)} numbers: {first}{more} {self.unit}".rstrip()
        value = self.value if isinstance(self.value, str) else number(self.value, 6)
        return f"{value} {self.unit}".rstrip()

    def to_json(self) -> dict[str, Any]:
        """A JSON object with the five fields."""
        return {
            "name": self.name,
            "value": self.value,
            "unit": self.unit,
            "label": self.label,
            "source": self.source,
        }


class Givens(Mapping[str, Any]):
    """The givens of one exercise: ``g.bandwidth_gbps`` or ``g["bandwidth_gbps"]``.

    Raises AttributeError (or KeyError) naming what there is when a name is not given.
    """

    def __init__(self, exercise: str, items: tuple[Given, ...]) -> None:
        self._exercise = exercise
        self._items = {item.name: item for item in items}

    def __getitem__(self, name: str) -> Any:
        if name not in self._items:
            raise KeyError(f"{name!r} is not given in {self._exercise}; given: {', '.join(self)}")
        return self._items[name].value

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        try:
            return self[name]
        except KeyError as error:
            raise AttributeError(str(error.args[0])) from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._items]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Givens) and dict(self) == dict(other)

    __hash__ = None  # type: ignore[assignment]  # a mapping, compared by value

    @property
    def items_(self) -> tuple[Given, ...]:
        """The givens with their labels, units and sources."""
        return tuple(self._items.values())

    def _rows(self) -> tuple[list[str], list[list[object]], str]:
        columns = ["Given", "Value", "In Python", "Source"]
        rows: list[list[object]] = [
            [item.label, item.shown(), f"g.{item.name}", item.source or "–"]
            for item in self._items.values()
        ]
        return columns, rows, f"Given for {self._exercise}"

    def __repr__(self) -> str:
        return text_table(*self._rows())

    def _repr_html_(self) -> str:
        return table(*self._rows())

    def to_json(self) -> dict[str, Any]:
        """A JSON object that `from_json` reads back."""
        return {
            "exercise": self._exercise,
            "items": [item.to_json() for item in self._items.values()],
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Givens:
        """Givens from what `to_json` wrote."""
        return cls(data["exercise"], tuple(Given(**item) for item in data["items"]))
