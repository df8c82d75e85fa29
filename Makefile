# make demo   set everything up and run the main job: data, fine-tuning, comparison, report
# make test   set everything up and run all tests
# make check  lint, format and types
.PHONY: demo test check install
.DELETE_ON_ERROR:
SHELL := /bin/bash

PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/installed
RUN := runs/demo
DATA := data/demo

export HF_HUB_DISABLE_TELEMETRY := 1
export TOKENIZERS_PARALLELISM := false

install: $(STAMP)

# torch first: its pin decides the CPU or the CUDA build, and the rest is resolved around it.
$(STAMP): pyproject.toml constraints.txt
	@test -n "$(PYTHON)" || { echo "error: no python3.11 found: make PYTHON=/path/to/it" >&2; exit 2; }
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "error: $(PYTHON) is older than Python 3.11: make PYTHON=/path/to/it" >&2; exit 2; }
	test -x $(BIN)/python || "$(PYTHON)" -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check torch==2.13.0
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	touch $(STAMP)

demo: $(STAMP)
	@start=$$SECONDS; set -e; \
	echo "1/3 adversarial data with ground truth"; \
	$(BIN)/python data_gen/tablehallu.py engine=program source=small-world out=$(DATA); \
	echo "2/3 fine-tuning the tiny base"; \
	$(BIN)/accelerate launch --config_file accelerate_configs/cpu.yaml train/sft.py \
	  recipe=tiny run=$(RUN); \
	echo "3/3 base, prompting and fine-tuning under the detector"; \
	$(BIN)/python eval/compare.py recipe=tiny run=$(RUN); \
	took=$$((SECONDS - start)); \
	echo "done in $$((took / 60)) min $$((took % 60)) s: $(RUN)/report.html, $(RUN)/results.json"

test: $(STAMP)
	$(BIN)/pytest -q

check: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
