# `make help` lists the commands. `make demo` shows the main job, `make test` runs before each commit, `make check` is what CI runs.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Notes what a command costs; `make costs` prints all of it.
PHASE = $(BIN)/python -m tools.costs run
# Half of the time a test waits for a process, so three at once for two cores.
PYTEST_ARGS ?= -n $(shell $(PYTHON) -c 'import os; print(max(2, (os.cpu_count() or 2) * 3 // 2))') --dist loadfile
# Mostly they wait for the cluster, so more at once than there are cores.
CLUSTER_ARGS ?= -n 4
# Of chaos and chaos-cluster: how long, and which chances; CHAOS_ARGS="--plant lost", of the latter "--plant program", has to be found.
SECONDS ?= 600
SEED ?= 1
CHAOS_ARGS ?=
# Of fuzz: how many for each route.
EXAMPLES ?= 200
# The program of another server, on which the engine is tested too: if it is given, and by `make test-redis` anyway.
REDIS_SERVER ?=
OTHER_SERVER = $(or $(REDIS_SERVER),redis-server)
REDIS_TESTS ?= tests/scheduler tests/model tests/acceptance
REDIS_MARKERS ?= not slow and not nightly and not cluster
# Of `make nightly`: the chances of its chaos.
NIGHTLY_SEEDS ?= 1 2 3

# pyright is run at its pinned version, offline: without a look for a newer one.
# Each of thousands of processes would compile all that it imports, if its bytecode were not kept.
unexport PYTHONDONTWRITEBYTECODE
export PYRIGHT_PYTHON_IGNORE_WARNINGS := 1
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.DEFAULT_GOAL := help
.PHONY: help install demo test check nightly costs test-all test-redis cluster cluster-down test-cluster chaos chaos-cluster fuzz mutants screenshots lint types layers docs dist format bench bench-quick lock clean

help: ## List the commands
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{ printf "  make %-13s %s\n", $$1, $$2 }'

# A stamp in .venv for each step: the demo needs a tenth of everything, `make test` a quarter. Python compiles what it comes to need.
INSTALL = PYTHONWARNINGS=ignore $(BIN)/python -m pip install --quiet --constraint requirements.lock --no-build-isolation --no-compile

install: $(VENV)/installed ## Create .venv and install everything at its locked version

$(VENV)/installed: $(VENV)/installed-test
	$(INSTALL) --group dev --group docs --editable '.[all]'
	@touch $@

$(VENV)/installed-test: $(VENV)/installed-demo
	$(INSTALL) --group test --editable '.[all]'
	@touch $@

$(VENV)/installed-demo: $(VENV)/created
	$(INSTALL) --editable '.[local]'
	@touch $@

# With what builds the editable install, so that this needs no network of its own.
$(VENV)/created: requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "Python 3.11 or newer is needed; '$(PYTHON)' is older or missing: make install PYTHON=python3.12" >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
		echo "$(PYTHON) has no venv: install it first (Debian, Ubuntu: apt-get install python3-venv)" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade --constraint requirements.lock pip setuptools
	@touch $@

demo: $(VENV)/installed-demo ## Run the main job on real programs: needs no Redis, no cluster, no root
	$(BIN)/bandmaster demo

test: $(VENV)/installed-test ## Before each commit: the model, the defects, one acceptance a feature; says what it left out (PYTEST_ARGS="-k ...")
	@rm -rf build/costs
	@$(PHASE) test -- $(BIN)/pytest -m "not slow and not nightly and not cluster" $(PYTEST_ARGS)

# Each phase runs whatever became of those before it; the last one that failed gives the exit code.
check: install ## Everything but what is nightly, and what CI runs; with REDIS_SERVER and KUBECONFIG on those, too
	@[ -n "$(KEEP_COSTS)" ] || rm -rf build/costs
	@status=0; \
	phases="lint types layers docs test-all"; \
	if [ -n "$(REDIS_SERVER)" ]; then phases="$$phases test-redis"; fi; \
	if [ -n "$$KUBECONFIG" ] || [ "$$BANDMASTER_REQUIRE_CLUSTER" = 1 ]; then phases="$$phases test-cluster"; fi; \
	for phase in $$phases; do $(PHASE) $$phase -- $(MAKE) --no-print-directory $$phase || status=$$?; done; \
	$(BIN)/python -m tools.costs; \
	exit $$status

nightly: install ## All there is: every database and server, longer games, chaos, fuzzing, fresh environments, the cluster of KUBECONFIG; up to two hours
	@rm -rf build/costs
	@status=0; \
	$(PHASE) tests -- $(BIN)/pytest -m "not cluster" $(PYTEST_ARGS) || status=$$?; \
	if command -v $(OTHER_SERVER) >/dev/null; then \
		$(PHASE) redis -- $(MAKE) --no-print-directory test-redis REDIS_TESTS="tests/scheduler tests/model tests/middleware tests/acceptance" REDIS_MARKERS="not cluster" || status=$$?; \
	fi; \
	$(PHASE) fuzz -- $(MAKE) --no-print-directory fuzz || status=$$?; \
	for seed in $(NIGHTLY_SEEDS); do $(PHASE) chaos-$$seed -- $(MAKE) --no-print-directory chaos SEED=$$seed || status=$$?; done; \
	if [ -z "$$KUBECONFIG" ] && [ "$$BANDMASTER_REQUIRE_CLUSTER" != 1 ]; then echo "KUBECONFIG names no cluster: its tests are left out (make cluster starts one)" >&2; else \
		$(PHASE) cluster -- $(BIN)/pytest tests/cluster -m cluster $(CLUSTER_ARGS) || status=$$?; \
		$(PHASE) chaos-cluster -- $(MAKE) --no-print-directory chaos-cluster || status=$$?; \
	fi; \
	$(BIN)/python -m tools.costs; \
	exit $$status

costs: ## What the last run cost, by phase, by folder and by file
	@$(PYTHON) -m tools.costs

test-all: install ## The tests of `make check` that need no cluster
	$(BIN)/pytest -m "not nightly and not cluster" $(PYTEST_ARGS)

test-redis: install ## Run scripts, model and acceptance on redis-server, or on the program that REDIS_SERVER names
	@$(OTHER_SERVER) --version || { \
		echo "$(OTHER_SERVER) does not run: install it first (Debian, Ubuntu: apt-get install redis-server)" >&2; exit 1; }
	BANDMASTER_TEST_SERVER=$(OTHER_SERVER) $(BIN)/pytest -m "$(REDIS_MARKERS)" $(PYTEST_ARGS) $(REDIS_TESTS)

cluster: ## A cluster for the tests, of kind, k3d, minikube or Debian's packages (as root); prints its kubeconfig's path
	@$(PYTHON) -m tools.cluster up

cluster-down: ## End that cluster
	@$(PYTHON) -m tools.cluster down

# Apart from the others, which fill the machine. A test that disturbs the whole cluster waits until it has it for itself.
test-cluster: install ## Run the tests of a cluster (choose some with CLUSTER_ARGS="-k ...")
	$(BIN)/pytest tests/cluster -m "cluster and not nightly" $(CLUSTER_ARGS)

chaos: install ## Ten minutes of rough weather for processes, server and network here, then everything that must hold (SECONDS=600 SEED=1)
	PYTHONPATH=tests $(BIN)/python -m chaos --seconds $(SECONDS) --seed $(SEED) $(CHAOS_ARGS)

chaos-cluster: install ## Ten minutes of rough weather on a cluster, then everything that must hold (SECONDS=600 SEED=1)
	PYTHONPATH=tests:tests/cluster $(BIN)/python -m chaos_cluster --seconds $(SECONDS) --seed $(SEED) $(CHAOS_ARGS)

fuzz: install ## Call the API with many more random requests, others each time (EXAMPLES=200 BANDMASTER_FUZZ_SEED=7)
	BANDMASTER_FUZZ_EXAMPLES=$(EXAMPLES) $(BIN)/pytest tests/admin/test_fuzzing.py

mutants: install ## Plant each fault that a test has found before, and list those that none finds now: most of an hour
	rm -rf build/mutants
	$(BIN)/python -m tools.mutants cover
	$(BIN)/python -m tools.mutants run --killed-in tools/mutants/baseline.jsonl
	$(BIN)/python -m tools.mutants compare tools/mutants/baseline.jsonl build/mutants/results.jsonl

screenshots: install ## Renew the images of the page in docs/images (needs Chromium)
	BANDMASTER_REQUIRE_BROWSER=1 BANDMASTER_SCREENSHOTS=docs/images $(BIN)/pytest tests/page/test_page_screenshots.py

lint: install ## Check style, formatting, workflows and the headers of scripts
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/actionlint -shellcheck= -pyflakes= .github/workflows/*.yml
	$(BIN)/python -m tools.lint

types: install ## Check types, strictly
	$(BIN)/pyright

layers: install ## Check that imports run one way
	$(BIN)/lint-imports

docs: install ## Build the site of the documents in build/docs; a warning is an error
	$(BIN)/sphinx-build --quiet --fail-on-warning --keep-going docs build/docs

dist: install ## Build wheel and sdist in dist/, as a release has them, and check what PyPI would show
	rm -rf build/lib build/bdist.* dist *.egg-info
	$(BIN)/python -m build --no-isolation --outdir dist .
	$(BIN)/twine check --strict dist/*

bench: install ## Measure beside bare Dramatiq and a simple script, and draw docs/benchmarks.svg: a quarter of an hour, alone
	$(BIN)/python -m benchmarks --chart docs/benchmarks.svg --markdown build/bench/results.md

bench-quick: install ## The same in under a minute, with figures that say little
	$(BIN)/python -m benchmarks --quick

format: install ## Format the code and fix what can be fixed
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

lock: ## Take the newest allowed version of everything into requirements.lock
	rm -rf build/lock
	$(PYTHON) -m venv build/lock
	build/lock/bin/python -m pip install --quiet --upgrade pip
	build/lock/bin/python -m pip install --quiet --group build --group dev --group docs --editable '.[all]'
	@{ echo "# Every package, at the version it was tested with. Written by 'make lock'."; \
		build/lock/bin/python -m pip freeze --all --exclude-editable --exclude pip; } > requirements.lock
	rm -rf build/lock

clean: ## Remove what was made: builds, caches, data of local runs (not .venv)
	rm -rf build dist var .pytest_cache .ruff_cache .hypothesis .schemathesis .import_linter_cache *.egg-info
	find $(FOLDERS) bandmaster tests -name __pycache__ -type d -prune -exec rm -rf {} +
