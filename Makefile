# Everything runs inside .venv, which the first call creates. Only Python >= 3.11 and make are needed.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
OLDEST := .venv-oldest
# As many processes as there are cores, so a second thread of BLAS or OpenMP would only wait. A file
# of tests stays in one process, which computes what its tests share once.
PYTEST := -m pytest --numprocesses auto --dist loadfile
test test-slow test-oldest: export OMP_NUM_THREADS = 1
# Tests start many interpreters, which need not compile the same modules again and again.
test test-slow test-oldest: export PYTHONDONTWRITEBYTECODE =

.DEFAULT_GOAL := help
.PHONY: help demo docs test test-slow test-oldest lint format types hooks goldens benchmark reproduce changelog dist clean

help:  ## list the commands
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-12s %s\n", $$1, $$2}'

$(READY): pyproject.toml lab/pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "primum needs Python 3.11 or newer, this is " + sys.version.split()[0] + "; call make PYTHON=/path/to/python3.11")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable '.[dev]' --editable ./lab
	@touch $(READY)

demo: $(READY)  ## compare models on a table with few labels, and settle which is better
	$(BIN)/python examples/demo.py

test: lint types $(READY)  ## lint, types and all tests but the slow ones
	$(BIN)/python $(PYTEST) --ignore-glob '*/test_array_api.py'
	SCIPY_ARRAY_API=1 $(BIN)/python -m pytest tests/*/test_array_api.py

test-slow: $(READY)  ## the tests that take minutes
	$(BIN)/python $(PYTEST) -m slow
	SCIPY_ARRAY_API=1 $(BIN)/python -m pytest -m slow tests/*/test_array_api.py

$(VENV)/.docs: $(READY)
	$(BIN)/python -m pip install --quiet --editable '.[docs]' --editable ./lab
	@touch $@

docs: $(VENV)/.docs  ## the documentation, with warnings as errors
	$(BIN)/python -m sphinx -W --keep-going --quiet --doctree-dir build/doctrees docs build/docs
	@echo "The documentation is in build/docs/index.html"

$(OLDEST)/.ready: pyproject.toml lab/pyproject.toml .ci/oldest.py
	$(PYTHON) -m venv --clear $(OLDEST)
	$(OLDEST)/bin/python .ci/oldest.py > $(OLDEST)/requirements.txt
	$(OLDEST)/bin/python -m pip install --quiet --requirement $(OLDEST)/requirements.txt --editable . --editable ./lab
	@touch $@

test-oldest: $(OLDEST)/.ready  ## all tests but the slow ones, on the lowest versions of everything
	$(OLDEST)/bin/python $(PYTEST)

goldens: $(READY)  ## record the fits of tests/golden anew, after a change of results on purpose
	for fits in comparison safe core; do $(BIN)/python tests/golden/$${fits}_fits.py || exit 1; done
	for fits in core method; do SCIPY_ARRAY_API=1 $(BIN)/python tests/golden/$${fits}_fits.py || exit 1; done

lint: $(READY)  ## style and formatting
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

format: $(READY)  ## repair style and formatting
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

types: $(READY)  ## static types
	$(BIN)/mypy

hooks: $(READY)  ## let git run the linters and mypy before every commit
	$(BIN)/pre-commit install

benchmark: $(READY)  ## the table of speeds, with what got slower; QUICK=1 for smaller problems
	$(BIN)/python lab/benchmarks/table.py $(if $(QUICK),--quick)

reproduce: $(READY)  ## continue a committed run of the laboratory: TARGET=safe-choice, OPTIONS='--repeats 5'
	$(BIN)/primum reproduce $(TARGET) --out lab/results/$(or $(FOLDER),$(TARGET)) --resume $(OPTIONS)

changelog: $(READY)  ## preview the changelog of the next release
	$(BIN)/towncrier build --draft --version Unreleased

dist: $(READY)  ## build wheel and sdist, check them, and try them in clean environments
	$(BIN)/python .ci/check_dist.py

clean:  ## remove the environment and caches
	rm -rf $(VENV) $(OLDEST) .mypy_cache .pytest_cache .ruff_cache .hypothesis build dist
