# The two commands are `make lab` and `make test`. All logic is in tools/setup; what can be chosen
# from outside stands here, once.

PYTHON ?= python3

# The one place where torch's version is written; `make lock` and the set-up read it from here.
TORCH_VERSION := 2.13.0
# Which build: auto, cpu, cuda or skip.
TORCH ?= auto
# PyTorch's public index of CPU builds: used on Linux without an NVIDIA GPU, where a plain
# `pip install torch` would fetch gigabytes of CUDA. A mirror can be named instead.
TORCH_INDEX ?= https://download.pytorch.org/whl/cpu

# For `make lab`: the learner id of a new workspace, and the lab to open (such as 01).
LEARNER ?=
LAB ?=

export TORCH TORCH_VERSION TORCH_INDEX LEARNER LAB

.DEFAULT_GOAL := help
.PHONY: help lab test test-heavy bench setup wheel lock

help:  ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*##/ { printf "  make %-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

lab:  ## set up what is missing and open JupyterLab on the course (options: LAB=01 LEARNER=ada TORCH=cpu|cuda|skip)
	@$(PYTHON) -m tools.setup lab

test:  ## set up everything and run all checks and tests
	@$(PYTHON) -m tools.setup test

test-heavy:  ## what takes minutes: the wheel and the release pack in bare environments, and vLLM
	@$(PYTHON) -m tools.setup test-heavy

bench:  ## how fast the sizing engine is, beside public tools
	@$(PYTHON) -m tools.setup bench

setup:  ## set up everything, wait for torch and the weights, start nothing
	@$(PYTHON) -m tools.setup setup

wheel:  ## build the wheel into dist/
	@$(PYTHON) -m tools.setup wheel

lock:  ## resolve pyproject.toml into the locks again
	@$(PYTHON) -m tools.setup lock
