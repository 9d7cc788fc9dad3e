"""Which torch is taken, decided on pip's reports of machines that are not this one."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tools.setup.arrive import from_json, to_json
from tools.setup.say import SetupError
from tools.setup.torch_choice import CHOICES, Choice, Machine, Report, choose, is_cuda
from tools.setup.torch_install import follow

INDEX = "https://index.invalid/cpu"
PLAIN = ("torch==2.13.0",)
FROM_INDEX = (*PLAIN, "--index-url", INDEX)


def report(*names_and_versions: str) -> Report:
    """A report as pip writes it, with the parts that are read."""
    pairs = [item.split("==") for item in names_and_versions]
    return {
        "install": [
            {"metadata": {"name": n, "version": v}, "download_info": {"url": f"file:///{n}.whl"}}
            for n, v in pairs
        ]
    }


CUDA = report("torch==2.13.0", "nvidia-cublas==13.1", "triton==3.7", "sympy==1.14")
CPU = report("torch==2.13.0+cpu", "sympy==1.14")
MAC = report("torch==2.13.0", "sympy==1.14")
NOTHING = "ERROR: No matching distribution found for torch==2.13.0"


@dataclass
class Asked:
    """A machine with given answers, and what it was asked."""

    plain: Report | str
    index: Report | str = NOTHING
    gpu: bool = False
    questions: list[tuple[str, ...]] = field(default_factory=list)

    def machine(self) -> Machine:
        def answer(arguments: tuple[str, ...]) -> Report | str:
            self.questions.append(arguments)
            return self.plain if arguments == PLAIN else self.index

        return Machine(report=answer, has_gpu=lambda: self.gpu, size=lambda _: 202_000_000)


def taken(asked: Asked, wanted: str = "auto") -> tuple[str, ...]:
    choice = choose(wanted, "2.13.0", INDEX, asked.machine())
    assert choice is not None
    return choice.arguments


@pytest.mark.parametrize("brings", ["nvidia-cublas==13", "cuda-toolkit==13", "triton==3.7"])
def test_a_cuda_build_is_known_by_what_it_brings(brings: str) -> None:
    assert is_cuda(report("torch==2.13.0", brings))


def test_a_cuda_build_is_known_by_its_version_too() -> None:
    assert is_cuda(report("torch==2.13.0+cu130"))
    assert not is_cuda(CPU)
    assert not is_cuda(MAC)


@pytest.mark.parametrize("gpu", [False, True])
@pytest.mark.parametrize("plain", [CPU, MAC], ids=["a wheel at hand", "macOS"])
def test_what_pip_finds_is_taken_where_it_is_no_cuda(plain: Report, gpu: bool) -> None:
    asked = Asked(plain, gpu=gpu)
    assert taken(asked) == PLAIN
    assert asked.questions == [PLAIN]  # the index is not even asked


def test_linux_without_gpu_turns_to_the_cpu_index() -> None:
    assert taken(Asked(CUDA, index=CPU)) == FROM_INDEX


def test_linux_with_gpu_takes_cuda() -> None:
    assert taken(Asked(CUDA, index=CPU, gpu=True)) == PLAIN


def test_the_override_beats_the_table() -> None:
    assert taken(Asked(CUDA, index=CPU, gpu=True), "cpu") == FROM_INDEX
    assert taken(Asked(CUDA, index=CPU), "cuda") == PLAIN
    assert taken(Asked(MAC), "cpu") == PLAIN
    assert choose("skip", "2.13.0", INDEX, Asked(CUDA).machine()) is None


def test_where_plain_pip_finds_nothing_the_index_is_tried() -> None:
    assert taken(Asked(NOTHING, index=CPU)) == FROM_INDEX


@pytest.mark.parametrize("plain", [CUDA, NOTHING], ids=["cuda", "no network"])
def test_where_nothing_can_be_had_the_sentence_names_remedies(plain: Report | str) -> None:
    with pytest.raises(SetupError) as raised:
        taken(Asked(plain))
    said = str(raised.value)
    assert said.startswith("torch 2.13.0 cannot be had from here (No matching distribution")
    for remedy in ("PIP_FIND_LINKS", "TORCH_INDEX", "TORCH=skip"):
        assert remedy in said


def test_cuda_that_is_not_to_be_had_is_refused() -> None:
    with pytest.raises(SetupError, match=r"no CUDA build of torch 2\.13\.0: leave out TORCH=cuda"):
        taken(Asked(CPU), "cuda")


def test_an_unknown_override_is_named() -> None:
    with pytest.raises(SetupError, match="TORCH=gpu is unknown: use auto, cpu, cuda, skip"):
        taken(Asked(CPU), "gpu")


def test_the_announcement_says_build_size_reason_and_override() -> None:
    choice = choose("auto", "2.13.0", INDEX, Asked(CUDA, index=CPU).machine())
    assert choice is not None
    assert choice.announcement() == (
        "torch 2.13.0 for the CPU, 202 MB: there is no NVIDIA GPU. "
        "To choose yourself: TORCH=cpu, TORCH=cuda, TORCH=skip."
    )
    assert all(f"TORCH={name}" in choice.announcement() for name in CHOICES[1:])


def test_a_choice_survives_the_command_line() -> None:
    choice = Choice("auto", "2.13.0", FROM_INDEX, "torch", "there is no NVIDIA GPU", None)
    assert from_json(to_json(choice)) == choice
    assert from_json(to_json(None)) is None


def test_progress_adds_up_over_files() -> None:
    lines = [
        "Collecting torch==2.13.0\n",
        "Progress 0 of 100\n",
        "Progress 100 of 100\n",
        "Progress 0 of 50\n",
        "Progress 50 of 50\n",
        "Installing collected packages: torch\n",
        "ERROR: No space left on device\n",
    ]
    seen: list[tuple[str, int, int | None]] = []
    last = follow(lines, 150, lambda *state: seen.append(state))
    assert seen == [
        ("fetching", 0, 150),
        ("fetching", 100, 150),
        ("fetching", 100, 150),
        ("fetching", 150, 150),
        ("installing", 150, 150),
    ]
    assert last == "ERROR: No space left on device"


def test_the_version_is_written_once(root: Path) -> None:
    makefile = (root / "Makefile").read_text(encoding="utf-8")
    assert makefile.count("TORCH_VERSION := 2.13.0") == 1
