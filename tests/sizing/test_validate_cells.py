"""Cells and notes of published tables: what is read, what is assumed, what is refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit.sizing.validate.cells import Reading, absent, measured, quantity, tokens, whole
from labkit.sizing.validate.remarks import remarks_of
from labkit.sizing.validate.result import Unsupported


@pytest.mark.parametrize(
    ("text", "value", "plain"),
    [
        ("8", 8, True),
        ("1,024", 1024, True),
        ("195.33", 195.33, True),
        ("~12", 12, False),
        ("200?", 200, False),
        ("4?", 4, False),
        ("41-49", 45, False),
        ("41 to 49", 45, False),
        ("4k", 4096, False),
        ("16 users", 16, False),
        ("ShareGPT mean 215", 215, False),
        ("<=128, mean ~69 (recall)", 69, False),
        ("OpenORCA mean 292 (5539.47/18.9752)", 292, False),
        ("CNN/DM ~900-1900 (recall)", 1400, False),
    ],
)
def test_a_number_is_read_as_people_write_it(text, value, plain):
    found = quantity("prompt_tokens", text)
    assert found is not None
    assert found.value == pytest.approx(value)
    assert (found.assumption == "") == plain
    if not plain:
        assert text[:20] in found.assumption
        assert f"{value:g}" in found.assumption


@pytest.mark.parametrize("text", ["", "?", "n/a", "NaN", "None", "-", "unknown", "words only"])
def test_no_number_is_none(text):
    assert quantity("prompt_tokens", text) is None


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("1 or 2 (not in log)", "which of them is not stated"),
        ("-5", "cannot be negative"),
        ("8 16", "more than one number"),
        ("1e40", "out of range"),
        ("9" * 400, "out of range"),
    ],
)
def test_what_is_not_one_number_is_refused_with_the_text(text, says):
    with pytest.raises(Unsupported, match=says) as caught:
        quantity("batch", text)
    assert text[:20] in str(caught.value)
    assert len(str(caught.value)) < 150


def test_a_data_set_stands_for_its_mean_lengths():
    prompt = tokens("prompt_tokens", "ShareGPT", answers=False)
    assert prompt == Reading(215.0, "prompt_tokens 'ShareGPT' is taken as that set's mean, 215")
    output = tokens("output_tokens", "ShareGPT", answers=True)
    assert output is not None
    assert output.value == 198
    with pytest.raises(Unsupported, match="'a novel'"):
        tokens("prompt_tokens", "a novel", answers=False)
    assert tokens("prompt_tokens", "", answers=False) is None


def test_a_measured_value_is_a_number_above_zero():
    assert measured("38.696102") == 38.696102
    assert measured("1,234.5") == 1234.5
    assert measured("") is None
    for text, says in (("0", "above 0"), ("fast", "not a number"), ("1 or 2", "not stated")):
        with pytest.raises(Unsupported, match=says):
            measured(text)


def test_counts_are_whole():
    assert whole("batch", Reading(8.0)) == 8
    for value in (0.0, 0.5, 2.5):
        with pytest.raises(Unsupported, match="whole number"):
            whole("batch", Reading(value))


@given(st.text(max_size=80))
def test_any_cell_is_a_number_nothing_or_refused(text):
    for read in (lambda t: quantity("x", t), lambda t: tokens("x", t, answers=True)):
        try:
            found = read(text)
        except Unsupported as error:
            found = None
            refused = error.reason
        else:
            refused = ""
        assert refused == "" or refused.startswith("x is ")
        assert found is None or (0 <= found.value <= 1.1e12 and not absent(text))


@pytest.mark.parametrize(
    ("notes", "field", "value"),
    [
        ("decode only (prefill removed); eager PyTorch", "prefill_inside", False),
        ("generated tokens / wall time, prefill inside", "prefill_inside", True),
        ("whole generate call: prefill of 512 tokens is inside", "prefill_inside", True),
        ("output tokens only, TTFT inside", "prefill_inside", True),
        ("inference_time/tokens, so prefill (~12 tokens) is inside", "prefill_inside", True),
        ("fused modules", "prefill_inside", None),
        ("heading says out tok/s/GPU: multiply by TP for the total", "per_device", True),
        ("tokens/s all users", "per_device", False),
        ("at batch>1 requests prefill one after another", "one_by_one", True),
        ("beam search width 4 (recall): multiply work by 4", "beams", 4),
        ("mean latency, one sample at a time, beam 4 (recall)", "beams", 4),
        ("static batch, prefill inside", "static", True),
        ("continuous batching, 3000 ShareGPT prompts", "static", False),
        ("llama-bench tg ; layer split over 4 GPUs (no tensor parallel)", "layer_split", True),
        ("llama-bench pp; SUSPECT (far below the Q4 one)", "suspect", True),
        ("nothing suspect about it", "suspect", False),
        ("48 SPR cores, HF generator", "cores", 48),
        ("22 threads, eval time per token", "cores", 22),
        ("quantization not stated; only 20 of 48 cores busy", "cores", 20),
        ("no word on the machine", "cores", None),
    ],
)
def test_notes_say_what_a_number_includes(notes, field, value):
    assert getattr(remarks_of(notes), field) == value


@given(st.text(max_size=200))
def test_any_notes_can_be_read(notes):
    found = remarks_of(notes)
    assert found.beams >= 1
    assert found.cores is None or found.cores > 0
