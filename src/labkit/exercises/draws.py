"""Seeds and draws: who gets which numbers, and no draw in which two mistakes look alike."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from random import Random
from typing import TYPE_CHECKING

from labkit.contract.errors import LabkitError
from labkit.contract.givens import Givens
from labkit.contract.probe import Probe
from labkit.contract.record import Record
from labkit.exercises.spec import Draw, Exercise, Tier

if TYPE_CHECKING:
    from labkit.exercises.facts import Facts

PRACTICE_DRAWS = 5
ATTEMPTS = 200


def personal_seed(exercise_id: str, learner: str) -> bytes:
    """sha256(exercise id + learner id): the same numbers on every machine of one learner."""
    return hashlib.sha256(f"{exercise_id}\0{learner}".encode()).digest()


def practice_seeds(exercise: Exercise, learner: str) -> list[bytes]:
    """Seeds of the draws that a function is tried on in the notebook."""
    base = personal_seed(exercise.id, learner)
    return [hashlib.sha256(base + bytes([i])).digest() for i in range(PRACTICE_DRAWS)]


def givens_for(
    exercise: Exercise,
    facts: Facts,
    *,
    learner: str,
    records: Mapping[str, Record] | None = None,
) -> Givens:
    """The learner's givens.

    Raises LabkitError when the exercise needs a measurement that has not been made.
    """
    _ask_for_what_is_missing(exercise, records or {})
    return drawn(exercise, facts, personal_seed(exercise.id, learner), records)


def _ask_for_what_is_missing(exercise: Exercise, records: Mapping[str, Record]) -> None:
    missing = [name for name in exercise.needs if name not in records]
    if missing:
        raise LabkitError(
            f"Exercise {exercise.id} works on your own measurement: "
            f"run the cell with bench.{missing[0]}() first, "
            f"or bench.{missing[0]}(replay=True) for a recording."
        )


def drawn(
    exercise: Exercise, facts: Facts, seed: bytes, records: Mapping[str, Record] | None = None
) -> Givens:
    """The first draw from this seed in which right and wrong answers can be told apart.

    Numbers of the learner's own (tier OWN) are what they are: they are not drawn again.
    """
    for attempt in range(ATTEMPTS):
        rng = Random(  # noqa: S311  # numbers for exercises, not secrets
            hashlib.sha256(seed + attempt.to_bytes(2, "big")).digest()
        )
        givens = Givens(exercise.id, exercise.draw(Draw(facts, rng, records or {})))
        if exercise.tier in (Tier.OWN, Tier.TRANSFER) or not collisions(exercise, givens):
            return givens
    raise LabkitError(f"No draw of exercise {exercise.id} tells its mistakes apart.")


def collisions(exercise: Exercise, givens: Givens) -> list[tuple[str, str]]:
    """Pairs of answers (reference or mistakes, by code) too close to be told apart."""
    judge = getattr(exercise.kind, "same", None)
    if judge is None:
        return []
    answers = [("reference", exercise.reference(givens))]
    made = [(str(m.code), m.value(givens)) for m in exercise.mistakes]
    answers += [(code, value) for code, value in made if value is not None]
    return [
        (name, other)
        for i, (name, value) in enumerate(answers)
        for other, value2 in answers[i + 1 :]
        if judge(value, value2)
    ]


def probe_for(
    exercise: Exercise,
    facts: Facts,
    seeds: Sequence[bytes],
    *,
    records: Mapping[str, Record] | None = None,
) -> Probe | None:
    """The calls to make on a function answer, one set per seed; None for other kinds.

    Raises LabkitError when the exercise needs a measurement that has not been made.
    """
    _ask_for_what_is_missing(exercise, records or {})
    draws = [drawn(exercise, facts, seed, records) for seed in seeds]
    return exercise.kind.probe(exercise, draws)
