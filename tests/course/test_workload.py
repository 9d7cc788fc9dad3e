"""`my_workload.toml`: read whole, and what is wrong is named with its field and line."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit.course import workload, workspace
from labkit.course.workload import FIELDS, FILE, WorkloadError, parse, read_use_case, template
from labkit.sizing import SLO, Workload

TEXT = template().decode("utf-8")


def line_of(key: str) -> int:
    return next(n for n, line in enumerate(TEXT.splitlines(), 1) if line.startswith(key))


def without(key: str) -> str:
    return "\n".join(line for line in TEXT.splitlines() if not line.startswith(key))


def test_the_template_is_a_use_case_and_says_that_it_is_the_example() -> None:
    use = parse(TEXT)
    assert use.example
    assert "still the example" in str(use)
    assert use.traffic == Workload(800, 200, 2.0, SLO(ttft_ms=1000, tpot_ms=60))
    assert use.spec().name == "llama-3-8b"
    assert len(use.instances) == 3


def test_another_case_is_no_example_and_wishes_may_be_left_out() -> None:
    text = without("ttft_ms").replace("requests_per_second = 2.0", "requests_per_second = 7")
    use = parse(text)
    assert not use.example
    assert use.ttft_ms is None
    assert use.traffic.slo == SLO(tpot_ms=60)
    assert "no wish" in str(use)
    assert "still the example" not in use._repr_mimebundle_()["text/html"]


def test_the_weights_default_to_the_models_own_format() -> None:
    assert parse(without("weights")).weights == "bf16"


@pytest.mark.parametrize(
    ("key", "wrong", "says"),
    [
        ("name", '"llama-3-8bb"', "did you mean"),
        ("name", '"resnet-50"', "writes no tokens"),
        ("name", "8", "must be text in quotes, not 8"),
        ("weights", '"bf17"', "did you mean"),
        ("prompt_tokens", '"800"', "must be a whole number of at least 1, not '800'"),
        ("prompt_tokens", "0", "must be a whole number of at least 1, not 0"),
        ("output_tokens", "1.5", "must be a whole number"),
        ("output_tokens", "true", "must be a whole number"),
        ("requests_per_second", "-1", "must be a number above 0, not -1"),
        ("requests_per_second", "nan", "must be a number above 0"),
        ("requests_per_second", "true", "must be a number above 0, not True"),
        ("ttft_ms", '"fast"', "must be a number above 0, not 'fast'"),
        ("region", '"Virginia"', "as AWS does, e.g. us-east-1, not 'Virginia'"),
        ("usd_per_month", "0", "must be a number above 0"),
        ("needs", '""', "must be text in quotes"),
        ("instances", '"g5.xlarge"', "must list one to 6"),
        ("instances", "[]", "must list one to 6"),
        ("instances", '["g5.xlarg"]', "did you mean"),
        ("instances", "[5]", "must be text in quotes"),
    ],
)
def test_a_bad_field_is_named_with_its_line(key: str, wrong: str, says: str) -> None:
    text = re.sub(rf"(?m)^{key} = [^#\n]*", f"{key} = {wrong}  ", TEXT)
    with pytest.raises(WorkloadError) as caught:
        parse(text)
    message = str(caught.value)
    assert message.startswith(f"{FILE}, line {line_of(key)}: ")
    assert says in message
    assert "\n" not in message


@pytest.mark.parametrize(
    "field",
    [
        f
        for f in FIELDS
        if f.split(".")[1] not in {"weights", "ttft_ms", "tpot_ms", "usd_per_month"}
    ],
)
def test_a_missing_field_is_named_with_the_place_for_it(field: str) -> None:
    section, key = field.split(".")
    with pytest.raises(
        WorkloadError, match=rf"lacks {re.escape(field)}: add a line `{key} = …`"
    ) as e:
        parse(without(key))
    assert f"below [{section}] in line {line_of(f'[{section}]')}." in str(e.value)


def test_a_missing_section_is_named() -> None:
    with pytest.raises(WorkloadError, match=r"lacks model\.name: .* below a line \[model\]\."):
        parse("")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            TEXT.replace("prompt_tokens", "promt_tokens"),
            "unknown field traffic.promt_tokens: did you",
        ),
        (
            TEXT + "\n[mony]\nregion = 'x'\n",
            "unknown field mony.region: did you mean money.region?",
        ),
        ("speed = 3\n" + TEXT, "is not TOML"),
        (TEXT.replace("= 800 ", "= 1,000 "), "is not TOML: .*line 9, .* no commas"),
        (TEXT.replace('"bf16" ', "bf16 "), "is not TOML: .*line 6"),
    ],
)
def test_what_nobody_reads_and_what_is_no_toml(text: str, says: str) -> None:
    with pytest.raises(WorkloadError, match=says) as caught:
        parse(text)
    assert "\n" not in str(caught.value)


@given(st.text(max_size=200))
def test_no_text_breaks_the_reader(text: str) -> None:
    with pytest.raises(WorkloadError, match=re.escape(FILE)):
        parse(text)


@given(st.dictionaries(st.sampled_from(sorted(FIELDS)), st.integers() | st.booleans() | st.text()))
def test_no_value_breaks_the_reader(fields: dict[str, object]) -> None:
    lines = [f"{name} = {_toml(value)}" for name, value in fields.items()]
    with pytest.raises(WorkloadError):
        parse("\n".join(lines))


def _toml(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return (
        str(value)
        if isinstance(value, int)
        else '"'
        + "".join(f"\\U{ord(c):08x}" if not 0xD800 <= ord(c) < 0xE000 else "?" for c in str(value))
        + '"'
    )


def test_a_workspace_gets_it_once_and_keeps_what_is_written(tmp_path: Path) -> None:
    root = tmp_path / "ws"
    assert workspace.init(root, "ada")[-1] == workspace.Delivery(FILE, "added")
    assert (root / FILE).read_bytes() == template()
    mine = TEXT.replace("requests_per_second = 2.0", "requests_per_second = 9")
    (root / FILE).write_text(mine, encoding="utf-8-sig")  # as a Windows editor saves it
    [*_, last] = workspace.init(root, "", update=True)
    assert last.sentence() == f"{FILE}: yours; left as it is."
    assert read_use_case(root).requests_per_second == 9
    (root / FILE).unlink()
    with pytest.raises(WorkloadError, match=r"is not in your workspace: `labkit init \. --update`"):
        read_use_case(root)
    workspace.init(root, "", update=True)
    assert read_use_case(root).example


def test_a_file_that_is_no_text(tmp_path: Path) -> None:
    (tmp_path / FILE).write_bytes(b"\xff\xfe\x00")
    with pytest.raises(WorkloadError, match="cannot be read"):
        read_use_case(tmp_path)


def test_the_template_holds_every_field() -> None:
    written = workload._flat(tomllib.loads(TEXT), {})
    assert set(written) == set(FIELDS)
