"""The kept answers of the public tools are what they answer."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from benchmarks.peers import environment
from benchmarks.peers.registry import PEERS
from benchmarks.peers.run import COLUMNS, answers, newest
from benchmarks.rows import measurements, read

HERE = [name for name, peer in PEERS.items() if not peer.installed]
INSTALLED = [name for name, peer in PEERS.items() if peer.installed]


@pytest.fixture(scope="module")
def kept() -> dict[tuple[str, str], dict[str, str]]:
    return {(record["peer"], record["id"]): record for record in read(newest())}


def test_every_tool_has_one_answer_for_every_row(kept: dict) -> None:
    count = Counter(record["peer"] for record in read(newest()))
    assert dict(count) == dict.fromkeys(PEERS, len(measurements()))
    assert len(kept) == len(PEERS) * len(measurements())
    for record in kept.values():
        assert tuple(record) == COLUMNS
        assert (record["status"] == "ok") == bool(record["predicted"]) != bool(record["reason"])


def test_the_kept_answers_are_of_the_pinned_versions(kept: dict) -> None:
    folder = environment.PINS.parent
    asked = dict(
        re.findall(r"^([\w-]+)==([\d.]+)$", (folder / "requirements.in").read_text(), re.M)
    )
    locked = dict(re.findall(r"^([\w-]+)==([\d.]+) \\$", environment.PINS.read_text(), re.M))
    answered = {record["peer"]: record["version"] for record in kept.values()}
    assert asked == {name: answered[name] for name in INSTALLED}
    assert asked.items() <= locked.items()


@pytest.mark.parametrize("name", HERE)
def test_what_is_computed_here_gives_what_was_kept(name: str, kept: dict) -> None:
    same(answers(measurements(), [name]), kept)


@pytest.mark.heavy
def test_installed_tools_give_what_was_kept(kept: dict) -> None:
    environment.make()
    same(answers(measurements()[::7], INSTALLED), kept)


def same(records: list[dict[str, str]], kept: dict) -> None:
    for record in records:
        before = kept[record["peer"], record["id"]]
        assert (record["status"], record["reason"]) == (before["status"], before["reason"])
        assert record["version"] == before["version"]
        if record["predicted"]:
            assert float(record["predicted"]) == pytest.approx(float(before["predicted"]), 1e-4)


@pytest.mark.parametrize("name", list(PEERS))
def test_a_rate_never_passes_what_the_bandwidth_allows_by_far(name: str, kept: dict) -> None:
    """A slip of units in a translation would show as a factor of a thousand."""
    rows = {row["id"]: row for row in measurements()}
    for (tool, row_id), record in kept.items():
        if tool == name and record["predicted"]:
            ratio = float(record["predicted"]) / float(rows[row_id]["value"])
            assert 1e-3 < ratio < 1e3, (row_id, ratio)
