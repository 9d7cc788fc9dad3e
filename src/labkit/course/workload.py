"""`my_workload.toml`: the learner's own use case, read and checked.

`labkit init` puts a template beside the labs. What cannot be right is told in one sentence that
names the field and its line.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from labkit.catalog import Catalog, ModelSpec
from labkit.contract import LabkitError
from labkit.contract.errors import nearest
from labkit.contract.view import number
from labkit.course.cards import Table
from labkit.sizing import SLO, EngineConfig, Workload
from labkit.sizing.inputs import require_count, require_positive

FILE = "my_workload.toml"
MOST_INSTANCES = 6
_TEMPLATE = Path(__file__).with_name(FILE)
_REGION = re.compile(r"[a-z]{2}(-[a-z]+)+-\d")


class WorkloadError(LabkitError):
    """my_workload.toml is missing, is not TOML, or says something that cannot be."""


@dataclass(frozen=True, slots=True)
class UseCase:
    """What a learner wants to serve, and what it may cost.

    Times in ms, money in USD; None where the learner has no wish. `example` is True while the
    file still says what the template says.
    """

    model: str
    weights: str
    prompt_tokens: int
    output_tokens: int
    requests_per_second: float
    ttft_ms: float | None
    tpot_ms: float | None
    region: str
    usd_per_month: float | None
    quality: str
    instances: tuple[str, ...]
    example: bool = False

    @property
    def traffic(self) -> Workload:
        """The same as the engine's `Workload`: `estimate(model, instance, config, use.traffic)`."""
        wished = self.ttft_ms is not None or self.tpot_ms is not None
        return Workload(
            self.prompt_tokens,
            self.output_tokens,
            self.requests_per_second,
            SLO(ttft_ms=self.ttft_ms, tpot_ms=self.tpot_ms) if wished else None,
        )

    def spec(self) -> ModelSpec:
        """The model, from the catalogue or from its config.json."""
        return ModelSpec.from_config(self.model)

    def _table(self) -> Table:
        rows = (
            ("Model", f"{self.model}, weights in {self.weights}"),
            ("A request", f"{self.prompt_tokens:,} prompt + {self.output_tokens:,} output tokens"),
            ("Traffic", f"{number(self.requests_per_second)} requests/s"),
            ("Wished TTFT", _wish(self.ttft_ms, "at most {} ms")),
            ("Wished TPOT", _wish(self.tpot_ms, "at most {} ms")),
            ("Region", self.region),
            ("Budget", _wish(self.usd_per_month, "{} USD a month")),
            ("Quality", self.quality),
            ("Machines to compare", ", ".join(self.instances)),
        )
        notes = (EXAMPLE_NOTE,) if self.example else ()
        return Table(("What", f"As {FILE} says"), rows, "Your use case", notes)

    def __repr__(self) -> str:
        return str(self._table())

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return self._table()._repr_mimebundle_()


EXAMPLE_NOTE = f"This is still the example: write your own use case into {FILE} and save it."


def template() -> bytes:
    """The file that a new workspace gets."""
    return _TEMPLATE.read_bytes()


def read_use_case(folder: Path) -> UseCase:
    """The use case in a workspace. Raises WorkloadError with one sentence."""
    path = folder / FILE
    try:
        text = path.read_text(encoding="utf-8-sig")  # Windows editors begin a file with a mark
    except FileNotFoundError:
        raise WorkloadError(
            f"{FILE} is not in your workspace: `labkit init . --update`, run there in a terminal, "
            "puts a fresh one beside the labs."
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise WorkloadError(f"{FILE} cannot be read: {error}.") from None
    return parse(text)


def parse(text: str) -> UseCase:
    """The use case that a TOML text describes. Raises WorkloadError with one sentence."""
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise WorkloadError(
            f"{FILE} is not TOML: {error}. Text needs quotes, numbers need none and no commas."
        ) from None
    lines = _lines(text)
    flat = _flat(data, lines)
    found = {field: check(field, flat, lines) for field, check in FIELDS.items()}
    return UseCase(
        model=found["model.name"],
        weights=found["model.weights"] or ModelSpec.from_config(found["model.name"]).native_format,
        prompt_tokens=found["traffic.prompt_tokens"],
        output_tokens=found["traffic.output_tokens"],
        requests_per_second=found["traffic.requests_per_second"],
        ttft_ms=found["speed.ttft_ms"],
        tpot_ms=found["speed.tpot_ms"],
        region=found["money.region"],
        usd_per_month=found["money.usd_per_month"],
        quality=found["quality.needs"],
        instances=found["shortlist.instances"],
        example=data == tomllib.loads(template().decode("utf-8")),
    )


# --- one field at a time -------------------------------------------------------------------------

_Check = Callable[[str, Mapping[str, Any], Mapping[str, int]], Any]


def _field(check: Callable[[str, Any], Any], *, optional: bool = False) -> _Check:
    """Read one field with `check(name, value)`, whose LabkitError gets the field's line."""

    def read(field: str, flat: Mapping[str, Any], lines: Mapping[str, int]) -> Any:
        if field not in flat:
            if optional:
                return None
            raise WorkloadError(_missing(field, lines))
        try:
            return check(field, flat[field])
        except LabkitError as error:
            raise WorkloadError(f"{_at(field, lines)}: {error}") from None

    return read


def _count(field: str, value: Any) -> int:
    require_count(field, value)
    return int(value)


def _amount(field: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise LabkitError(f"{field} must be a number above 0, not {value!r}.")
    require_positive(field, value)
    return value


def _text(field: str, value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise LabkitError(f"{field} must be text in quotes, not {value!r}.")
    return value.strip()


def _model(field: str, value: Any) -> str:
    name = _text(field, value)
    spec = ModelSpec.from_config(name)
    if spec.kind != "decoder":
        raise LabkitError(f"{field} is {name!r}, which writes no tokens: name a language model.")
    return name


def _weights(field: str, value: Any) -> str:
    EngineConfig(weights=_text(field, value), kv="bf16")  # an unknown format raises
    return _text(field, value)


def _region(field: str, value: Any) -> str:
    if not isinstance(value, str) or not _REGION.fullmatch(value):
        raise LabkitError(f"{field} must be written as AWS does, e.g. us-east-1, not {value!r}.")
    return value


def _instances(field: str, value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not 1 <= len(value) <= MOST_INSTANCES:
        raise LabkitError(f"{field} must list one to {MOST_INSTANCES} instance types.")
    catalog = Catalog.load()
    names = [catalog.instance(_text(field, name)).name for name in value]
    return tuple(dict.fromkeys(names))


FIELDS: dict[str, _Check] = {
    "model.name": _field(_model),
    "model.weights": _field(_weights, optional=True),
    "traffic.prompt_tokens": _field(_count),
    "traffic.output_tokens": _field(_count),
    "traffic.requests_per_second": _field(_amount),
    "speed.ttft_ms": _field(_amount, optional=True),
    "speed.tpot_ms": _field(_amount, optional=True),
    "money.region": _field(_region),
    "money.usd_per_month": _field(_amount, optional=True),
    "quality.needs": _field(_text),
    "shortlist.instances": _field(_instances),
}


def _flat(data: Mapping[str, Any], lines: Mapping[str, int]) -> dict[str, Any]:
    """{"traffic.prompt_tokens": 800, …}. Raises WorkloadError for a field that nobody reads."""
    flat: dict[str, Any] = {}
    for section, content in data.items():
        if isinstance(content, dict):
            flat |= {f"{section}.{key}": value for key, value in content.items()}
        else:
            flat[section] = content
    for field in flat:
        if field not in FIELDS:
            near = nearest(field, FIELDS, n=1) or nearest(field, [f.split(".")[1] for f in FIELDS])
            hint = f"did you mean {near[0]}?" if near else f"known: {', '.join(FIELDS)}."
            raise WorkloadError(f"{_at(field, lines)}: unknown field {field}: {hint}")
    return flat


def _lines(text: str) -> dict[str, int]:
    """The line of each section and field; tomllib keeps none."""
    found: dict[str, int] = {}
    section = ""
    for n, line in enumerate(text.splitlines(), start=1):
        header = re.match(r"\s*\[\s*([\w-]+)\s*\]", line)
        entry = re.match(r"\s*([\w.-]+)\s*=", line)
        if header:
            section = header[1]
            found.setdefault(section, n)
        elif entry:
            found.setdefault(f"{section}.{entry[1]}".lstrip("."), n)
    return found


def _at(field: str, lines: Mapping[str, int]) -> str:
    return f"{FILE}, line {lines[field]}" if field in lines else FILE


def _missing(field: str, lines: Mapping[str, int]) -> str:
    section, _, key = field.partition(".")
    where = (
        f"below [{section}] in line {lines[section]}"
        if section in lines
        else f"below a line [{section}]"
    )
    return f"{FILE} lacks {field}: add a line `{key} = …` {where}."


def _wish(value: float | None, words: str) -> str:
    return "no wish" if value is None else words.format(number(value))
