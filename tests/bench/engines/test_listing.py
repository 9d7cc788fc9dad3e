"""`labkit engine list`, and the command lines that servers are started with."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest

from labkit import bench
from labkit.bench.engine.registry import ENGINES
from labkit.bench.engine.small import small_server_spec
from labkit.bench.engine.small_server import BACKENDS, Options
from labkit.bench.engine.status import engine_status
from labkit.bench.engine.vllm import Flags, vllm_server
from labkit.bench.registry import BENCHES
from labkit.cli.main import main

Output = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def nothing_installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("LABKIT_CACHE", str(tmp_path))
    monkeypatch.delenv("LABKIT_ENGINES", raising=False)


def test_the_list_says_what_is_here_and_what_to_do(capsys: Output) -> None:
    assert main(["engine", "list"]) == 0
    text = capsys.readouterr().out
    assert all(name in text for name in ENGINES)
    assert "labkit" in text
    assert "install" in text
    assert main(["engine", "list", "--json"]) == 0
    engines = {e["id"]: e for e in json.loads(capsys.readouterr().out)["engines"]}
    assert list(engines) == list(ENGINES)
    assert engines["sequential"]["available"] is True
    assert engines["sequential"]["version"]
    assert engines["sequential"]["replayed"] == []
    assert engines["vllm"]["available"] is False
    assert engines["vllm"]["remedy"].endswith("`labkit engine install vllm`.")
    assert engines["vllm"]["needs"] == "Linux and an environment of its own"


def test_what_would_be_replayed_is_in_the_recordings() -> None:
    status = next(s for s in engine_status() if s.id == "vllm")
    assert set(status.replayed) == {"engines", "load"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["engine", "install", "vlm"], "Unknown engine 'vlm': did you mean vllm?"),
        (["engine", "instal"], "No such command 'instal'"),
    ],
)
def test_bad_input_is_one_sentence(arguments: list[str], message: str, capsys: Output) -> None:
    assert main(arguments) == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert captured.err.count("\n") == 1


def test_keys_stand_in_no_list_of_processes() -> None:
    for kind in BACKENDS:
        spec = small_server_spec(Options(kind, "folder", 0))
        assert not any("secret" in word for word in spec.command(1234, "secret"))
        assert "secret" in spec.environment("secret").values()
    spec = vllm_server(Path("python"), Path("model"), Flags(8))
    assert not any("secret" in word for word in spec.command(1234, "secret"))
    assert "secret" in spec.environment("secret").values()


@pytest.mark.parametrize("gpu", [True, False])
def test_vllm_stays_on_loopback_and_within_limits(gpu: bool) -> None:
    flags = Flags(8, enable_prefix_caching=True, enable_chunked_prefill=False)
    spec = vllm_server(Path("python"), Path("model"), flags, gpu=gpu)
    words = list(spec.command(1234, ""))
    at = {word: words[i + 1] for i, word in enumerate(words[:-1])}
    assert at["--host"] == "127.0.0.1"
    assert at["--port"] == "1234"
    assert at["--max-num-seqs"] == "8"
    assert int(at["--max-num-batched-tokens"]) >= int(at["--max-model-len"]) == 512
    assert "--no-enable-chunked-prefill" in words
    assert "--enable-prefix-caching" in words
    assert ("--kv-cache-memory-bytes" in at) is not gpu
    assert ("--gpu-memory-utilization" in at) is gpu
    assert spec.environment("")["VLLM_NO_USAGE_STATS"] == "1"


def test_wall_clock_series_never_refuse_a_record() -> None:
    spared = set(BENCHES["engines"].indicative)
    assert {f"engines.{name}.rate" for name in ENGINES} == spared


@pytest.mark.parametrize("name", bench.__all__)
def test_no_module_takes_the_name_of_a_measurement(name: str) -> None:
    """Importing labkit.bench.X sets bench.X: a room called "engines" would hide the function."""
    assert importlib.util.find_spec(f"labkit.bench.{name}") is None
