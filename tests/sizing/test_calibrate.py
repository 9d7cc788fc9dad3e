"""Calibrating: known parameters are found again, the shipped ones are what the data gives."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest

from benchmarks.calibrate import calibration_rows, fresh, readable
from labkit.catalog import Catalog, ModelSpec
from labkit.sizing import EngineConfig, SizingError, Workload, estimate
from labkit.sizing.calibrate import NARROWEST, WIDEST, calibrate
from labkit.sizing.calibration_text import as_json, from_json
from labkit.sizing.efficiency import PRIOR_SPREADS, Parameters, build_efficiency
from labkit.sizing.fitted import FITTED, SPREADS
from labkit.sizing.priors import MOST_SHARE, PRIORS
from labkit.sizing.validate.predict import RATES, central, efficiency_key, load_of


@pytest.fixture(scope="module")
def runs():
    return list(readable(calibration_rows()))


@pytest.fixture(scope="module")
def found():
    return fresh()


def test_what_ships_is_what_the_data_gives(found):
    assert set(found.values) == set(FITTED)
    for name, value in found.values.items():
        assert FITTED[name] == pytest.approx(value, rel=0.02), name
    for key, spreads in found.spreads.items():
        for step, spread in spreads.items():
            low, high, rows = SPREADS[key][step]
            assert rows == spread.rows
            assert (low, high) == pytest.approx((spread.low, spread.high), rel=0.05)


def test_parameters_keep_their_meaning(found):
    assert set(found.values) <= set(PRIORS)
    for (variant, hardware), spreads in found.spreads.items():
        assert f"{variant}." in str(list(found.values))
        assert hardware in {"hbm", "gddr", "gddr-75w", "turing", "neuron", "cpu"}
        for spread in spreads.values():
            assert WIDEST[0] <= spread.low <= NARROWEST[0] < 1 < NARROWEST[1] <= spread.high
            assert spread.high <= WIDEST[1]
    for name, value in found.values.items():
        if ".mbu." in name or name.endswith((".mbu", ".mfu")):
            assert 0.01 < value < 1.1 * MOST_SHARE, name


def test_known_parameters_are_found_again(runs):
    truth = {
        "compiled.mbu.hbm": 0.55,
        "compiled.mbu.gddr": 0.70,
        "compiled.mfu.hbm": 0.50,
        "compiled.layer_us": 80.0,
    }
    mine = [run for run in runs if run.variant == "compiled" and run.metric != "vram_gb"]
    made = [_measured_under(run, Parameters(truth)) for run in mine]
    before = _median_error(made, Parameters({}))
    learned = calibrate(made)
    after = _median_error(made, learned.tuning.parameters)
    assert before > 0.15
    assert after < 0.04
    for name in ("compiled.mbu.hbm", "compiled.mfu.hbm"):
        assert learned.values[name] == pytest.approx(truth[name], rel=0.1), name
    # Twelve rows of one card, against the ridge: on its way, not there.
    assert truth["compiled.mbu.gddr"] < learned.values["compiled.mbu.gddr"] < 0.83


def test_one_blunder_does_not_move_the_fit(runs, found):
    mine = [run for run in runs if run.variant == "compiled"]
    clean = calibrate(mine)
    wrong = [replace(mine[0], measured=mine[0].measured * 50), *mine[1:]]
    assert calibrate(wrong).values["compiled.mbu.hbm"] == pytest.approx(
        clean.values["compiled.mbu.hbm"], rel=0.03
    )


def test_suspect_rows_are_left_out(runs):
    few = [run for run in runs if run.variant == "neuron"][:20]
    clean = calibrate(few)
    spoiled = [*few, *(replace(run, measured=1e6, suspect=True) for run in few)]
    assert calibrate(spoiled).values == clean.values


def test_a_calibration_survives_its_file_and_changes_the_estimate(found):
    model, machine = ModelSpec.from_config("llama-3-8b"), Catalog.load().instance("g5.xlarge")
    config, workload = EngineConfig("bf16", "bf16"), Workload(512, 256)
    text = json.dumps(as_json(found))
    same = estimate(model, machine, config, workload, tuning=from_json(text))
    shipped = estimate(model, machine, config, workload)
    assert same.tpot_ms.mid == pytest.approx(shipped.tpot_ms.mid, rel=0.02)
    slow = as_json(found)
    slow["values"]["compiled.mbu.gddr"] /= 2
    slower = estimate(model, machine, config, workload, tuning=from_json(json.dumps(slow)))
    assert slower.tpot_ms.mid > 1.6 * shipped.tpot_ms.mid


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "not a calibration that"),
        ("[]", "not a calibration that"),
        ('{"values": {"compiled.mbu": "x"}, "spreads": []}', "not a calibration that"),
        ('{"values": {"compiled.speed": 1.0}, "spreads": []}', "compiled.speed"),
    ],
)
def test_a_file_that_is_no_calibration_is_told_in_a_sentence(text, said):
    with pytest.raises(SizingError, match=said):
        from_json(text)


def test_nothing_to_fit_is_an_error():
    with pytest.raises(SizingError, match="nothing to fit"):
        calibrate([])


def _measured_under(run, parameters):
    """The run as the given parameters would have measured it, within 2 %."""
    load = load_of(run)
    said = central(run, load, build_efficiency(parameters, PRIOR_SPREADS, *efficiency_key(run)))
    noise = 1 + 0.02 * math.sin(len(run.id) * run.batch)
    return replace(run, measured=said * noise, suspect=False)


def _median_error(runs, parameters):
    errors = []
    for run in runs:
        efficiency = build_efficiency(parameters, PRIOR_SPREADS, *efficiency_key(run))
        said = central(run, load_of(run), efficiency)
        ratio = run.measured / said if run.metric in RATES else said / run.measured
        errors.append(abs(ratio - 1))
    return float(np.median(errors))
