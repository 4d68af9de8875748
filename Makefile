# All the set-up a fresh machine needs: Python 3.11 or newer, make, and a way to a package index.
# Variables: PYTHON=/path/to/python3.12 (the interpreter), VENV=.venv (where the environment goes).

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help demo test bench fuzz soak lint types tests wheel constraints clean distclean setup-demo setup-test

VENV ?= .venv
BIN := $(VENV)/bin
FUZZ ?= 300
ANSWERS := build/demo-answers.jsonl
export VENV PYTHON

help:
	@echo "make demo         install, and answer examples/prompts.jsonl with the embedded local model"
	@echo "make test         install, and pass the whole gate: lint, types, tests, wheel"
	@echo "make bench        run the benchmarks (benchmarks/)"
	@echo "make fuzz         look for bodies that break a law, guided by coverage, for FUZZ seconds (300)"
	@echo "make soak         ten minutes of 500 streams that fail and are cancelled at random (not a part of the gate)"
	@echo "make lint         only ruff and the import rules;  make types, make tests, make wheel: the gate's other steps"
	@echo "make constraints  renew the pinned versions in constraints.txt"
	@echo "make clean        remove build outputs and caches;  make distclean: the environment too"
	@echo "PYTHON=/path/to/python3.12 make demo    with an interpreter of your choice (3.11 or newer)"

demo: setup-demo
	@echo "==> headwater batch examples/prompts.jsonl, answered by the local model"
	@mkdir -p build
	@$(BIN)/headwater batch examples/prompts.jsonl -o $(ANSWERS) --overwrite
	@echo "==> some of the answers"
	@$(BIN)/python scripts/show_answers.py $(ANSWERS) 6

# In order of speed, so that what fails soon fails first.
test: setup-test lint types tests wheel
	@echo "==> all passed"

lint: setup-test
	@echo "==> ruff"
	@$(BIN)/ruff check --quiet .
	@$(BIN)/ruff format --check --quiet . || { echo "error: some files are not formatted: $(BIN)/ruff format ." >&2; exit 1; }
	@echo "==> import rules"
	@$(BIN)/lint-imports > build/import-rules.log 2>&1 || { cat build/import-rules.log; exit 1; }

types: setup-test
	@echo "==> mypy --strict"
	@$(BIN)/mypy

tests: setup-test
	@echo "==> pytest on asyncio and trio, warnings as errors"
	@$(BIN)/python -m pytest --no-header --numprocesses auto --durations=5 --durations-min=3 --cov --cov-report=term:skip-covered

wheel: setup-test
	@echo "==> wheel, used by another environment"
	@sh scripts/check_wheel.sh

bench: setup-test
	@if [ -f benchmarks/requirements.txt ]; then $(BIN)/python -m pip install -qq -c constraints.txt -r benchmarks/requirements.txt; fi
	@for file in benchmarks/bench_*.py; do echo "==> $$file"; $(BIN)/python "$$file" || exit 1; done

# Not in the gate. What it finds is written to build/fuzz; run tests/fuzz/job.py with that file to see it again.
fuzz: setup-test
	@$(BIN)/python -m pip install -qq -r tests/fuzz/requirements.txt
	@mkdir -p build/fuzz/found
	@$(BIN)/python tests/fuzz/job.py -max_total_time=$(FUZZ) -artifact_prefix=build/fuzz/found/ build/fuzz

# Ten minutes: SOAK="--minutes 2 --streams 200" for less, --loop trio for the other event loop.
soak: setup-test
	@$(BIN)/python benchmarks/soak.py $(SOAK)

setup-demo:
	@sh scripts/setup.sh demo

setup-test:
	@sh scripts/setup.sh test

constraints:
	@sh scripts/constraints.sh

clean:
	@rm -rf build dist htmlcov .coverage .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	@find codecs providers engine tests benchmarks examples -name __pycache__ -prune -exec rm -rf {} + 2>/dev/null || true

distclean: clean
	@rm -rf $(VENV)
