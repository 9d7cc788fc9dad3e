"""The arrival file: what a waiting notebook cell is told, and when it stops waiting."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from labkit.bench.arrival import (
    SCHEMA,
    Arrival,
    ArrivalError,
    ArrivalWriter,
    Item,
    State,
    arrival_file,
    read_arrival,
    wait_for_arrival,
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "arrivals" / "here.json"


def dead_pid() -> int:
    """The id of a process that has ended."""
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    return child.pid


def write(path: Path, state: State, pid: int, **item: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    body = {
        "schema": SCHEMA,
        "pid": pid,
        "updated": time.time(),
        "items": [{"name": "torch", "state": state, **item}],
    }
    path.write_text(json.dumps(body), encoding="utf-8")


def test_environments_sharing_a_cache_have_their_own_file(tmp_path: Path) -> None:
    one = arrival_file("one/.venv", tmp_path)
    assert one != arrival_file("two/.venv", tmp_path)
    assert one == arrival_file("one/.venv", tmp_path)
    assert one.parent == tmp_path / "arrivals"


def test_nothing_on_its_way_is_not_waited_for(path: Path) -> None:
    assert read_arrival(path) is None
    wait_for_arrival("torch", path=path)
    write(path, State.WAITING, os.getpid())
    wait_for_arrival("weights", path=path)  # this run does not fetch weights


def test_writer_and_reader_agree(path: Path) -> None:
    with ArrivalWriter(["torch", "weights"], path) as writer:
        writer.update("torch", State.FETCHING, done_bytes=82_700_000, total_bytes=192_000_000)
        arrival = read_arrival(path)
        assert arrival is not None
        assert arrival.pid == os.getpid()
        assert not arrival.finished
        assert not arrival.stopped()
        assert arrival.line() == "torch: 43 % of 192 MB · weights: waiting"
        writer.update("torch", State.READY)
        writer.update("weights", State.FAILED, detail="No network.")
    last = read_arrival(path)
    assert last is not None
    assert last.finished
    assert [item.state for item in last.items] == [State.READY, State.FAILED]


def test_progress_reaches_the_file_by_itself(path: Path) -> None:
    with ArrivalWriter(["torch"], path) as writer:
        writer.update("torch", State.FETCHING, done_bytes=1, total_bytes=4)
        writer.update("torch", State.FETCHING, done_bytes=3, total_bytes=4)
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline:
            arrival = read_arrival(path)
            if arrival and arrival.items[0].done_bytes == 3:
                break
            time.sleep(0.05)
        else:
            pytest.fail("the writer never wrote the progress it was told")


def test_waiting_says_how_far_it_is_and_ends_when_ready(path: Path) -> None:
    write(path, State.FETCHING, os.getpid(), done_bytes=50, total_bytes=100_000_000)
    said: list[str] = []

    def arrive(line: str) -> None:
        said.append(line)
        write(path, State.READY, os.getpid())

    wait_for_arrival("torch", path=path, say=arrive, poll_s=0.01)
    assert said == ["torch: 0 % of 100 MB"]


def test_a_failed_fetch_gives_its_own_sentence(path: Path) -> None:
    write(path, State.FAILED, os.getpid(), detail="No network and no wheel at hand.")
    with pytest.raises(ArrivalError, match="No network and no wheel at hand"):
        wait_for_arrival("torch", path=path)


def test_a_dead_writer_is_not_waited_for(path: Path) -> None:
    write(path, State.FETCHING, dead_pid())
    with pytest.raises(ArrivalError, match="run `make lab` again"):
        wait_for_arrival("torch", path=path, say=lambda _: None)


def test_a_writer_that_stopped_beating_counts_as_gone() -> None:
    arrival = Arrival(items=(Item("torch"),), pid=os.getpid(), updated=1000.0)
    assert not arrival.stopped(now=1010.0)
    assert arrival.stopped(now=1100.0)


def test_a_timeout_names_the_progress(path: Path) -> None:
    write(path, State.FETCHING, os.getpid(), done_bytes=7_000_000, total_bytes=None)
    with pytest.raises(ArrivalError, match=r"after 0\.05 s \(torch: 7 MB so far\)"):
        wait_for_arrival("torch", path=path, say=lambda _: None, poll_s=0.01, timeout_s=0.05)


@pytest.mark.parametrize(
    "text", ["", "[]", '{"schema": 1}', '{"schema": 1, "items": [{"state": "?"}]}']
)
def test_a_foreign_file_is_named(path: Path, text: str) -> None:
    path.parent.mkdir()
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ArrivalError, match=r"here\.json is not a labkit arrival file"):
        read_arrival(path)


def test_a_file_of_another_version_is_as_good_as_none(path: Path) -> None:
    path.parent.mkdir()
    path.write_text('{"schema": 99}', encoding="utf-8")
    assert read_arrival(path) is None
