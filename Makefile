# Everything runs in a virtual environment of the project, which is created when it is first needed.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
SHARED ?= ../shared
TIMES ?= 1000
CPUS := $(shell nproc 2> /dev/null || getconf _NPROCESSORS_ONLN)
# Test processes of `make check`. `make test` uses three more, because many of its tests wait.
WORKERS ?= $(CPUS)

# A run starts hundreds of processes, and each would compile the modules it imports.
unexport PYTHONDONTWRITEBYTECODE
# mypy's cache is shared by all clones.
CACHE := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/kohort
export MYPY_CACHE_DIR ?= $(CACHE)/mypy

# The marker files contain a hash of the declared dependencies, so that an unchanged checkout installs nothing again.
DECLARED := $(shell cat pyproject.toml setup.py constraints.txt | cksum | cut -d ' ' -f 1)
# Install from uv's cache first: this needs no index, and does not rebuild Spark, which is distributed as sources.
# Missing packages are downloaded; uv shows its progress on a terminal.
UV = $(BIN)/uv pip install --python $(BIN)/python --constraint constraints.txt
INSTALL = @install() { $(UV) --quiet --offline "$$@" 2> /dev/null || $(UV) $(if $(MAKE_TERMERR),,--quiet) "$$@"; }; install
# A level below that of a release compiles faster, into a separate folder, so that it is not used for measurements.
export KOHORT_OPT_LEVEL ?= 2
COMPILED := build/compiled$(if $(filter-out 2,$(KOHORT_OPT_LEVEL)),-O$(KOHORT_OPT_LEVEL))
COMPILED_PYTHON := $(COMPILED)/venv/bin/python
BUILD = $(BIN)/uv build --quiet --wheel --python $(BIN)/python --build-constraint constraints.txt --out-dir $(COMPILED)
PACKAGES := import sysconfig; print(sysconfig.get_path("purelib"))

# Tests of a group stay in one process: tests/support/scheduling.py.
GROUPED := --dist loadgroup --no-loadscope-reorder
FAST := not long and not clients and not spark and not deep and not libraries
# The variable turns off an advertisement of Material.
SITE = NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs
PYTEST = $(if $(NEW_SEEDS),KOHORT_NEW_SEEDS=$(NEW_SEEDS)) $(BIN)/python -m pytest

.DEFAULT_GOAL := help

help:  ## list the targets
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

# Types of tests that do not use `await`. An editable install generates them; this does when a source has changed.
testing/sync.py: package/sync_types.py $(wildcard control/groups/*.py control/faults/*.py testing/*cluster*.py proxy/observed/proxy_group.py)
	@$(PYTHON) package/sync_types.py
lint test everything fast without-fast: testing/sync.py

environment: $(VENV)/.test-$(DECLARED)  ## install what the tests need into .venv

demo: $(VENV)/.demo-$(DECLARED)  ## run three client libraries in one group with stalls, crashes and restarts, then analyze it
	$(BIN)/kohort demo

serve: $(VENV)/.serve-$(DECLARED)  ## start a broker on 127.0.0.1:9092
	$(BIN)/kohort serve

test: $(VENV)/.test-$(DECLARED)  ## run the tests for a change: fast tests, Python clients, some of Spark; WITHOUT=spark skips Spark
	$(PYTEST) -n $$(($(CPUS) + 3)) $(GROUPED) -m "not deep and not libraries$(if $(WITHOUT), and not $(WITHOUT))" $(TESTS)

everything: $(VENV)/.test-$(DECLARED)  ## run the tests of make test and all other Spark tests
	$(PYTEST) -n $$(($(CPUS) + 3)) $(GROUPED) -m "not libraries" $(TESTS)

deep: $(VENV)/.test-$(DECLARED)  ## run everything before a release: all of Spark, all languages, fuzzing, crashes; takes an hour
	$(BIN)/python -m tests.stages deep --shared $(SHARED)

clients: $(VENV)/.test-$(DECLARED)  ## run clients in Java, Go, Node.js and Rust and Kafka's tools, as far as installed; KOHORT_THROUGH_PROXY=1 uses kohort proxy
	$(PYTEST) -n $(CPUS) $(GROUPED) -m libraries tests/clients

generated: $(VENV)/.test-$(DECLARED)  ## generate the sources of clients/java and clients/node from /openapi.json, for an editor
	cd clients && KOHORT_COMMAND=$(abspath $(BIN)/kohort) $(PYTHON) -m generator

smoke: $(VENV)/.test-$(DECLARED)  ## run one of those clients per language
	$(PYTEST) -m libraries tests/clients/test_groups.py -k "whole_group and (4.4.0 or franz-go or kafkajs or Rust)"

spark: $(VENV)/.test-$(DECLARED)  ## run all tests that start Spark; WITHOUT=cluster skips those that take minutes
	$(PYTEST) -n 2 $(GROUPED) -m "spark$(if $(WITHOUT), and not $(WITHOUT))" tests/pipeline

flakes: $(VENV)/.test-$(DECLARED)  ## run the pytest plugin's fixtures TIMES=1000 times in four workers
	KOHORT_TIMES=$(TIMES) $(BIN)/python -m pytest -n 4 tests/testing/in_use.py

pythons: $(VENV)/.test-$(DECLARED)  ## run fast tests under Python 3.14 and 3.15 in a chroot; needs root and mmdebstrap
	$(BIN)/python -m tests.newer_pythons

lint: $(VENV)/.test-$(DECLARED)  ## check format, lint, types and import directions
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	PYTHONPATH=typings $(BIN)/lint-imports

fast: $(VENV)/.test-$(DECLARED)  ## run the fast tests
	$(PYTEST) -n $(WORKERS) $(GROUPED) -m "$(FAST)" $(TESTS)

check: $(VENV)/.test-$(DECLARED)  ## run the checks for each commit: lint and the fast tests at the same time
	@$(MAKE) --no-print-directory -j 2 lint fast

compiled: $(VENV)/.test-$(DECLARED)  ## build a wheel with compiled modules and install it in build/compiled; needs a C compiler
	rm -rf $(COMPILED) build/lib* build/temp* build/bdist*
	export KOHORT_COMPILE=1; $(BUILD) --offline 2> /dev/null || $(BUILD)
	$(BIN)/uv venv --quiet --python $(BIN)/python $(COMPILED)/venv
	$(BIN)/uv pip install --quiet --offline --no-deps --python $(COMPILED_PYTHON) $(COMPILED)/kohort-*.whl
	$(BIN)/python -c '$(PACKAGES)' > "$$($(COMPILED_PYTHON) -c '$(PACKAGES)')/what_the_tests_need.pth"

# In a separate venv, which uses the packages of the first one except kohort.
check-compiled: compiled fast-compiled  ## build that wheel and run the fast tests with it

fast-compiled:  ## run the fast tests with the wheel that exists; TESTS="tests/storage" selects some
	KOHORT_COMPILED=1 $(COMPILED_PYTHON) -m pytest -n $(WORKERS) $(GROUPED) -m "$(FAST)" $(TESTS)

without-fast: $(VENV)/.test-$(DECLARED)  ## run the fast tests without broker/fast, which changes speed only
	KOHORT_ABSENT=kohort.broker.fast $(PYTEST) -n $(WORKERS) $(GROUPED) -m "$(FAST)" $(TESTS)

crash: $(VENV)/.test-$(DECLARED)  ## kill a broker under load ROUNDS=200 times, and fail every CALLS=1st disk call
	$(BIN)/python -m tests.crash $(if $(ROUNDS),--rounds $(ROUNDS)) $(if $(CALLS),--calls $(CALLS)) $(if $(SEED),--seed $(SEED))

simulations: $(VENV)/.test-$(DECLARED)  ## simulate share and streams groups with NEW_SEEDS=50 new seeds of STEPS=3000 steps each
	KOHORT_SEEDS=0 KOHORT_NEW_SEEDS=$(or $(NEW_SEEDS),50) KOHORT_STEPS=$$((2 * $(or $(STEPS),3000))) $(BIN)/python -m pytest -n $(WORKERS) $(GROUPED) \
		tests/simulation/test_sharing.py tests/simulation/test_streaming.py -k has_one_owner

fuzz: $(VENV)/.test-$(DECLARED)  ## send malformed and hostile requests for a minute; FRAMES=1000000 of them, SEED=7 repeats, ONLY=disk
	$(BIN)/python -m tests.fuzz $(if $(FRAMES),--frames $(FRAMES)) $(if $(SEED),--seed $(SEED)) $(if $(ONLY),--only $(ONLY))

conformance: $(VENV)/.test-$(DECLARED)  ## replay conversations recorded from a real Kafka, if ../shared exists; CONFORMANCE=--quick skips long waits
	$(BIN)/python -m tests.conformance --shared $(SHARED) $(CONFORMANCE)

differential: $(VENV)/.test-$(DECLARED)  ## send SEQUENCES=200 of each type to a real Kafka and to kohort; KIND=log SEED=7 selects some; RELEASE=4.3
	$(BIN)/python -m tests.differential --shared $(SHARED) $(if $(RELEASE),--release $(RELEASE)) $(if $(SEQUENCES),--sequences $(SEQUENCES)) $(if $(SEED),--seed $(SEED)) $(if $(KIND),--kind $(KIND))

docs: $(VENV)/.test-$(DECLARED) testing/sync.py  ## build the documentation site in build/site; a broken link or an unknown name fails
	$(SITE) build

docs-serve: $(VENV)/.test-$(DECLARED) testing/sync.py  ## show the site at http://127.0.0.1:8000 and reload it when a page or a docstring changes
	$(SITE) serve --livereload $(foreach folder,control testing proxy,--watch $(folder))

release: $(VENV)/.test-$(DECLARED)  ## build the files of a release in dist/: twice, checked, and tested in empty environments
	$(INSTALL) -e '.[release]'
	$(BIN)/python -m tests.release

bench: $(VENV)/.test-$(DECLARED)  ## measure kohort for docs/explanation/performance.md; BENCH="--quick heartbeat" selects some
	$(BIN)/python -m benchmarks $(BENCH)

bench-in-turns: $(VENV)/.test-$(DECLARED)  ## measure kfake and kohort in alternating turns, with ../shared; TURNS="--rounds 3 'commit 16'" selects some
	$(BIN)/python -m benchmarks.in_turns --shared $(SHARED) $(if $(wildcard build/compiled/venv/bin/kohort),--with compiled=build/compiled/venv/bin/kohort) $(TURNS)

bench-proxy: $(VENV)/.test-$(DECLARED)  ## measure the overhead of kohort proxy, Toxiproxy if Go can build it, and 1,000 connections
	$(BIN)/python -m benchmarks.through_proxy $(TURNS)

curves: $(VENV)/.test-$(DECLARED)  ## plot the cost of one more group, connection or member; includes the build of make check-compiled
	$(BIN)/python -m benchmarks.curves docs/images/curves.svg --values benchmarks/curves.json $(if $(wildcard build/compiled/venv/bin/kohort),--compiled build/compiled/venv/bin/kohort)

stalls: $(VENV)/.test-$(DECLARED)  ## measure the delay of a ping during the largest requests; STALLS="produce fetch" selects some
	$(BIN)/python -m benchmarks.stalls $(STALLS)

bench-pipeline: $(VENV)/.test-$(DECLARED)  ## measure the pipeline, DuckDB and Polars; BENCH="--quick" measures less
	$(INSTALL) -e '.[bench]'
	$(BIN)/python -m tests.pipeline.bench_whole $(BENCH)
	$(BIN)/python -m tests.pipeline.bench_stream
	$(BIN)/python -m tests.pipeline.bench $(BENCH)

pictures: $(VENV)/.test-$(DECLARED)  ## draw the README's pictures; needs Chromium and ../shared
	$(BIN)/python -m tests.control.page_picture docs/images/page.png
	$(BIN)/python -m tests.watch.pictures docs/images/watch.svg
	$(BIN)/python -m tests.pipeline.pictures docs/images/report.png

constraints: $(BIN)/uv  ## write the newest versions that pyproject.toml allows to constraints.txt
	$(BIN)/uv pip compile --quiet --universal --upgrade --no-header --no-annotate --no-emit-index-url --python-version 3.11 \
		--all-extras pyproject.toml --output-file build/constraints.txt
	{ sed -n '/^#/p' constraints.txt; grep -v '^#' build/constraints.txt; } > build/new && mv build/new constraints.txt

clean:  ## remove generated files
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

.PHONY: help environment demo serve test deep docs docs-serve release clients generated smoke spark flakes pythons lint fast check compiled check-compiled without-fast crash simulations fuzz conformance differential bench bench-in-turns bench-proxy curves stalls bench-pipeline pictures constraints clean
