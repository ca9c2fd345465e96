# make check: set up and run the shipped suite.  make test: set up and run every test.
# make bench: measure the engines against each other.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: check test lint bench clean

check: $(VENV)/installed
	$(BIN)/leadline check

test: $(VENV)/installed-test lint
	$(BIN)/python -m pytest

lint: $(VENV)/installed-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(VENV)/installed-test
	$(BIN)/python tests/bench.py

$(VENV)/python: Makefile
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "leadline needs Python 3.11 or newer: make PYTHON=python3.11 check"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	touch $@

$(VENV)/installed: $(VENV)/python pyproject.toml
	$(BIN)/python -m pip install --quiet --editable .
	touch $@

$(VENV)/installed-test: $(VENV)/python pyproject.toml
	$(BIN)/python -m pip install --quiet --editable '.[test]'
	touch $@ $(VENV)/installed

clean:
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .hypothesis
