# Thin: every line can be run by hand. `make help` lists the targets. Tests are in three tiers: `make test`, `make smoke`, `make full`.
.DEFAULT_GOAL := help
SHELL := bash
BIN := .venv/bin
# For two cores. There are more workers than cores because tests wait, most of all those of integration, for servers. All tests of a file
# run on one worker, so that their shared fixtures are made once. tests/conftest.py has their order.
WORKERS ?= 3
SERVED ?= 4
FILES = --dist loadfile --no-loadscope-reorder
PYTEST := $(BIN)/python -m pytest -q
# Bytecode is written whatever the environment says: without it each worker of each run rewrites the assertions of all tests, 14 s for those of unit.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: help install oracles peers run test unit integration web smoke full system chaos chart cluster secured lint bench papers docs mutants soak

help:            ## this list
	@grep -hE '^[a-z]+: .*##|^[a-z]+:  *##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | sort

install:         ## .venv with everything, tests included
	@scripts/bootstrap

run:             ## the whole system with its demo on http://127.0.0.1:8000 (Ctrl-C stops); installs what running needs
	@scripts/bootstrap run
	$(BIN)/equirank up --demo

test: unit       ## all tests (also: make unit, make integration, make web); the browser works while those of integration wait
	$(PYTEST) tests/integration tests/web -n $(SERVED) $(FILES)

oracles: install ## .venv-oracles, which tests compare with
	@scripts/oracles

peers: install   ## .venv-peers: the packages that `equirank bench` compares with, from their own lock (1.9 GB)
	@scripts/peers

unit: oracles    ## tests without servers
	$(PYTEST) tests/unit -n $(WORKERS) $(FILES)

integration: install   ## tests on a real Kafka broker, a real Redis and a real Ray
	$(PYTEST) tests/integration -n $(SERVED) $(FILES)

web: install     ## the pages in a real browser
	$(PYTEST) tests/web

# Long stages, by scripts/stages: a test that fails is run once more, alone, and a table says what passed, failed and was skipped.
smoke: install   ## a short part of each long stage, as .ci/run does: wheel, brokers, generations, faults on each log, planted bugs, the chart
	$(BIN)/python scripts/stages smoke chart

full: install    ## all long stages and both soaks, bounds of dependencies, and a machine without servers: before a release (some hours)
	$(BIN)/python scripts/stages full

system: install  ## whole installations: the wheel, generations on football, the clone attack, several nodes and brokers
	$(BIN)/python scripts/stages system

chaos: install   ## everything killed, paused and damaged under load, and planted bugs that have to be found
	$(BIN)/python scripts/stages chaos

chart: install   ## the Helm chart without a cluster: lint, rendering, schemas of Kubernetes and KubeRay (needs Go, which builds helm)
	$(BIN)/python scripts/stages chart

cluster: install ## the Helm chart on a real Kubernetes node (needs root, or EQUIRANK_KUBECONFIG; FULL=1: all of it, with every disaster; KEEP=1: stays up)
	FULL=$(FULL) KEEP=$(KEEP) $(BIN)/python scripts/stages cluster

secured: install ## the same chart with TLS, users and an object store (part of FULL=1 make cluster)
	FULL=$(FULL) KEEP=$(KEEP) $(BIN)/python scripts/stages secured

lint: install    ## ruff and mypy strict, and the types of the pages
	$(BIN)/ruff check .
	$(BIN)/ruff format --check --quiet .
	$(BIN)/mypy
	scripts/page-types

bench: install   ## every benchmark beside its reference (QUICK=1 for small sizes)
	@for name in $(filter-out common isolated peers workloads,$(basename $(notdir $(wildcard benchmarks/[a-z]*.py)))); do \
		$(BIN)/python -m benchmarks.$$name $(if $(QUICK),--quick) || exit 1; done

papers: install  ## tables and figures of the five papers in full size, written into docs/papers (QUICK=1: small sizes, into .cache/papers)
	$(BIN)/equirank papers $(if $(QUICK),--quick,--full --output docs/papers)

docs: install    ## regenerate the files in docs that are written by the code
	$(BIN)/python scripts/reference
	$(BIN)/python scripts/tutorials

mutants: install ## mutation run: code changed one place at a time, and whether a test notices (SAMPLE=40, 0: all; SEED=1, JOBS=1)
	$(BIN)/python scripts/mutants --sample $(or $(SAMPLE),40) --seed $(or $(SEED),1) --jobs $(or $(JOBS),1)

soak: install    ## the long form of chaos, on three brokers (SECONDS=300, SEED=1; EMBEDDED=1: `equirank up`, CLUSTER=1: deploy/local/cluster)
	$(BIN)/python scripts/soak --seconds $(or $(SECONDS),300) --seed $(or $(SEED),1) $(if $(EMBEDDED),--embedded) $(if $(CLUSTER),--cluster)
