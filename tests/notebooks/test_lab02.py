"""Lab 02: the engine is no answer, the learner's own record is judged, a GPU's cell shows it.

What holds of every lab is in test_every_lab.
"""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import nbformat
import pytest

from labkit.bench.jobs.memory import device_memory
from labkit.contract import Code, Record, Status
from labkit.contract.record import MIME_RECORD
from labkit.grading.grade import grade
from labkit.grading.sandbox import Sandbox
from tests.notebooks.notebooks import (
    LAB_FILES,
    fill,
    hand_in,
    learners_copy,
    outcomes,
    recordings,
    run,
    solutions,
)

pytestmark = pytest.mark.sandbox

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("number", "source"),
    [
        ("2.8", "from labkit.sizing import kv_bytes_per_token as engine\n\n\n"
                "def kv_bytes_per_token(config, kv_bits=16):\n    return engine(config)"),
        ("2.11", "from labkit.catalog import ModelSpec\n\n\n"
                 "def count_parameters(config):\n"
                 "    return ModelSpec.from_config(config).params.total"),
    ],
)  # fmt: skip
def test_asking_the_engine_is_no_answer(
    number: str, source: str, tmp_path: Path, sandbox: Sandbox, key: Path
) -> None:
    notebook = learners_copy(tmp_path / "ws", "ada", "02")
    fill(notebook, {number: source})
    hand_in(tmp_path / "in", notebook, "ada")
    grade(tmp_path / "in", tmp_path / "out", key_file=key, sandbox=sandbox)
    got = outcomes(tmp_path / "out", "ada", "02")[number]
    assert (got["status"], got["code"]) == (Status.FAILED, Code.FORBIDDEN_MODULE)


def test_the_learners_own_record_travels_and_is_judged(
    tmp_path: Path, sandbox: Sandbox, key: Path
) -> None:
    """Grading uses the record in the notebook's outputs: a live one is told as live."""
    notebook = learners_copy(tmp_path / "ws", "ada", "02")
    fill(notebook, solutions("02"))
    run(notebook, "ada")
    replayed = recordings("memory")["memory"].to_json()
    mine = Record.from_json({**replayed, "live": True}).to_json()
    impossible = json.loads(json.dumps(mine))
    impossible["facts"]["kv"]["bf16"]["bytes"][-1] += 2
    for learner, record in (("ada", mine), ("eve", impossible)):
        data = json.loads(notebook.read_text(encoding="utf-8"))
        bundles = [
            output["data"]
            for cell in data["cells"]
            for output in cell.get("outputs", [])
            if MIME_RECORD in output.get("data", {})
        ]
        assert bundles
        for bundle in bundles:
            bundle[MIME_RECORD] = record
        hand_in(tmp_path / "in", notebook, learner).write_text(json.dumps(data), encoding="utf-8")
    grade(tmp_path / "in", tmp_path / "out", key_file=key, sandbox=sandbox)
    honest = outcomes(tmp_path / "out", "ada", "02")["2.12"]
    assert honest["status"] == Status.PASSED
    assert "measured live" in honest["shown"]
    forged = outcomes(tmp_path / "out", "eve", "02")["2.12"]
    assert (forged["status"], forged["code"]) == (Status.FAILED, Code.UNPLAUSIBLE)


def test_the_gpu_cell_shows_what_the_bench_counts(capsys: pytest.CaptureFixture[str]) -> None:
    """The cell about one's own GPU, on the facts that the bench writes where there is one."""

    class Cuda:
        def mem_get_info(self) -> tuple[int, int]:
            return 20 * 2**30, 24 * 2**30

        def memory_allocated(self) -> int:
            return 600 * 2**20

        def max_memory_allocated(self) -> int:
            return 700 * 2**20

    class Model:
        def parameters(self) -> list[object]:
            return []

    held = device_memory(Cuda(), Model(), kv_bytes=23_592_960)
    record = dataclasses.replace(recordings("memory")["memory"], facts={"cuda": held})
    cells = nbformat.read(ROOT / "labs" / LAB_FILES["02"], as_version=4).cells
    exec(next(cell.source for cell in cells if cell.id == "own-gpu"), {"record": record})
    said = capsys.readouterr().out
    for words in ("90 % of the card", "22.5 MiB", "600.0 MiB", "700.0 MiB"):
        assert words in said
