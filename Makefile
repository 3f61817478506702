PYTHON ?= python

.DEFAULT_GOAL := help
.PHONY: help develop test fast lint docs bench clean

help:  ## Show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

develop:  ## Install the checkout in place, with all that tests and tools need
	$(PYTHON) -m pip install -e '.[dev]'

test:  ## Run all tests on what is installed
	$(PYTHON) -m pytest

fast:  ## Run the tests that take less than a second each
	$(PYTHON) -m pytest -m 'not slow'

lint:  ## Style, types, order of imports, sizes
	$(PYTHON) -m pytest -q tests/test_project.py -k 'ruff or types or downwards or relative or size or packages'

docs:  ## Build the documentation into docs/_build
	$(PYTHON) -m sphinx -W -b html docs docs/_build

bench:  ## Measure: ratios against peers, in one run
	$(PYTHON) bench/run.py

clean:  ## Remove what builds leave behind
	rm -rf .build build dist docs/_build *.egg-info .mypy_cache .ruff_cache .pytest_cache
