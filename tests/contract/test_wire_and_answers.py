"""What travels between a hostile process and the judge."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit.contract import LabkitError, Q, Record, Series
from labkit.contract.answer import decode_array, decode_plain, encode, is_blank
from labkit.contract.quantity import split_text
from labkit.contract.wire import MAX_DEPTH, MAX_LINE, WireError, dumps, loads

json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False,
        allow_infinity=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=20,
)  # fmt: skip


@given(st.dictionaries(st.text(max_size=8), json_values))
def test_messages_come_back_as_they_left(message: dict[str, Any]) -> None:
    assert loads(dumps(message)) == message


@pytest.mark.parametrize(
    ("line", "word"),
    [
        (b'{"a": NaN}', "NaN"),
        (b'{"a": -Infinity}', "Infinity"),
        (b'{"a": 1, "a": 2}', "twice"),
        (b'{"a": {"b": 1, "b": 1}}', "twice"),
        (b"[1]", "object"),
        (b"not json", "Not a JSON"),
        (b"\xff\xfe", "Not a JSON"),
        (b'{"a": ' + b"[" * (MAX_DEPTH + 1) + b"]" * (MAX_DEPTH + 1) + b"}", "deeper"),
        (b'{"a": "' + b"x" * MAX_LINE + b'"}', "limit"),
        (b'{"a": ' + b"9" * 5000 + b"}", "Not a JSON"),
    ],
)
def test_breaches_are_refused_by_name(line: bytes, word: str) -> None:
    with pytest.raises(WireError, match=word):
        loads(line)


def test_brackets_inside_text_are_not_depth() -> None:
    assert loads(dumps({"a": '"[{' * 100}))["a"] == '"[{' * 100


def test_what_cannot_travel_is_said_on_the_sending_side() -> None:
    for bad in ({"a": math.nan}, {"a": object()}, {"a": "x" * (MAX_LINE + 1)}):
        with pytest.raises(WireError):
            dumps(bad)


# --- answers ----------------------------------------------------------------------------------


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_numbers_survive(value: float) -> None:
    assert decode_plain(encode(value)) == value


@given(st.lists(st.floats(-1e9, 1e9), max_size=20))
def test_arrays_survive_with_their_type(values: list[float]) -> None:
    for dtype in (np.float64, np.float32, np.int64):
        array = np.array(values, dtype=dtype)
        back = decode_array(encode(array))
        np.testing.assert_array_equal(back, array)
        assert back.dtype == array.dtype


def test_blank_is_only_the_ellipsis() -> None:
    assert is_blank(encode(...))
    assert not any(is_blank(encode(value)) for value in (None, 0, "", "...", [], False))


class Hostile:
    """Every hook that an encoder might trip over."""

    def __float__(self) -> float:
        raise SystemExit("float")

    def __reduce__(self) -> Any:
        raise SystemExit("reduce")

    def __str__(self) -> str:
        raise SystemExit("str")

    __repr__ = __str__


class Figureish:
    get_lines = None


def test_objects_that_cannot_be_read_are_named_not_run() -> None:
    assert encode(Hostile()) == {"kind": "other", "type": "Hostile"}
    assert encode(Figureish())["kind"] == "other"
    assert encode(b"bytes")["kind"] == "other"
    assert encode(np.array([object()]))["kind"] == "other"


def test_big_answers_are_cut_or_refused_not_sent() -> None:
    assert encode(np.zeros(10_000_000))["kind"] == "other"
    assert len(encode("x" * 10**6)["text"]) == 20_000
    endless: list[Any] = []
    endless.append(endless)
    assert json.dumps(encode(endless))


def test_malformed_arrays_decode_to_nothing() -> None:
    good = encode(np.arange(3.0))
    for change in ({"dtype": "O"}, {"dtype": "<U9"}, {"shape": [7]}, {"b64": "!"}, {"shape": "x"}):
        assert decode_array({**good, **change}) is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("12.55 GiB", Q(12.55, "GiB")),
        ("22,888 MiB", Q(22888.0, "MiB")),
        ("1 060 tok/s", Q(1060.0, "tok/s")),
        ("1e9B", Q(1e9, "B")),
        ("-3.5e-2 %", Q(-0.035, "%")),
        ("0.264 $/Mtok", Q(0.264, "$/Mtok")),
        ("116.7", Q(116.7, "")),
        ("9**9**9**9 B", None),
        ("1,2,3", None),
        ("", None),
        ("+", None),
        ("1e9999", None),
        ("x" * 1000, None),
    ],
)
def test_text_is_split_and_never_evaluated(text: str, expected: Q | None) -> None:
    assert split_text(text) == expected


# --- records ----------------------------------------------------------------------------------


def a_record() -> Record:
    return Record(
        "machine", "A machine", True, "2026-11-30", {"summary": "box"}, {"torch": "2"},
        (Series("read", "GB/s", (10.0, 11.0, 12.0)),), {"n": 1},
    )  # fmt: skip


def test_records_come_back_as_they_left() -> None:
    record = a_record()
    assert Record.from_json(json.loads(json.dumps(record.to_json()))) == record
    assert record.median("read") == 11.0
    assert record["read"].iqr == 1.0


@given(json_values)
def test_whatever_is_no_record_is_refused_in_a_sentence(value: Any) -> None:
    for data in (value, {**a_record().to_json(), "series": value}, {"schema": 1, "id": value}):
        with pytest.raises(LabkitError, match=r"\.$"):
            Record.from_json(data)


def test_a_replay_says_so_in_both_forms() -> None:
    data = a_record().to_json() | {"live": False}
    replay = Record.from_json(data)
    bundle = replay._repr_mimebundle_()
    assert "REPLAYED, not your machine" in bundle["text/plain"]
    assert "REPLAYED, not your machine" in bundle["text/html"]
