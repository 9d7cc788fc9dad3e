"""The words that every room shares: answers, outcomes, records, givens, wire format, paths.

Nothing here imports another room of labkit, or anything beyond the standard library at import
time, so the grading sandbox can carry it without carrying a single reference value.
"""

from labkit.contract.codes import Code
from labkit.contract.errors import LabkitError
from labkit.contract.givens import Given, Givens
from labkit.contract.outcome import Outcome, Status
from labkit.contract.quantity import Q
from labkit.contract.record import MIME_RECORD, Record, Series

__all__ = [
    "MIME_RECORD",
    "Code",
    "Given",
    "Givens",
    "LabkitError",
    "Outcome",
    "Q",
    "Record",
    "Series",
    "Status",
]
