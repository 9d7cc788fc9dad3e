"""`labkit estimate` as it is typed: JSON contract, human output at two widths, bad input."""

from __future__ import annotations

import json

import pytest

from labkit.cli.main import main

EXAMPLE = [
    "estimate", "llama-2-13b", "g6e.xlarge", "--weights", "fp16", "--batch", "32",
    "--prompt", "512", "--output", "256",
]  # fmt: skip
LLAMA = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 2048,
    "intermediate_size": 5632,
    "num_attention_heads": 32,
    "num_hidden_layers": 22,
    "num_key_value_heads": 4,
    "vocab_size": 32000,
    "max_position_embeddings": 2048,
    "tie_word_embeddings": False,
    "torch_dtype": "bfloat16",
}


@pytest.fixture
def config(tmp_path):
    def write(content: str | dict) -> str:
        path = tmp_path / "config.json"
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        return str(path)

    return write


def answer(capsys, *arguments: str) -> dict:
    assert main([*arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_the_issues_example_as_json(capsys):
    result = answer(capsys, *EXAMPLE)
    assert result["fits"] is False
    assert result["max_sequences"] == 27
    assert [refusal["code"] for refusal in result["refusals"]] == ["KV_CACHE"]
    memory = result["memory"]
    assert memory["weights_bytes"] == 26_031_728_640
    assert memory["kv_bytes_per_token"] == 819_200
    assert memory["max_cached_tokens"] // 768 == 27
    for key in ("ttft_ms", "tpot_ms", "output_tokens_per_s", "requests_per_s"):
        assert 0 < result[key]["low"] <= result[key]["mid"] <= result[key]["high"]
    assert result["bound"] == "memory"
    assert result["usd_per_hour"] == 1.861
    names = {term["name"]: term["value"] for term in result["terms"]}
    assert names["sequences mid-generation"] == 32


@pytest.mark.parametrize("width", [80, 120])
@pytest.mark.parametrize("explain", [[], ["--explain"]], ids=["short", "explain"])
def test_the_example_for_people(width, explain, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setenv("NO_COLOR", "1")
    assert main([*EXAMPLE, *explain]) == 0
    captured = capsys.readouterr()
    out = " ".join(captured.out.split())
    assert captured.err == ""
    assert "\x1b" not in captured.out
    assert max(map(len, captured.out.splitlines())) <= width
    assert "Does not fit. 27 of 32 sequences run at once, the rest wait." in out
    assert "27 of 32 sequences fit at full length (768 tokens, 600.0 MiB each" in out
    assert "mid-generation 640 (prompt + output / 2). Fits means full length." in out
    assert "Ranges hold what" in " ".join(out.split())
    assert "days old" in out
    assert "…" not in captured.out  # nothing is cut off
    if explain:
        assert "26,031,728,640 B" in out
        assert "12,687,769,600" in out


@pytest.mark.parametrize(
    ("batch", "verdict"),
    [
        (1, "Fits: 1 sequence at full length (768 tokens). Up to 27 would fit. │"),
        (2, "Fits: both sequences at full length (768 tokens). Up to 27 would fit. │"),
        (8, "Fits: all 8 sequences at full length (768 tokens). Up to 27 would fit. │"),
        (27, "Fits: all 27 sequences at full length (768 tokens). No more would fit. Not certain:"),
        (28, "Does not fit. 27 of 28 sequences run at once, the other waits."),
        (29, "Does not fit. 27 of 29 sequences run at once, the rest wait."),
    ],
)
def test_the_verdict_counts_right(batch, verdict, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    arguments = ["llama-2-13b", "g6e.xlarge", "--weights", "fp16", "--batch", str(batch)]
    assert main(["estimate", *arguments]) == 0
    assert verdict in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(
    ("batch", "verdict"),
    [
        (2, "Does not fit. 1 of 2 sequences runs at a time, the other waits."),
        (3, "Does not fit. 1 of 3 sequences runs at a time, the rest wait."),
    ],
)
def test_one_of_several_runs_alone(batch, verdict, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    arguments = ["llama-3.1-8b", "g5.xlarge", "--prompt", "20000", "--output", "480"]
    assert main(["estimate", *arguments, "--batch", str(batch)]) == 0
    assert verdict in " ".join(capsys.readouterr().out.split())


def test_no_colour_when_piped(capsys, monkeypatch):
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.delenv("COLUMNS", raising=False)
    assert main(EXAMPLE) == 0
    assert "\x1b" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["llama-3-70b", "g5.xlarge"], "WEIGHTS"),
        (["llama-2-7b", "g4dn.xlarge", "--weights", "bf16"], "DTYPE_UNSUPPORTED"),
        (["llama-2-7b", "inf2.xlarge", "--weights", "int4"], "DTYPE_UNSUPPORTED"),
        (["qwen2.5-7b", "g5.48xlarge", "--tp", "8"], "HEADS_NOT_DIVISIBLE"),
        (["llama-2-7b", "g5.xlarge", "--tp", "2"], "NOT_OFFERED"),
        (["llama-2-7b", "inf2.xlarge", "--engine", "vllm"], "ENGINE_UNSUPPORTED"),
        (["llama-2-13b", "inf2.xlarge"], "HOST_RAM"),
        (["llama-3-8b", "p5e.48xlarge"], "UNKNOWN_PRICE"),
        (["llama-3-8b", "g6e.xlarge", "--ttft-ms", "1"], "SLO_TTFT"),
        (["llama-3-8b", "g6e.xlarge", "--tpot-ms", "1"], "SLO_TPOT"),
        (["bert-base", "g5.xlarge"], "ENGINE_UNSUPPORTED"),
    ],
    ids=lambda value: value if isinstance(value, str) else " ".join(value),
)
def test_what_cannot_run_is_an_answer_not_an_error(arguments, code, capsys):
    result = answer(capsys, "estimate", *arguments)
    assert code in [refusal["code"] for refusal in result["refusals"]]
    assert main(["estimate", *arguments]) == 0
    assert f"! {code}: " in capsys.readouterr().out


def test_a_config_json_is_a_model(config, capsys):
    path = config(LLAMA)
    mine = answer(capsys, "estimate", path, "g5.xlarge")
    shipped = answer(capsys, "estimate", "tinyllama-1.1b", "g5.xlarge")
    assert mine["memory"] == shipped["memory"]
    assert mine["tpot_ms"] == shipped["tpot_ms"]


def test_a_hub_id_and_an_ml_name_are_aliases(capsys):
    hub = answer(capsys, "estimate", "meta-llama/Llama-2-13b-hf", "ml.g6e.xlarge")
    assert hub["memory"]["weights_bytes"] == 26_031_728_640


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["llama-2-14b", "g5.xlarge"], "Unknown model 'llama-2-14b': did you mean llama-2-"),
        (["llama-2-7b", "g5.xlrge"], "Unknown instance type 'g5.xlrge': did you mean g5.xlarge"),
        (["llama-2-7b", "g5.xlarge", "--weights", "int5"], "Unknown number format 'int5': did"),
        (["llama-2-7b", "g5.xlarge", "--kv", "fp15"], "Unknown number format 'fp15': did you"),
        (["llama-2-7b", "g5.xlarge", "--engine", "vlm"], "Unknown engine 'vlm': did you mean v"),
        (["llama-2-7b", "g5.xlarge", "--loader", "lazy"], "Unknown loader 'lazy': known: stream"),
        (["llama-2-7b", "g5.xlarge", "--prompt", "-5"], "prompt_tokens must be a whole number"),
        (["llama-2-7b", "g5.xlarge", "--output", "0"], "output_tokens must be a whole number of"),
        (["llama-2-7b", "g5.xlarge", "--batch", "0"], "batch must be a whole number of at least"),
        (["llama-2-7b", "g5.xlarge", "--batch", "1e3"], "Invalid value for '--batch'"),
        (["llama-2-7b", "g5.xlarge", "--tp", "0"], "tensor_parallel_size must be a whole number"),
        (["llama-2-7b", "g5.xlarge", "--ttft-ms", "0"], "ttft_ms must be a number above 0"),
        (["llama-2-7b", "g5.xlarge", "--prefix-hit-rate", "2"], "prefix_hit_rate must be at le"),
        (["llama-2-7b", "g5.xlarge", "--price", "free"], "Unknown price 'free': use "),
        (["llama-2-7b", "g5.xlarge", "--region", "mars-1"], "Unknown region 'mars-1': "),
        (["llama-2-7b", "g5.xlarge", "--bacth", "2"], "No such option"),
        (["llama-2-7b"], "Missing argument"),
        (["./nowhere/config.json", "g5.xlarge"], "No such model configuration"),
    ],
    ids=lambda value: "" if isinstance(value, str) else " ".join(value),
)
def test_bad_input_is_exit_2_and_one_sentence(arguments, words, capsys):
    assert main(["estimate", *arguments]) == 2
    captured = capsys.readouterr()
    assert captured.err.startswith(words)
    assert captured.err.count("\n") == 1
    assert captured.out == ""


@pytest.mark.parametrize(
    "content",
    [
        "this is not JSON",
        "[1, 2]",
        "{}",
        {k: v for k, v in LLAMA.items() if k != "hidden_size"},
        LLAMA | {"num_hidden_layers": -3},
        LLAMA | {"num_attention_heads": "many"},
    ],
    ids=["not JSON", "a list", "empty", "a field missing", "a negative field", "a word"],
)
def test_a_bad_config_json_is_exit_2_and_one_sentence(content, config, capsys):
    assert main(["estimate", config(content), "g5.xlarge"]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert "Traceback" not in captured.err
