"""Lab 04 in grading, beside what every lab must: its record decides; the engine is no answer."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from labkit.contract import Code, Record, Status
from labkit.contract.record import MIME_RECORD
from labkit.grading.grade import grade
from labkit.grading.sandbox import Sandbox
from tests.notebooks.notebooks import (
    fill,
    hand_in,
    learners_copy,
    outcomes,
    recordings,
    run,
    solutions,
)

pytestmark = pytest.mark.sandbox


def test_asking_the_engine_is_no_answer(tmp_path: Path, sandbox: Sandbox, key: Path) -> None:
    source = (
        "from labkit.sizing.roofline import decode_bytes\n\n\n"
        "def speedup_bound(matrices, rest, bits_per_weight, batch, context, kv_bytes):\n"
        "    return decode_bytes(None, None)"
    )
    notebook = learners_copy(tmp_path / "ws", "ada", "04")
    fill(notebook, {"4.9": source})
    hand_in(tmp_path / "in", notebook, "ada")
    grade(tmp_path / "in", tmp_path / "out", key_file=key, sandbox=sandbox)
    got = outcomes(tmp_path / "out", "ada", "04")["4.9"]
    assert (got["status"], got["code"]) == (Status.FAILED, Code.FORBIDDEN_MODULE)


def test_the_learners_own_record_travels_and_decides(
    tmp_path: Path, sandbox: Sandbox, key: Path
) -> None:
    """Grading uses the record in the notebook's outputs: another record is another answer."""
    notebook = learners_copy(tmp_path / "ws", "ada", "04")
    fill(notebook, solutions("04") | {"4.14": 'who_gains = "llama"'})
    run(notebook, "ada")
    mine = recordings("quantization")["quantization"].to_json() | {"live": True}
    slow = json.loads(json.dumps(mine))
    for series in slow["series"]:
        if series["name"].startswith("llama.q"):
            fp32 = next(s for s in mine["series"] if s["name"] == "llama.fp32.cpu")
            series["samples"] = list(fp32["samples"])
    for learner, data in (("ada", mine), ("eve", slow)):
        text = _with_record(notebook, Record.from_json(data))
        hand_in(tmp_path / "in", notebook, learner).write_text(text, encoding="utf-8")
    grade(tmp_path / "in", tmp_path / "out", key_file=key, sandbox=sandbox)
    honest = outcomes(tmp_path / "out", "ada", "04")
    assert "measured live" in honest["4.11"]["shown"]
    assert honest["4.14"]["status"] == Status.PASSED
    assert outcomes(tmp_path / "out", "eve", "04")["4.14"]["status"] == Status.FAILED


def _with_record(notebook: Path, record: Record) -> str:
    """The notebook's text with this record in each of its record outputs."""
    data = json.loads(notebook.read_text(encoding="utf-8"))
    bundles = [
        output["data"]
        for cell in data["cells"]
        for output in cell.get("outputs", [])
        if MIME_RECORD in output.get("data", {})
    ]
    assert bundles
    for bundle in bundles:
        bundle[MIME_RECORD] = record.to_json()
    return json.dumps(data)
