# Two commands matter: `make serve` runs the server, `make test` runs everything that must hold before a change lands.
# The first of them makes `.venv`. ARMILLARY_LONG=1 makes the same tests kill more, write more and ask more.

BIN := .venv/bin
PYTEST := $(BIN)/python -m pytest
PYTHON ?= $(firstword $(foreach p,python3 python3.14 python3.13 python3.12 python3.11,$(shell \
	$(p) -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 && echo $(p))))
CODE := $(wildcard src tests bench examples)

.PHONY: setup serve check lint types laws test fast slow crash compat bench fix
.DEFAULT_GOAL := check

setup: .venv/.ready ## make .venv with everything; does nothing when it is there

.venv/.ready: pyproject.toml
	@test -x $(BIN)/python || test -n "$(PYTHON)" || { echo "Python 3.11 or newer is needed: make setup PYTHON=/path/to/python3" >&2; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[test]' && touch $@

serve: setup ## a server on https and http port 8081, data in ./armillary-data; ARGS="--port 0 ..."
	@$(BIN)/armillary serve $(ARGS)

check: setup ## lint, types and laws, side by side
	@$(MAKE) --no-print-directory --jobs=3 --output-sync=target lint types laws

lint: setup
	@$(BIN)/ruff check --quiet $(CODE) && $(BIN)/ruff format --quiet --check $(CODE)

types: setup
	@$(BIN)/mypy --no-error-summary --explicit-package-bases $(CODE)

laws: setup
	@$(PYTEST) -q tests/law

test: lint types ## everything the gate needs; ends with the summary of pytest
	@$(PYTEST) -q --durations=10

fast: setup ## the tests of a working minute
	@$(PYTEST) -q -m "not (cassandra or e2e or slow or crash)"

slow: setup ## the same tests run long: more kills, more power failures, more random histories
	@ARMILLARY_LONG=1 $(PYTEST) -q --timeout=0

crash: setup ## kill -9 under load, long
	@ARMILLARY_LONG=1 $(PYTEST) -q --timeout=0 -m crash

compat: setup ## official clients against a live server, and the Python client's own tests
	@$(PYTEST) -q -m e2e
	@$(BIN)/python -m tests.compat.python_suite

bench: setup ## beside the floor and the peers, one interleaved run; writes a dated table to bench/results
	@$(BIN)/python -m bench $(ARGS)

fix: setup ## format, sort imports, and mend what can be mended
	@$(BIN)/ruff check --quiet --fix $(CODE); $(BIN)/ruff format --quiet $(CODE)
	@$(BIN)/python -m tests.law.tables --rewrite
