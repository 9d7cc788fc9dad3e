"""Reading notebooks that no notebook should be: each is one sentence, none is a traceback."""

from __future__ import annotations

import json
import os
import time

import pytest

from labkit.contract.record import MIME_RECORD
from labkit.grading.submission import (
    MAX_CELL,
    RefusedError,
    UnreadableError,
    numbers_of,
    parse,
    read_bytes,
)
from tests.grading.toy_lab import OWN_RECORD, code_cell, notebook, record_output

WHOLE = json.dumps(notebook()).encode()

UNREADABLE = {
    "not json": (b"this is not json", "its JSON breaks at byte 0 of 16"),
    "empty": (b"", "is empty"),
    "spaces": (b" \n\n", "is empty"),
    "truncated": (WHOLE[:300], "its JSON breaks at byte"),
    "utf-16": (WHOLE.decode().encode("utf-16"), "UTF-16"),
    "latin-1": (b'{"cells": ["\xe9"]}', "no UTF-8 text (byte 12)"),
    "list": (b"[]", "a JSON list"),
    "text": (b'"x"', "a JSON str"),
    "null": (b"null", "a JSON NoneType"),
    "number": (b"17", "a JSON int"),
    "no cells": (b"{}", "no list of cells"),
    "cells are an object": (b'{"cells": {}}', "no list of cells"),
    "deep": (b"[" * 100_000 + b"]" * 100_000, "cannot be read"),
    "huge integer": (b'{"cells": [], "n": ' + b"9" * 5000 + b"}", "cannot be read"),
    "too many cells": (b'{"cells": [' + b"{}," * 2000 + b"{}]}", "2,001 cells"),
    "pickle": (b"\x80\x04\x95\x0c\x00\x00\x00", "no UTF-8 text"),
    "zip": (b"PK\x03\x04\x14\x00", "its JSON breaks"),
}


@pytest.mark.parametrize(("raw", "words"), UNREADABLE.values(), ids=UNREADABLE.keys())
def test_what_is_no_notebook_says_so_in_one_sentence(raw, words):
    with pytest.raises(UnreadableError) as caught:
        parse(raw)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_byte_order_mark_is_harmless():
    assert parse(b"\xef\xbb\xbf" + WHOLE).lab == "90"


def test_nbformat_3_has_worksheets():
    cell = {"cell_type": "code", "input": ["x = 1\n", "y = 2"], "language": "python"}
    old = {"nbformat": 3, "metadata": {}, "worksheets": [{"cells": [cell]}, {"cells": "?"}, 3]}
    assert parse(json.dumps(old).encode()).cells[0].source == "x = 1\ny = 2"


def test_cells_without_ids_get_them_by_position_and_twice_the_same():
    content = notebook()
    for cell in content["cells"]:
        del cell["id"]
    first, second = (parse(json.dumps(content).encode()) for _ in range(2))
    assert first.cells == second.cells
    assert first.cells[0].id == "cell 1"


def test_strange_cells_are_left_out_with_a_warning():
    content = notebook()
    content["cells"] += [7, {"cell_type": "code", "source": {"a": 1}}, {"source": ["a", 3]}, {}]
    read = parse(json.dumps(content).encode())
    assert len(read.warnings) == 3
    assert all("left out" in warning for warning in read.warnings)


def test_a_cell_of_five_megabytes_is_read_at_once_and_not_run():
    content = notebook(before=["x = '" + "(" * (5 << 20) + "'"])
    raw = json.dumps(content).encode()
    began = time.perf_counter()
    read = parse(raw)
    assert time.perf_counter() - began < 1
    assert all(len(cell.source) <= MAX_CELL for cell in read.cells)
    assert "is not run" in read.warnings[0]


@pytest.mark.parametrize(
    "metadata", [None, [], 3, {"labkit": None}, {"labkit": [1]}, {"widgets": {}}]
)
def test_odd_metadata_leave_the_lab_to_be_told_by_its_code(metadata):
    content = notebook() | {"metadata": metadata}
    read = parse(json.dumps(content).encode())
    assert read.lab == "90"
    assert not read.claimed


@pytest.mark.parametrize("lab", ["../01", "1\n", "٣", "", 1, None, ["01"], "001"])
def test_only_two_digits_are_a_lab(lab):
    content = notebook()
    content["metadata"]["labkit"]["lab"] = lab
    content["cells"] = []
    assert parse(json.dumps(content).encode()).lab == ""


def test_an_invalid_learner_id_is_not_used():
    read = parse(json.dumps(notebook(learner="../../etc")).encode())
    assert read.identity.learner == ""
    assert "not valid" in read.warnings[0]
    assert numbers_of(read, "folder")[0].learner == "anonymous"


def test_variants_come_along():
    content = notebook()
    content["metadata"]["labkit"]["variants"] = {"90.2": 3, "../x": 1, "90.1": -1}
    assert parse(json.dumps(content).encode()).identity.draw("90.2") == "ann#3"


def test_records_are_validated_and_the_last_one_counts():
    other = {**OWN_RECORD.to_json(), "made_on": "2026-09-09"}
    bad = [
        {"data": {MIME_RECORD: data}}
        for data in ({}, [], "x", {**other, "series": [{"name": 1}]}, {**other, "schema": 99})
    ]
    big = {"data": {MIME_RECORD: {**other, "notes": ["x" * 300_000]}}}
    content = notebook()
    content["cells"].append(code_cell("r", "", [record_output(OWN_RECORD), *bad, big, 3]))
    content["cells"].append(code_cell("s", "", [{"data": {MIME_RECORD: other}}]))
    read = parse(json.dumps(content).encode())
    assert read.records["speed"].made_on == "2026-09-09"
    assert len([w for w in read.warnings if "not read" in w]) >= 4


def test_links_pipes_and_folders_are_not_opened(tmp_path):
    real = tmp_path / "real.ipynb"
    real.write_bytes(WHOLE)
    (tmp_path / "link.ipynb").symlink_to(real)
    os.mkfifo(tmp_path / "pipe.ipynb")
    (tmp_path / "folder.ipynb").mkdir()
    for name in ("link", "pipe", "folder"):
        with pytest.raises(RefusedError):
            read_bytes(tmp_path / f"{name}.ipynb")
    with pytest.raises(UnreadableError, match="no such file"):
        read_bytes(tmp_path / "absent.ipynb")


def test_a_file_over_the_limit_is_not_read(tmp_path):
    path = tmp_path / "big.ipynb"
    with path.open("wb") as file:
        file.truncate(33 << 20)
    with pytest.raises(UnreadableError, match="limit is 32 MiB"):
        read_bytes(path)


def test_a_file_nobody_may_read_is_unreadable(tmp_path):
    path = tmp_path / "x.ipynb"
    path.write_bytes(WHOLE)
    path.chmod(0)
    root = os.geteuid() == 0
    if root:  # root may read every file: try as somebody else
        os.seteuid(65534)
    try:
        with pytest.raises(UnreadableError, match="permission denied"):
            read_bytes(path)
    finally:
        if root:
            os.seteuid(0)
