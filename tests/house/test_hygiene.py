"""What no file of the repository may hold: this machine's paths, registries, secrets, odd bytes.

The patterns are put together from pieces, so that this file passes its own check.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MAX_LINES = 400
BINARY = {".png", ".ico", ".whl", ".gz"}

_REGISTRIES = (("pypi", "org"), ("pythonhosted", "org"), ("npmjs", "org"), ("npmjs", "com"))
_DISTRIBUTORS = (("debian", "org"), ("anaconda", "org"), ("pytorch", "org"))
HOSTS = "|".join(r"\.".join(host) for host in (*_REGISTRIES, *_DISTRIBUTORS))

FORBIDDEN = {
    "a path of somebody's machine": re.compile(
        r"(?<![\w.~])/(?:" + "|".join(("root", "work", "opt/wheels", "home/[a-z]+")) + r")/\w"
    ),
    "a file in the temporary folder": re.compile(r"(?<![\w.~])/tm" + r"p/\w"),
    "a registry's host": re.compile(rf"https?://[\w.-]*\b(?:{HOSTS})\b"),
    "an AWS access key": re.compile("AK" + r"IA[0-9A-Z]{16}"),
    "a private key": re.compile("-----BEGIN " + r"[A-Z ]*PRIVATE KEY"),
    "an access token": re.compile(r"\b(?:gh" + r"p_|github_" + r"pat_|h" + r"f_)[A-Za-z0-9]{20}"),
    "a word about how this was made": re.compile(
        r"\b(?:"
        + "|".join(("iss" + r"ue #?\d{1,2}", "sub" + "-?agents?", "the" + " brief"))
        + r")\b",
        flags=re.IGNORECASE,
    ),
}


# Where one of these is meant: the start of the path, and what may stand there.
MEANT = {
    "Makefile": "a registry's host",  # PyTorch's index; another test counts it
    # Sources are named as they name themselves: some are another project's bug reports.
    "benchmarks/data/measurements.csv": "a word about how this was made",
    "tests/attacks/": "a file in the temporary folder",  # the sandbox's own
}


def files() -> list[Path]:
    """Every file that is, or would be, committed."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    paths = (ROOT / name for name in listed.stdout.split("\0") if name)
    return sorted(path for path in paths if path.is_file())


FILES = files()
TEXTS = [path for path in FILES if path.suffix not in BINARY]


def findings(text: str, *, kinds: dict[str, re.Pattern[str]] = FORBIDDEN) -> list[str]:
    """What is wrong with a text: "line 3: a private key"."""
    return [
        f"line {number}: {kind}"
        for number, line in enumerate(text.splitlines(), 1)
        for kind, pattern in kinds.items()
        if pattern.search(line)
    ]


def test_there_are_files_to_look_at() -> None:
    assert {"Makefile", "pyproject.toml", "requirements.lock"} <= {path.name for path in FILES}


def test_no_file_holds_what_none_may_hold() -> None:
    found = {}
    for path in TEXTS:
        name = str(path.relative_to(ROOT))
        meant = {kind for start, kind in MEANT.items() if name.startswith(start)}
        kinds = {kind: pattern for kind, pattern in FORBIDDEN.items() if kind not in meant}
        wrong = findings(path.read_text(encoding="utf-8"), kinds=kinds)
        if wrong:
            found[name] = wrong
    assert found == {}


def test_the_makefile_names_one_host_once() -> None:
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert len(re.findall(r"https?://", text)) == 1
    assert re.search(r"^TORCH_INDEX \?= https://", text, flags=re.MULTILINE)


@pytest.mark.parametrize(
    "planted",
    [
        "data = open('" + "/ro" + "ot/notes.csv')",
        "PATH=/ho" + "me/ada/bin",
        "see /tm" + "p/x.log",
        "--index-url https://py" + "pi.org/simple",
        "https://download.py" + "torch.org/whl/cpu",
        "key = 'AK" + "IAABCDEFGHIJKLMNOP'",
        "-----BEGIN RSA " + "PRIVATE KEY-----",
        "as iss" + "ue 2 asks",
    ],
)
def test_a_planted_fault_is_found(planted: str) -> None:
    assert findings(f"first line\n{planted}\n") != []


@pytest.mark.parametrize(
    "fine",
    ["the sandbox mounts a fresh /tmp", "~/work/labs", "docs/root/x", "an issue of 2 kinds"],
)
def test_what_only_looks_alike_is_left_alone(fine: str) -> None:
    assert findings(fine) == []


def test_every_text_is_utf8_with_unix_lines_and_a_last_newline() -> None:
    wrong = []
    for path in TEXTS:
        data = path.read_bytes()
        data.decode("utf-8")
        if b"\r" in data or (data and not data.endswith(b"\n")) or b"\t\n" in data:
            wrong.append(str(path.relative_to(ROOT)))
    assert wrong == []


def test_modules_stay_small() -> None:
    long = {
        str(path.relative_to(ROOT)): lines
        for path in FILES
        if path.suffix == ".py"
        and path.parts[len(ROOT.parts)] in ("src", "tools", "tests")
        and (lines := len(path.read_text(encoding="utf-8").splitlines())) > MAX_LINES
    }
    assert long == {}


def test_big_files_stay_out() -> None:
    heavy = {str(path.relative_to(ROOT)) for path in FILES if path.stat().st_size > 1_000_000}
    assert heavy == set()
