"""`UserRate`: a price that the catalogue lacks, given by the user with its source and its date.

Savings Plans, Capacity Blocks, token APIs (Bedrock) and serverless rates are in no table of ours:
they differ by term, payment and contract. They are inputs, never defaults. What nobody gives is
refused as UNKNOWN_PRICE, with a sentence that names the missing input.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date

from labkit.catalog.provenance import PRICE_LIFE
from labkit.catalog.specs import Price, Provenance
from labkit.contract.errors import UnknownNameError
from labkit.sizing.checks import SizingError
from labkit.sizing.money import require_usd
from labkit.sizing.refusal import Refusal, RefusalCode


@dataclass(frozen=True, slots=True)
class RateKind:
    """What a rate may price: its one unit, what its `subject` is, and the words for both."""

    unit: str
    subject: str
    words: str
    regional: bool = True


_HOURLY = ("USD/h", "instance type")
RATE_KINDS: Mapping[str, RateKind] = {
    "on-demand": RateKind(*_HOURLY, "EC2 On-Demand price"),
    "spot": RateKind(*_HOURLY, "EC2 Spot price"),
    "ec2-instance-savings-plan": RateKind(*_HOURLY, "EC2 Instance Savings Plan rate"),
    "compute-savings-plan": RateKind(*_HOURLY, "Compute Savings Plan rate"),
    "capacity-block": RateKind(*_HOURLY, "Capacity Block price"),
    "sagemaker": RateKind(*_HOURLY, "SageMaker hosting price"),
    "sagemaker-savings-plan": RateKind(*_HOURLY, "SageMaker Savings Plan rate"),
    "token-api-input": RateKind("USD/1M tokens", "model", "token API's input price", False),
    "token-api-output": RateKind("USD/1M tokens", "model", "token API's output price", False),
    "serverless-compute": RateKind("USD/GB-s", "endpoint", "serverless compute price", False),
}


@dataclass(frozen=True, slots=True)
class UserRate:
    """One price from the user: `value` in `unit`, where it was read, and the day it was true.

    `option` is a key of `RATE_KINDS`; `subject` the instance type (or the API's model) that it
    prices; `region` where the kind is regional; `label` tells variants apart, such as
    "1 year, no upfront". An hourly Savings Plan rate is the effective one: an upfront payment
    spread over the term. Raises `SizingError` or `UnknownNameError`, one sentence each.
    """

    value: float
    unit: str
    source: str
    as_of: date
    option: str = field(kw_only=True)
    subject: str = field(kw_only=True)
    region: str = field(default="", kw_only=True)
    label: str = field(default="", kw_only=True)

    def __post_init__(self) -> None:
        if self.option not in RATE_KINDS:
            raise UnknownNameError("rate", str(self.option), RATE_KINDS)
        kind = RATE_KINDS[self.option]
        if self.unit != kind.unit:
            raise SizingError(f"The rate {self.option} is in {kind.unit}, not in {self.unit!r}.")
        require_usd(f"The rate {self.option}", self.value, kind.unit)
        for name, text in (("a source", self.source), (f"its {kind.subject}", self.subject)):
            if not isinstance(text, str) or not text.strip():
                raise SizingError(f"The rate {self.option} needs {name}.")
        if not isinstance(self.as_of, date):
            raise SizingError(
                f"The rate {self.option} needs the day it was read, as YYYY-MM-DD, "
                f"not {self.as_of!r}."
            )
        if kind.regional and not self.region:
            raise SizingError(f"The rate {self.option} needs its region, e.g. us-east-1.")
        # SageMaker writes the same machine as ml.g5.xlarge.
        object.__setattr__(self, "subject", self.subject.strip().removeprefix("ml."))

    @property
    def provenance(self) -> Provenance:
        """The rate as a dated fact; like the catalogue's prices it keeps 90 days."""
        return Provenance(
            source=f"given by the user: {self.source}",
            as_of=self.as_of,
            expires=self.as_of + PRICE_LIFE,
            note=self.label,
        )

    def as_price(self) -> Price:
        """An hourly rate in the shape of the catalogue's prices."""
        return Price(self.option, self.value, self.region, self.provenance)


def matching(
    rates: Sequence[UserRate], option: str, subject: str, region: str = ""
) -> tuple[UserRate, ...]:
    """The rates of that kind for that subject, and in that region where the kind is regional."""
    regional = RATE_KINDS[option].regional
    return tuple(
        rate
        for rate in rates
        if rate.option == option
        and rate.subject == subject
        and (not regional or rate.region == region)
    )


def unknown_price(option: str, subject: str, region: str = "") -> Refusal:
    """UNKNOWN_PRICE, and which input would put it right."""
    kind = RATE_KINDS[option]
    where = f" in {region}" if kind.regional else ""
    return Refusal(
        RefusalCode.UNKNOWN_PRICE,
        f"No {kind.words} of {subject}{where} is known: give it as the rate {option} in "
        f"{kind.unit}, with its source and date.",
    )


def read_rates(rows: Iterable[Mapping[str, str]]) -> tuple[UserRate, ...]:
    """Rates from table rows (a CSV with the columns option, subject, value, unit, source, as_of,
    and optionally region and label).

    Raises `SizingError` with the row's number, counted from 1 below the header.
    """
    found = []
    for number, row in enumerate(rows, start=1):
        cells = {key: (text or "").strip() for key, text in row.items() if isinstance(key, str)}
        missing = [key for key in _COLUMNS if not cells.get(key)]
        if missing:
            raise SizingError(f"Row {number} of the rates lacks {' and '.join(missing)}.")
        try:
            value = float(cells["value"])
        except ValueError:
            raise SizingError(
                f"Row {number} of the rates: value must be a number, not {cells['value']!r}."
            ) from None
        try:
            as_of = date.fromisoformat(cells["as_of"])
        except ValueError:
            raise SizingError(
                f"Row {number} of the rates: as_of must be a day as YYYY-MM-DD, "
                f"not {cells['as_of']!r}."
            ) from None
        try:
            rate = UserRate(
                value,
                cells["unit"],
                cells["source"],
                as_of,
                option=cells["option"],
                subject=cells["subject"],
                region=cells.get("region", ""),
                label=cells.get("label", ""),
            )
        except (SizingError, UnknownNameError) as error:
            raise SizingError(f"Row {number} of the rates: {error}") from None
        found.append(rate)
    return tuple(found)


_COLUMNS = ("option", "subject", "value", "unit", "source", "as_of")
