# Everything a developer or CI runs. `make demo` and `make test` work in a new clone.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: setup demo test check lint docs bench wheel-smoke clean

setup: .venv/installed

.venv/installed: pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; assert sys.version_info >= (3, 11), "Python 3.11 or newer is needed"'
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev,demo]'
	touch $@

demo: setup
	PATH="$(CURDIR)/$(BIN):$$PATH" sh docs/demo.sh

test: setup
	$(BIN)/python -m pytest

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

check: lint
	$(BIN)/cog --check docs/cli-reference.md
	$(BIN)/python -m pytest --cov --cov-report=term --cov-fail-under=90

docs: setup
	$(BIN)/cog -r docs/cli-reference.md

bench: setup
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[bench]'
	$(BIN)/python -m benchmarks

wheel-smoke: setup
	sh tests/wheel_smoke.sh "$(PYTHON)"

clean:
	rm -rf .venv build dist *.egg-info .coverage* .pytest_cache .mypy_cache .ruff_cache .hypothesis
