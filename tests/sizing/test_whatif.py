"""What if: bars add up to what the estimate says, words say what binds, widgets are optional."""

from __future__ import annotations

import sys
from dataclasses import replace
from datetime import date

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labkit.catalog import Catalog
from labkit.contract.errors import LabkitError
from labkit.sizing.whatif import Asked, Look, look, what_if
from labkit.sizing.whatif.markup import markup
from labkit.sizing.whatif.text import text

TODAY = date(2026, 11, 30)
CATALOG = Catalog.load()
ASKED = Asked("llama-3-8b", "g5.xlarge", batch=16)
settings_drawn = st.builds(
    Asked,
    model=st.sampled_from([m.name for m in CATALOG.models()]),
    instance=st.sampled_from([i.name for i in CATALOG.instances()]),
    weights=st.sampled_from([None, "fp16", "fp8", "int8", "int4"]),
    tensor_parallel_size=st.sampled_from([None, 1, 2, 4, 8]),
    batch=st.integers(1, 512),
    prompt=st.integers(1, 40_000),
    output=st.integers(1, 4_000),
    kv=st.sampled_from([None, "fp8"]),
)


@settings(max_examples=150, deadline=None)
@given(settings_drawn)
def test_bars_hold_exactly_what_the_estimate_says(asked):
    found = look(asked)
    e = found.estimate
    by_title = {bar.title.partition(":")[0]: bar for bar in found.bars}
    for bar in found.bars:
        assert all(segment.value > 0 for segment in bar.segments)
        assert sum(segment.largest for segment in bar.segments) >= 1
    if e.tpot_ms is not None:
        bar = next(bar for title, bar in by_title.items() if title.startswith("One decode step"))
        assert bar.total == pytest.approx(e.tpot_ms.mid)
    if e.ttft_ms is not None:
        bar = next(bar for title, bar in by_title.items() if title.startswith("Prefill"))
        assert bar.total == pytest.approx(e.ttft_ms.mid)
    if e.model.kind == "decoder":
        bar = by_title[f"Memory of one {e.device.noun}"]
        if bar.limit is None:
            assert bar.total == pytest.approx(e.memory.usable_bytes)
        else:
            assert bar.total >= bar.limit  # more is needed than the engine may use


@settings(max_examples=60, deadline=None)
@given(settings_drawn)
def test_every_setting_reads_as_text_and_as_html(asked):
    found = look(asked)
    plain, shown = text(found, TODAY), markup(found, TODAY)
    assert max(map(len, plain.splitlines())) <= 96
    for refusal in found.estimate.refusals:
        assert refusal.code in plain
        assert refusal.code in shown
    assert "nan" not in plain.lower().split()
    for bar in found.bars:
        drawn = next(line for line in plain.splitlines() if line.startswith("  ["))
        assert len(drawn) == 64 + 4
        assert bar.title in plain


def test_the_letters_fill_the_bar_in_proportion():
    found = look(ASKED)
    bar = next(b for b in found.bars if b.kind == "memory")
    drawn = [line for line in text(found, TODAY).splitlines() if line.startswith("  [")][-1]
    for segment in bar.segments:
        assert drawn.count(segment.letter) == pytest.approx(64 * segment.value / bar.total, abs=1)


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (ASKED, "Runs. All 16 sequences at full length"),
        (ASKED, "Memory bandwidth binds the decode step."),
        (replace(ASKED, instance="g4dn.xlarge"), "Does not run as asked."),
        (replace(ASKED, instance="g4dn.xlarge"), "WEIGHTS: bf16 weights take 14.96 GiB"),
        (replace(ASKED, instance="g4dn.xlarge"), "^ the engine may use no more"),
        (replace(ASKED, batch=512), "sequences at once; the rest wait."),
        (replace(ASKED, instance="p5e.48xlarge", rate=1.0), "No price is known"),
        (replace(ASKED, instance="g4dn.xlarge", rate=1.0), "a replica cannot be timed"),
    ],
)
def test_it_says_what_binds_and_what_does_not_run(asked, words):
    assert words in " ".join(text(look(asked), TODAY).split())


def test_a_rate_is_met_by_enough_replicas_and_paid_for():
    found = look(replace(ASKED, rate=10.0))
    fleet = found.at_rate
    assert fleet is not None
    low, high = fleet.replicas_range
    assert low <= fleet.replicas <= high
    assert fleet.replicas * fleet.capacity.mid * 0.7 >= 10
    assert (fleet.replicas - 1) * fleet.capacity.mid * 0.7 < 10
    assert 0 < fleet.utilisation <= 0.7 + 1e-9
    assert fleet.sequences <= 16
    assert fleet.usd_per_hour == pytest.approx(1.006 * fleet.instances)
    assert fleet.usd_per_million == pytest.approx(fleet.usd_per_hour / (10 * 256 * 3600) * 1e6)
    assert look(ASKED).at_rate is None


def test_two_replicas_share_an_instance_with_two_devices():
    one = look(replace(ASKED, rate=10.0)).at_rate
    four = look(replace(ASKED, rate=10.0, instance="g5.12xlarge")).at_rate
    assert one is not None
    assert four is not None
    assert four.replicas == one.replicas
    assert four.instances == -(-one.replicas // 4)


def test_controls_move_the_answer_and_the_answer_moves_controls():
    panel = what_if("llama-3-8b", "g5.xlarge")
    box = panel.widget()
    controls = {control.description: control for control in box.children[0].children}
    assert controls["weights"].label == "as published"
    controls["instance"].value = "g6e.xlarge"
    assert panel.asked.instance == "g6e.xlarge"
    assert "Memory of one L40S" in box.children[1].children[0].value
    controls["weights"].value = "int4"
    assert panel.asked.weights == "int4"
    controls["weights"].value = ""
    assert panel.asked.weights is None
    panel.set(batch=7, rate=3.3)
    assert controls["batch"].value == 7
    assert controls["requests/s"].value == 3.3
    assert "7 sequences" in box.children[1].children[0].value


def test_a_wrong_move_leaves_everything_as_it_was():
    panel = what_if("llama-3-8b", "g5.xlarge")
    before = panel.asked
    for changes in ({"bacth": 2}, {"batch": 0}, {"instance": "g5.xlrge"}, {"weights": "int5"}):
        with pytest.raises(LabkitError):
            panel.set(**changes)
        assert panel.asked == before


def test_without_ipywidgets_the_text_says_so(monkeypatch):
    monkeypatch.setitem(sys.modules, "ipywidgets", None)
    bundle = what_if("llama-3-8b", "g5.xlarge")._repr_mimebundle_()
    assert list(bundle) == ["text/plain"]
    assert "Runs. All 8 sequences" in bundle["text/plain"]
    assert bundle["text/plain"].endswith("need ipywidgets, which is not installed.")


def test_names_are_escaped_in_html():
    found = look(ASKED)
    model = replace(found.estimate.model, name="<script>alert(1)</script>")
    hostile = Look(found.asked, replace(found.estimate, model=model), found.bars, None)
    assert "<script" not in markup(hostile, TODAY)


def test_an_unknown_name_is_one_sentence():
    with pytest.raises(LabkitError, match="Unknown model 'llama-3-9b'"):
        what_if("llama-3-9b")
