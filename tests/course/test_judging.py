"""A check that does not come back: the notebook ends it, and says what grading would say."""

from __future__ import annotations

import signal
import threading
import time
from typing import Any

import pytest

from labkit.contract import Code, Outcome, Status
from labkit.course import judging
from labkit.exercises import Facts, load
from labkit.exercises.lab06_attention import decode_functions as decoding

DECODER = load("06")["6.7"]


@pytest.fixture(scope="module")
def facts() -> Facts:
    return Facts.load()


@pytest.fixture(autouse=True)
def no_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judging, "CHECK_S", 0.5)


def checked(function: Any, facts: Facts) -> Outcome:
    return judging.judge_answer(DECODER, facts, function, draw="ada", records={})[1]


def without_the_targets_token(
    target: Any, draft: Any, prompt: list[int], new_tokens: int, gamma: int
) -> Any:
    """Where the first proposal is refused a round gives nothing, and the next is the same."""
    text: list[int] = []
    gained: list[int] = []
    while len(text) < new_tokens:
        proposal = decoding.drafted(draft, text[-1] if text else prompt[-1], gamma)
        said = decoding.chosen(target, [text[-1] if text else prompt[-1], *proposal])
        count = next((i for i in range(gamma) if proposal[i] != said[i]), gamma)
        text += proposal[:count]
        gained.append(count)
    return text[:new_tokens], gained


def test_a_decoder_whose_rounds_may_give_nothing_is_told_so(facts: Facts) -> None:
    before = signal.getsignal(signal.SIGALRM)
    told = checked(without_the_targets_token, facts)
    assert (told.status, told.code) == (Status.FAILED, Code.NO_END)
    assert "Does every round give a token?" in told.message
    assert signal.getitimer(signal.ITIMER_REAL) == (0, 0)
    assert signal.getsignal(signal.SIGALRM) == before


def test_an_answer_that_catches_everything_is_ended_too(facts: Facts) -> None:
    def stubborn(*_args: Any) -> Any:
        while True:
            try:
                time.sleep(1)
            except Exception:  # noqa: BLE001  # this is the point
                continue

    assert checked(stubborn, facts).code is Code.NO_END


def test_what_came_back_in_time_is_kept(facts: Facts) -> None:
    """The others are right, so only the slow one is spoken of."""

    def slow_at_the_last(*args: Any) -> Any:
        if args[3] == 1:
            time.sleep(9)
        return decoding.speculative_decode(*args)

    told = checked(slow_at_the_last, facts)
    assert told.code is Code.NO_END
    assert told.message.startswith("On ")


def test_in_another_thread_there_is_no_alarm_but_a_verdict(facts: Facts) -> None:
    found: list[Outcome] = []
    thread = threading.Thread(
        target=lambda: found.append(checked(decoding.speculative_decode, facts))
    )
    thread.start()
    thread.join()
    assert found[0].passed
