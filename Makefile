# Everything runs in a virtual environment of the project's own, made when first needed.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
SHARED ?= ../shared
TIMES ?= 1000
# Seeds of the simulations that nobody has played before, beside the fixed ones. The last lines of the run name them.
NEW_SEEDS ?= 2
# Processes that share the tests of `make check`. No test has a port or a file that another one may have, too.
WORKERS ?= 2

COMPILED := build/compiled/venv/bin/python
PACKAGES := import sysconfig; print(sysconfig.get_path("purelib"))

.DEFAULT_GOAL := help

help:  ## what there is
	@awk -F':.*## ' '/^[a-z-]+:.*## / {printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(BIN)/kohort: pyproject.toml setup.py
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "kohort needs Python 3.11 or newer; name one: make PYTHON=python3.12 …"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e .
	@touch $@

$(VENV)/.demo: $(BIN)/kohort
	@echo "installing three client libraries and the analysis for the demo: a minute the first time …"
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[demo,analyze]'
	@touch $@

$(VENV)/.test: $(BIN)/kohort
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[test,check,pipeline]'
	@touch $@

demo: $(VENV)/.demo  ## three client libraries share a group, stall, crash and come back; then why, by the analysis
	$(BIN)/kohort demo

serve: $(BIN)/kohort  ## a broker on 127.0.0.1:9092
	$(BIN)/kohort serve

test: $(VENV)/.test  ## all tests, clients in Python included
	$(BIN)/python -m pytest -m "not libraries"

clients: $(VENV)/.test  ## clients in Java, Go, Node.js and Rust, and Kafka's own tools, as far as the machine has them
	$(BIN)/python -m pytest -m libraries -rsfER tests/clients

flakes: $(VENV)/.test  ## the pytest plugin's fixtures, used TIMES=1000 times in four workers at a time
	KOHORT_TIMES=$(TIMES) $(BIN)/python -m pytest -n 4 tests/testing/in_use.py

lint: $(VENV)/.test  ## format, lint, types, import directions
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	PYTHONPATH=typings $(BIN)/lint-imports

check: lint  ## the same, and the fast tests: what every commit passes
	KOHORT_NEW_SEEDS=$(NEW_SEEDS) $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -m "not clients and not spark and not libraries"

# In a venv of its own, which takes everything but kohort from the first one.
check-compiled: $(VENV)/.test  ## the fast tests on a wheel with compiled modules; wants a C compiler
	rm -rf build/compiled build/lib* build/temp* build/bdist*
	KOHORT_COMPILE=1 $(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir build/compiled .
	$(BIN)/python -m venv build/compiled/venv
	$(COMPILED) -m pip install --quiet --disable-pip-version-check --no-deps --no-index build/compiled/kohort-*.whl
	$(BIN)/python -c '$(PACKAGES)' > "$$($(COMPILED) -c '$(PACKAGES)')/what_the_tests_need.pth"
	KOHORT_COMPILED=1 $(COMPILED) -m pytest -rs -n $(WORKERS) --dist worksteal -m "not clients and not spark and not libraries" $(TESTS)

crash: $(VENV)/.test  ## a broker killed ROUNDS=200 times under load, and a disk whose calls fail, each CALLS=1st one
	$(BIN)/python -m tests.crash $(if $(ROUNDS),--rounds $(ROUNDS)) $(if $(CALLS),--calls $(CALLS)) $(if $(SEED),--seed $(SEED))

fuzz: $(VENV)/.test  ## requests that nobody should send, for a minute; FRAMES=1000000 of them, SEED=7 again, ONLY=disk
	$(BIN)/python -m tests.fuzz $(if $(FRAMES),--frames $(FRAMES)) $(if $(SEED),--seed $(SEED)) $(if $(ONLY),--only $(ONLY))

conformance: $(VENV)/.test  ## conversations recorded from a real Kafka, when ../shared is there
	$(BIN)/python -m tests.conformance --shared $(SHARED)

differential: $(VENV)/.test  ## a real Kafka and kohort hear SEQUENCES=200 of each kind; KIND=log SEED=7 for some of them
	$(BIN)/python -m tests.differential --shared $(SHARED) $(if $(SEQUENCES),--sequences $(SEQUENCES)) $(if $(SEED),--seed $(SEED)) $(if $(KIND),--kind $(KIND))

bench: $(VENV)/.test  ## figures of docs/performance.md, kohort's side; BENCH="--quick heartbeat" for less
	$(BIN)/python -m tests.bench $(BENCH)

bench-in-turns: $(VENV)/.test  ## kfake and kohort in turns of less than a second, with ../shared; TURNS="--rounds 3 'commit 16'" for less
	$(BIN)/python -m tests.bench.in_turns --shared $(SHARED) $(if $(wildcard build/compiled/venv/bin/kohort),--with compiled=build/compiled/venv/bin/kohort) $(TURNS)

curves: $(VENV)/.test  ## what one more group, connection or member costs, as a picture; the build of make check-compiled beside
	$(BIN)/python -m tests.bench.curves docs/images/curves.svg --values tests/bench/curves.json $(if $(wildcard build/compiled/venv/bin/kohort),--compiled build/compiled/venv/bin/kohort)

stalls: $(VENV)/.test  ## how long a ping waits while somebody asks for as much as one can; STALLS="produce fetch" for some
	$(BIN)/python -m tests.stalls $(STALLS)

bench-pipeline: $(VENV)/.test  ## figures of the pipeline, beside DuckDB and Polars; BENCH="--quick" for less
	$(BIN)/python -m tests.pipeline.bench_stream
	$(BIN)/python -m tests.pipeline.bench $(BENCH)

pictures: $(VENV)/.test  ## the README's pictures, made anew; wants Chromium and ../shared
	$(BIN)/python -m tests.control.page_picture docs/images/page.png
	$(BIN)/python -m tests.watch.pictures docs/images/watch.svg
	$(BIN)/python -m tests.pipeline.pictures docs/images/report.png

clean:  ## remove what was made
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

.PHONY: help demo serve test clients flakes lint check check-compiled crash fuzz conformance differential bench bench-in-turns curves stalls bench-pipeline pictures clean
