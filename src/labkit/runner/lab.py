"""The sandbox's `Lab`: the notebook's own calls, of which only `given`, `check`, `carry` do work.

Learners never see what is displayed here. Every method accepts what the notebook's `Lab` accepts,
so that a lab runs unchanged from the first cell to the last.
"""

from __future__ import annotations

from typing import Any

from labkit.contract.givens import Givens
from labkit.contract.outcome import Outcome, Status
from labkit.runner.session import current

_QUIET = "Grading only records answers."


class Lab:
    """Records the answers of one lab. Raises LabkitError outside of a grading run."""

    def __init__(self, lab: str, *_args: Any, **_kwargs: Any) -> None:
        self.lab = str(lab).zfill(2)
        self._session = current()

    def given(self, exercise: str, *_args: Any, **_kwargs: Any) -> Givens:
        """The learner's givens. Raises LabkitError for an exercise that this lab has not."""
        return self._session.givens(str(exercise))

    def check(self, exercise: str, answer: object = ..., *_args: Any, **_kwargs: Any) -> Outcome:
        """Record the answer as it is at this moment. The verdict is the judge's, later."""
        self._session.record(str(exercise), answer)
        return Outcome(str(exercise), Status.NOT_ATTEMPTED, _QUIET)

    def carry(self, exercise: str, *_args: Any, **_kwargs: Any) -> Any:
        """What was last checked for another exercise, of this lab or brought from another.

        Raises LabkitError where there is nothing.
        """
        return self._session.last_answer(str(exercise))

    def predict(self, *_args: Any, **_kwargs: Any) -> None:
        """Nothing: predictions are not graded."""

    def hint(self, *_args: Any, **_kwargs: Any) -> str:
        """No hint, only the word that grading records."""
        return _QUIET

    def solution(self, *_args: Any, **_kwargs: Any) -> str:
        """No solution, only the word that grading records."""
        return _QUIET

    def progress(self, *_args: Any, **_kwargs: Any) -> str:
        """No progress, only the word that grading records."""
        return _QUIET

    def preflight(self, *_args: Any, **_kwargs: Any) -> str:
        """No look at this machine, only the word that grading records."""
        return _QUIET

    def workload(self, *_args: Any, **_kwargs: Any) -> str:
        """No use case: it is not handed in."""
        return _QUIET

    def reprice(self, *_args: Any, **_kwargs: Any) -> str:
        """No price, only the word that grading records."""
        return _QUIET

    def __repr__(self) -> str:
        return f"Lab({self.lab!r}): {_QUIET}"
