# make demo   set everything up and run the main job: data, fine-tuning, comparison, report
# make demo-real  the same with a pretrained model, Qwen2.5-Coder-0.5B, on real tables: within an hour
# make test   set everything up and run all tests
# make check  lint, format and types
# make docs   the documentation as a site, in site/
# make vllm-env   .venv-vllm: vLLM for CPUs in an environment of its own
# make test-vllm  the tests that need it
.PHONY: demo demo-real test check docs install vllm-env test-vllm
.DELETE_ON_ERROR:
SHELL := /bin/bash

PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/installed
VLLM_BIN := .venv-vllm/bin
VLLM_STAMP := .venv-vllm/installed
RUN := runs/demo
DATA := data/demo
# as the scripts read run=: a name is below runs/, a path is itself
FOLDER = $(if $(findstring /,$(RUN)),$(RUN),runs/$(RUN))

export HF_HUB_DISABLE_TELEMETRY := 1
export TOKENIZERS_PARALLELISM := false

install: $(STAMP)

define find_python
@test -n "$(PYTHON)" || { echo "error: no python3.11 found: make PYTHON=/path/to/it" >&2; exit 2; }
@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
  { echo "error: $(PYTHON) is older than Python 3.11: make PYTHON=/path/to/it" >&2; exit 2; }
endef

# torch first: its pin decides the CPU or the CUDA build, and the rest is resolved around it.
$(STAMP): pyproject.toml constraints.txt
	$(find_python)
	test -x $(BIN)/python || "$(PYTHON)" -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check torch==2.13.0
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	touch $(STAMP)

vllm-env: $(VLLM_STAMP)

# The file names every package, so nothing is resolved; torch brings what its build needs.
$(VLLM_STAMP): requirements-vllm.txt
	$(find_python)
	test -x $(VLLM_BIN)/python || "$(PYTHON)" -m venv .venv-vllm
	$(VLLM_BIN)/python -m pip install --quiet --disable-pip-version-check -c requirements-vllm.txt torch==2.13.0
	$(VLLM_BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps -r requirements-vllm.txt
	$(VLLM_BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps -e .
	touch $(VLLM_STAMP)

DEMO := recipe=tiny run=$(RUN) \
  data.train='{source: $(DATA), split: train, n: null, seed: 0}' \
  data.validation='{source: $(DATA), split: validation, n: 64, seed: 0}' \
  data.test='{source: $(DATA), split: test, n: 300, seed: 0, queries: 1}'

demo: $(STAMP)
	@set -e; start=$$SECONDS; \
	echo "1/3 adversarial examples with ground truth"; \
	$(BIN)/python data_gen/tablehallu.py source=small-world n=8000 seed=1 workers=2 \
	  shares='{train: 0.92, validation: 0.02, test: 0.06}' out=$(DATA); \
	echo "2/3 fine-tuning of the tiny base"; \
	$(BIN)/accelerate launch --quiet --config_file accelerate_configs/cpu.yaml train/sft.py $(DEMO); \
	echo "3/3 base, prompting and fine-tuning under one detector"; \
	$(BIN)/python eval/compare.py $(DEMO); \
	took=$$((SECONDS - start)); \
	echo "done in $$((took / 60)) min $$((took % 60)) s: $(FOLDER)/report.html, $(FOLDER)/results.json"

# What two cores without bfloat16 do in an hour: 128 rows of some 450 tokens at 45 tokens/s.
REAL := recipe=qwen2.5-coder-0.5b run=runs/demo-real train.max_steps=32 train.save_every=16 \
  data.train='{source: data/wikipedia, split: train, n: 64, seed: 0}' data.validation=null \
  data.test='{source: data/wikipedia, split: test, n: 24, seed: 0}' evaluation.n=24 \
  $(foreach system,careful follow cot constrained cave,evaluation.systems.$(system)=null)

demo-real: $(STAMP)
	@set -e; start=$$SECONDS; \
	echo "1/4 Qwen2.5-Coder-0.5B-Instruct"; \
	$(BIN)/python checkpoints/fetch.py qwen2.5-coder-0.5b-instruct; \
	echo "2/4 adversarial examples of real tables"; \
	$(BIN)/python data_gen/tablehallu.py recipe=wikipedia-data; \
	echo "3/4 fine-tuning"; \
	$(BIN)/accelerate launch --quiet --config_file accelerate_configs/cpu.yaml train/sft.py $(REAL); \
	echo "4/4 base, two demonstrations, repair and fine-tuning under one detector"; \
	$(BIN)/python eval/compare.py $(REAL); \
	took=$$((SECONDS - start)); \
	echo "done in $$((took / 60)) min $$((took % 60)) s: runs/demo-real/report.html, runs/demo-real/results.json"

test: $(STAMP)
	OMP_NUM_THREADS=1 $(BIN)/pytest -q -n auto --dist worksteal

test-vllm: $(VLLM_STAMP)
	OMP_NUM_THREADS=1 $(VLLM_BIN)/python -m pytest -q -n 2 --dist worksteal -m vllm \
	  tests/distributed/test_vllm.py tests/distributed/test_vllm_grpo.py

check: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

docs: $(STAMP)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
