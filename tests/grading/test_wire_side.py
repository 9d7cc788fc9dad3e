"""Lines and messages from a hostile process: what counts, what is passed over."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from labkit.grading.lines import Lines
from labkit.grading.transcript import MAX_ATTEMPTS, End, Scribe, clean


def scribe(*messages) -> Scribe:
    made = Scribe(frozenset({"90.1", "90.3"}))
    for message in messages:
        made.take(message)
    return made


def number(value: float) -> dict:
    return {"t": "answer", "id": "90.1", "answer": {"kind": "quantity", "number": value}}


BLANK = {"t": "answer", "id": "90.1", "answer": {"kind": "blank"}}


@given(st.lists(st.binary(max_size=40)), st.integers(1, 7))
def test_lines_do_not_depend_on_how_the_bytes_arrive(parts, size):
    stream = b"\n".join(part.replace(b"\n", b"") for part in parts) + b"\n"
    whole = list(Lines().feed(stream))
    pieces = Lines()
    cut = [stream[i : i + size] for i in range(0, len(stream), size)]
    assert [line for piece in cut for line in pieces.feed(piece)] == whole


def test_a_long_line_is_left_out_and_the_next_one_read():
    lines = Lines(max_line=10)
    assert list(lines.feed(b"x" * 25)) == []
    assert list(lines.feed(b"y" * 5 + b"\nshort\n")) == [b"short"]
    assert list(lines.feed(b"z" * 11 + b"\nagain\n")) == [b"again"]
    assert lines.too_long == 2


def test_more_than_the_total_is_a_flood():
    lines = Lines(max_total=20)
    assert list(lines.feed(b"1\n2\n")) == [b"1", b"2"]
    assert not lines.flooded
    assert list(lines.feed(b"x" * 20)) == []
    assert lines.flooded


@given(
    st.dictionaries(
        st.sampled_from(["t", "id", "answer", "cell", "results", "how", "ename", "evalue", "n"]),
        st.one_of(
            st.none(), st.integers(), st.text(), st.lists(st.integers(), max_size=2),
            st.sampled_from(["answer", "results", "stopped", "error", "cell", "toolong", "90.1"]),
            st.dictionaries(st.text(), st.text(), max_size=2),
        ),
    )
)  # fmt: skip
def test_no_message_is_too_odd(message):
    made = scribe(message).transcript(End.DONE)
    assert set(made.attempts) <= {"90.1", "90.3"}


def test_the_last_answer_that_is_not_blank_counts():
    made = scribe(number(1), number(2), BLANK).transcript(End.DONE)
    answer = made.answer("90.1")
    assert answer is not None
    assert answer.wire["number"] == 2
    only = scribe(BLANK).transcript(End.DONE).answer("90.1")
    assert only is not None
    assert only.blank
    assert scribe().transcript(End.DONE).answer("90.1") is None


def test_results_belong_to_the_attempt_before_them():
    function = {"t": "answer", "id": "90.3", "answer": {"kind": "function"}}
    results = {"t": "results", "id": "90.3", "results": [{"kind": "none"}]}
    made = scribe(results, function, results, results, function).transcript(End.DONE)
    assert [a.results for a in made.attempts["90.3"]] == [({"kind": "none"},), None]


def test_unknown_exercises_are_told_and_ignored():
    made = scribe(number(1) | {"id": "7.7"}, number(1) | {"id": "x" * 999}).transcript(End.DONE)
    assert made.attempts == {}
    assert "This lab has no exercise 7.7" in made.notes[0]
    assert "x" * 99 not in "".join(made.notes)


def test_attempts_are_bounded_and_the_latest_stay():
    made = scribe(*(number(n) for n in range(5000))).transcript(End.DONE)
    assert len(made.attempts["90.1"]) == MAX_ATTEMPTS
    answer = made.answer("90.1")
    assert answer is not None
    assert answer.wire["number"] == 4999


@given(st.text(), st.integers(0, 50))
def test_cleaned_text_is_one_short_printable_utf8_line(text, limit):
    cleaned = clean(text + "\ud800\x1b[31m\n", limit)
    assert len(cleaned) <= limit
    assert cleaned.isprintable()
    cleaned.encode("utf-8")


FUNCTION = {"t": "answer", "id": "90.3", "answer": {"kind": "function"}}
ONE, TWO = {"kind": "plain", "value": 1}, {"kind": "plain", "value": 2}


def results(*wires, **more) -> dict:
    return {"t": "results", "id": "90.3", "n": 1, "results": list(wires), **more}


def test_results_come_in_parts_and_end_once():
    made = scribe(FUNCTION, results(ONE, more=True), results(TWO), results(ONE))
    answer = made.transcript(End.DONE).answer("90.3")
    assert (answer.results, answer.stopped) == ((ONE, TWO), "")


def test_what_came_before_a_stop_is_kept():
    stopped = {"t": "stopped", "id": "90.3", "n": 1, "how": "time"}
    made = scribe(FUNCTION, results(ONE, more=True), stopped, results(TWO))
    answer = made.transcript(End.DONE).answer("90.3")
    assert (answer.results, answer.stopped) == ((ONE,), "time")
    # Parts without an end: the run itself was ended.
    answer = scribe(FUNCTION, results(ONE, more=True)).transcript(End.TIMEOUT).answer("90.3")
    assert (answer.results, answer.stopped) == ((ONE,), "crash")


def test_no_more_results_are_kept_than_a_trace_can_have(monkeypatch):
    monkeypatch.setattr("labkit.grading.transcript.MAX_RESULTS", 3)
    made = scribe(FUNCTION, results(ONE, TWO, more=True), results(ONE, TWO, more=True))
    transcript = made.transcript(End.DONE)
    assert transcript.answer("90.3").results == (ONE, TWO)
    assert transcript.notes


def test_a_class_of_blanks_is_blank_and_one_that_was_only_built_is_not():
    new, blank = {"kind": "new"}, {"kind": "blank"}
    for came, is_it in (((new, blank, blank), True), ((new, blank, ONE), False), ((new,), False)):
        assert scribe(FUNCTION, results(*came)).transcript(End.DONE).answer("90.3").blank is is_it
