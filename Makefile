# Everything runs in a virtual environment of the project's own, made when first needed.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
SHARED ?= ../shared
TIMES ?= 1000
CPUS := $(shell nproc 2> /dev/null || getconf _NPROCESSORS_ONLN)
# Processes that share the tests of `make check`, which compute; `make test` has three more, as many of its tests wait.
WORKERS ?= $(CPUS)

# A run starts hundreds of processes, and each would compile what it imports.
unexport PYTHONDONTWRITEBYTECODE
# What mypy knows of our files outlives a clone.
CACHE := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/kohort
export MYPY_CACHE_DIR ?= $(CACHE)/mypy

# The names of what is installed hold the hash of what declares it: a checkout of the same asks for nothing anew.
DECLARED := $(shell cat pyproject.toml setup.py constraints.txt | cksum | cut -d ' ' -f 1)
# First from what uv keeps: that asks no index, and does not build Spark anew, which comes as sources.
# What is lacking is fetched; on a terminal uv shows how far it is.
UV = $(BIN)/uv pip install --python $(BIN)/python --constraint constraints.txt
INSTALL = @install() { $(UV) --quiet --offline "$$@" 2> /dev/null || $(UV) $(if $(MAKE_TERMERR),,--quiet) "$$@"; }; install
# Another level than a release's compiles in a fraction of the time, into a folder of its own, so that nobody measures that.
export KOHORT_OPT_LEVEL ?= 2
COMPILED := build/compiled$(if $(filter-out 2,$(KOHORT_OPT_LEVEL)),-O$(KOHORT_OPT_LEVEL))
COMPILED_PYTHON := $(COMPILED)/venv/bin/python
BUILD = $(BIN)/uv build --quiet --wheel --python $(BIN)/python --build-constraint constraints.txt --out-dir $(COMPILED)
PACKAGES := import sysconfig; print(sysconfig.get_path("purelib"))

# A group of tests stays in one process: tests/support/scheduling.py.
GROUPED := --dist loadgroup --no-loadscope-reorder
FAST := not long and not clients and not spark and not deep and not libraries
PYTEST = $(if $(NEW_SEEDS),KOHORT_NEW_SEEDS=$(NEW_SEEDS)) $(BIN)/python -m pytest

.DEFAULT_GOAL := help

help:  ## what there is
	@awk -F':.*## ' '/^[a-z-]+:.*## / {printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(BIN)/uv:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "kohort needs Python 3.11 or newer; name one: make PYTHON=python3.12 …"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt uv

$(VENV)/.serve-$(DECLARED): | $(BIN)/uv
	$(INSTALL) -e .
	@touch $@

$(VENV)/.demo-$(DECLARED): | $(BIN)/uv
	@echo "installing three client libraries and the analysis for the demo …"
	$(INSTALL) -e '.[demo,analyze]'
	@touch $@

$(VENV)/.test-$(DECLARED): | $(BIN)/uv
	@echo "installing what the tests need …"
	$(INSTALL) -e '.[test,check,pipeline]'
	@touch $@

environment: $(VENV)/.test-$(DECLARED)  ## what the tests need, and nothing else

demo: $(VENV)/.demo-$(DECLARED)  ## three client libraries share a group, stall, crash and come back; then why, by the analysis
	$(BIN)/kohort demo

serve: $(VENV)/.serve-$(DECLARED)  ## a broker on 127.0.0.1:9092
	$(BIN)/kohort serve

test: $(VENV)/.test-$(DECLARED)  ## what a change must hold: fast tests, clients in Python, some of Spark; WITHOUT=spark leaves it out
	$(PYTEST) -n $$(($(CPUS) + 3)) $(GROUPED) -m "not deep and not libraries$(if $(WITHOUT), and not $(WITHOUT))" $(TESTS)

everything: $(VENV)/.test-$(DECLARED)  ## the tests of make test, and all other Spark
	$(PYTEST) -n $$(($(CPUS) + 3)) $(GROUPED) -m "not libraries" $(TESTS)

deep: $(VENV)/.test-$(DECLARED)  ## all there is, before a release: all Spark, all languages, fuzz, kills; an hour
	$(BIN)/python -m tests.stages deep --shared $(SHARED)

clients: $(VENV)/.test-$(DECLARED)  ## clients in Java, Go, Node.js and Rust, and Kafka's own tools, as far as the machine has them; KOHORT_THROUGH_PROXY=1 puts kohort proxy between
	$(PYTEST) -n $(CPUS) $(GROUPED) -m libraries tests/clients

generated: $(VENV)/.test-$(DECLARED)  ## what the builds of clients/java and clients/node make of /openapi.json, for an editor
	cd clients && KOHORT_COMMAND=$(abspath $(BIN)/kohort) $(PYTHON) -m generator

smoke: $(VENV)/.test-$(DECLARED)  ## one of those clients in each language
	$(PYTEST) -m libraries tests/clients/test_groups.py -k "whole_group and (4.3.0 or franz-go or kafkajs or Rust)"

spark: $(VENV)/.test-$(DECLARED)  ## all tests that start Spark; WITHOUT=cluster leaves out those of minutes
	$(PYTEST) -n 2 $(GROUPED) -m "spark$(if $(WITHOUT), and not $(WITHOUT))" tests/pipeline

flakes: $(VENV)/.test-$(DECLARED)  ## the pytest plugin's fixtures, used TIMES=1000 times in four workers at a time
	KOHORT_TIMES=$(TIMES) $(BIN)/python -m pytest -n 4 tests/testing/in_use.py

lint: $(VENV)/.test-$(DECLARED)  ## format, lint, types, import directions
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	PYTHONPATH=typings $(BIN)/lint-imports

fast: $(VENV)/.test-$(DECLARED)  ## the fast tests
	$(PYTEST) -n $(WORKERS) $(GROUPED) -m "$(FAST)" $(TESTS)

check: $(VENV)/.test-$(DECLARED)  ## what every commit passes: lint beside the fast tests
	@$(MAKE) --no-print-directory -j 2 lint fast

compiled: $(VENV)/.test-$(DECLARED)  ## a wheel with compiled modules, installed in build/compiled; wants a C compiler
	rm -rf $(COMPILED) build/lib* build/temp* build/bdist*
	export KOHORT_COMPILE=1; $(BUILD) --offline 2> /dev/null || $(BUILD)
	$(BIN)/uv venv --quiet --python $(BIN)/python $(COMPILED)/venv
	$(BIN)/uv pip install --quiet --offline --no-deps --python $(COMPILED_PYTHON) $(COMPILED)/kohort-*.whl
	$(BIN)/python -c '$(PACKAGES)' > "$$($(COMPILED_PYTHON) -c '$(PACKAGES)')/what_the_tests_need.pth"

# In a venv of its own, which takes everything but kohort from the first one.
check-compiled: compiled fast-compiled  ## the fast tests on such a wheel

fast-compiled:  ## the same on the wheel that is there; TESTS="tests/storage" for some of them
	KOHORT_COMPILED=1 $(COMPILED_PYTHON) -m pytest -n $(WORKERS) $(GROUPED) -m "$(FAST)" $(TESTS)

without-fast: $(VENV)/.test-$(DECLARED)  ## the fast tests without broker/fast: all is the same, only slower
	KOHORT_ABSENT=kohort.broker.fast $(PYTEST) -n $(WORKERS) $(GROUPED) -m "$(FAST)" $(TESTS)

crash: $(VENV)/.test-$(DECLARED)  ## a broker killed ROUNDS=200 times under load, and a disk whose calls fail, each CALLS=1st one
	$(BIN)/python -m tests.crash $(if $(ROUNDS),--rounds $(ROUNDS)) $(if $(CALLS),--calls $(CALLS)) $(if $(SEED),--seed $(SEED))

simulations: $(VENV)/.test-$(DECLARED)  ## simulated worlds of share and streams groups: NEW_SEEDS=50 that nobody has played, of STEPS=3000 steps each
	KOHORT_SEEDS=0 KOHORT_NEW_SEEDS=$(or $(NEW_SEEDS),50) KOHORT_STEPS=$$((2 * $(or $(STEPS),3000))) $(BIN)/python -m pytest -n $(WORKERS) $(GROUPED) \
		tests/simulation/test_sharing.py tests/simulation/test_streaming.py -k "is_one_members or has_one_owner"

fuzz: $(VENV)/.test-$(DECLARED)  ## requests that nobody should send, for a minute; FRAMES=1000000 of them, SEED=7 again, ONLY=disk
	$(BIN)/python -m tests.fuzz $(if $(FRAMES),--frames $(FRAMES)) $(if $(SEED),--seed $(SEED)) $(if $(ONLY),--only $(ONLY))

conformance: $(VENV)/.test-$(DECLARED)  ## conversations recorded from a real Kafka, when ../shared is there; CONFORMANCE=--quick leaves out those that wait
	$(BIN)/python -m tests.conformance --shared $(SHARED) $(CONFORMANCE)

differential: $(VENV)/.test-$(DECLARED)  ## a real Kafka and kohort hear SEQUENCES=200 of each kind; KIND=log SEED=7 for some of them
	$(BIN)/python -m tests.differential --shared $(SHARED) $(if $(SEQUENCES),--sequences $(SEQUENCES)) $(if $(SEED),--seed $(SEED)) $(if $(KIND),--kind $(KIND))

release: $(VENV)/.test-$(DECLARED)  ## what a release uploads, into dist/: built twice, checked, and tried in empty environments
	$(INSTALL) -e '.[release]'
	$(BIN)/python -m tests.release

bench: $(VENV)/.test-$(DECLARED)  ## figures of docs/performance.md, kohort's side; BENCH="--quick heartbeat" for less
	$(BIN)/python -m benchmarks $(BENCH)

bench-in-turns: $(VENV)/.test-$(DECLARED)  ## kfake and kohort in turns of less than a second, with ../shared; TURNS="--rounds 3 'commit 16'" for less
	$(BIN)/python -m benchmarks.in_turns --shared $(SHARED) $(if $(wildcard build/compiled/venv/bin/kohort),--with compiled=build/compiled/venv/bin/kohort) $(TURNS)

bench-proxy: $(VENV)/.test-$(DECLARED)  ## what kohort proxy adds, beside Toxiproxy where Go can build it, and 1,000 connections through it
	$(BIN)/python -m benchmarks.through_proxy $(TURNS)

curves: $(VENV)/.test-$(DECLARED)  ## what one more group, connection or member costs, as a picture; the build of make check-compiled beside
	$(BIN)/python -m benchmarks.curves docs/images/curves.svg --values benchmarks/curves.json $(if $(wildcard build/compiled/venv/bin/kohort),--compiled build/compiled/venv/bin/kohort)

stalls: $(VENV)/.test-$(DECLARED)  ## how long a ping waits while somebody asks for as much as one can; STALLS="produce fetch" for some
	$(BIN)/python -m benchmarks.stalls $(STALLS)

bench-pipeline: $(VENV)/.test-$(DECLARED)  ## figures of the pipeline, beside DuckDB and Polars; BENCH="--quick" for less
	$(INSTALL) -e '.[bench]'
	$(BIN)/python -m tests.pipeline.bench_stream
	$(BIN)/python -m tests.pipeline.bench $(BENCH)

pictures: $(VENV)/.test-$(DECLARED)  ## the README's pictures, made anew; wants Chromium and ../shared
	$(BIN)/python -m tests.control.page_picture docs/images/page.png
	$(BIN)/python -m tests.watch.pictures docs/images/watch.svg
	$(BIN)/python -m tests.pipeline.pictures docs/images/report.png

constraints: $(BIN)/uv  ## the newest versions that pyproject.toml allows, into constraints.txt
	$(BIN)/uv pip compile --quiet --universal --upgrade --no-header --no-annotate --no-emit-index-url --python-version 3.11 \
		--all-extras pyproject.toml --output-file build/constraints.txt
	{ sed -n '/^#/p' constraints.txt; grep -v '^#' build/constraints.txt; } > build/new && mv build/new constraints.txt

clean:  ## remove what was made
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

.PHONY: help environment demo serve test deep release clients generated smoke spark flakes lint fast check compiled check-compiled without-fast crash simulations fuzz conformance differential bench bench-in-turns bench-proxy curves stalls bench-pipeline pictures constraints clean
