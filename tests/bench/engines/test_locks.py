"""The engines' locks hold on every Python and machine they are offered for, not only on this one.

A resolver plays the other machines: it reads the registry's metadata and installs nothing.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from labkit.bench.engine.environment import SPECS, EnvironmentSpec

pytestmark = pytest.mark.heavy

UV = "uv==0.13.9"
MACHINES = ("x86_64", "aarch64")
OLDEST = 11
# A CPU build's torch is a step of its own, and these do not import beside it.
APART = ("torch", "torchvision", "torchaudio", "torchcodec")
# torch's own needs, which the CPU lock carries for it.
FOR_TORCH = {"sympy", "mpmath", "networkx"}
TARGETS = [
    pytest.param(spec, minor, machine, id=f"{spec.package}-3.{minor}-{machine}")
    for spec in SPECS
    for minor in (OLDEST, spec.newest_python[1])
    for machine in MACHINES
]


@pytest.fixture(scope="module")
def uv(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The resolver, in a folder of its own."""
    folder = tmp_path_factory.mktemp("uv")
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--target", str(folder), UV]
    subprocess.run(command, check=True, timeout=300)
    return folder / "bin" / "uv"


def resolver(uv: Path, *arguments: object) -> str:
    """What it prints on either stream; fails the test with its words where it finds nothing."""
    done = subprocess.run(
        [uv, "pip", *map(str, arguments)], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout + done.stderr


def pins(text: str, machine: str) -> dict[str, str]:
    """name → version of what a lock holds for a machine."""
    lines = [line.rstrip(" \\") for line in text.splitlines() if line[:1].isalnum()]
    found = [Requirement(line) for line in lines]
    here = [r for r in found if not r.marker or r.marker.evaluate({"platform_machine": machine})]
    return {r.name: str(r.specifier) for r in here}


@pytest.mark.parametrize(("spec", "minor", "machine"), TARGETS)
def test_every_package_has_a_wheel_and_none_is_missing(
    spec: EnvironmentSpec, minor: int, machine: str, uv: Path, tmp_path: Path
) -> None:
    text = spec.lock.read_text(encoding="utf-8")
    where = ["--python-version", f"3.{minor}", "--python-platform", f"{machine}-manylinux_2_34"]
    only = ["--only-binary", ":all:"]
    said = resolver(
        uv, "install", "--dry-run", "--no-deps", "--require-hashes", *where, *only,
        "--target", tmp_path / "nothing", "--requirement", spec.lock,
    )  # fmt: skip
    held = pins(text, machine)
    assert f"Would install {len(held)} packages" in said

    wanted, fixed, apart = tmp_path / "in.txt", tmp_path / "fixed.txt", tmp_path / "apart.txt"
    wanted.write_text(f"{spec.package}=={spec.version}\n")
    fixed.write_text("".join(f"{name}{version}\n" for name, version in held.items()))
    left_out = () if spec.gpu else APART
    apart.write_text("".join(f'{name} ; sys_platform == "never"\n' for name in left_out))
    resolved = resolver(
        uv, "compile", wanted, "--override", apart, "--constraint", fixed, *where, *only,
        "--no-header", "--no-annotate", "--quiet",
    )  # fmt: skip
    needed = pins(resolved, machine)
    assert needed.items() <= held.items()
    spare = held.keys() - needed.keys() - (set() if spec.gpu else FOR_TORCH)
    assert spare <= {"six"}  # from Python 3.12 on
