# Everything sets itself up: a virtual environment in .venv, versions from constraints.txt.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test test-fast lint bench clean

demo: .venv/ready  ## a page that shows an index of digits learn; in CI it checks itself and ends
	$(BIN)/onlinehash demo

test: .venv/ready  ## all tests
	$(BIN)/python -m pytest -n auto

test-fast: .venv/ready  ## all but the slow ones
	$(BIN)/python -m pytest -n auto -m "not slow"

lint: .venv/ready  ## style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: .venv/ready  ## measure; a part by name: make bench ONLY="scan refresh"
	$(BIN)/python -m benchmarks $(ONLY)

.venv/ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable ".[test,bench,demo,paper]"
	touch $@

clean:
	rm -rf .venv build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -prune -exec rm -rf {} +
