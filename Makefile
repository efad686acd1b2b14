# Thin: every line can be run by hand. `make help` lists the targets.
.DEFAULT_GOAL := help
SHELL := bash
BIN := .venv/bin
# For two cores. There are more workers than cores because tests wait, most of all those of integration, for servers. All tests of a file
# run on one worker, so that their shared fixtures are made once.
WORKERS ?= 3
SERVED ?= 4
BESIDE = -n $(SERVED) --dist loadfile --no-loadscope-reorder
PYTEST := $(BIN)/python -m pytest -q
# Bytecode is written whatever the environment says: without it each worker of each run rewrites the assertions of all tests, 14 s for those of unit.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: help install oracles run test unit integration web system chaos cluster secured lint bench docs mutants soak

help:            ## this list
	@grep -hE '^[a-z]+: .*##|^[a-z]+:  *##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | sort

install:         ## .venv with everything, tests included
	@scripts/bootstrap

run:             ## the whole system with its demo on http://127.0.0.1:8000 (Ctrl-C stops); installs what running needs
	@scripts/bootstrap run
	$(BIN)/equirank up --demo

test: unit       ## all tests (also: make unit, make integration, make web); the browser works while those of integration wait
	$(PYTEST) tests/integration tests/web $(BESIDE)

oracles: install ## .venv-oracles, which tests compare with
	@scripts/oracles

unit: oracles    ## tests without servers
	$(PYTEST) tests/unit -n $(WORKERS) --dist loadfile

integration: install   ## tests on a real Kafka broker, a real Redis and a real Ray
	$(PYTEST) tests/integration $(BESIDE)

web: install     ## the pages in a real browser
	$(PYTEST) tests/web

system: install  ## whole installations: the wheel, generations on football, the clone attack, several nodes and brokers
	$(PYTEST) -W "ignore:unclosed <socket:ResourceWarning" tests/system

chaos: install   ## everything killed, paused and damaged under load, and planted bugs that have to be found
	$(PYTEST) -W "ignore:unclosed <socket:ResourceWarning" tests/chaos  # kafka-python's, of brokers that went away

cluster: install ## the Helm chart on a real Kubernetes node (needs root, or EQUIRANK_KUBECONFIG; FULL=1: all of it, with every disaster; KEEP=1: stays up)
	@$(call on_node,$(if $(FULL),tests/cluster,tests/cluster/test_[123]_*.py))

secured: install ## the same chart with TLS, users and an object store (part of FULL=1 make cluster)
	@$(call on_node,tests/cluster/test_[456]_*.py)

# 77: no cluster can be had; the tests say how many are skipped.
on_node = EQUIRANK_CLUSTER_FULL=$(FULL) KEEP=$(KEEP) deploy/local/kubernetes/run $(PYTEST) -p no:randomly --timeout 600 --durations 15 $(1) || { \
	status=$$?; [ $$status = 77 ] && $(PYTEST) $(1); }

lint: install    ## ruff and mypy strict
	$(BIN)/ruff check .
	$(BIN)/ruff format --check --quiet .
	$(BIN)/mypy

bench: install   ## every benchmark beside its reference (QUICK=1 for small sizes)
	@for name in $(filter-out common isolated peers workloads,$(basename $(notdir $(wildcard benchmarks/[a-z]*.py)))); do \
		$(BIN)/python -m benchmarks.$$name $(if $(QUICK),--quick) || exit 1; done

docs: install    ## regenerate the files in docs that are written by the code
	$(BIN)/python scripts/reference

mutants: install ## mutation run: code changed one place at a time, and whether a test notices (SAMPLE=40, 0: all; SEED=1, JOBS=1)
	$(BIN)/python scripts/mutants --sample $(or $(SAMPLE),40) --seed $(or $(SEED),1) --jobs $(or $(JOBS),1)

soak: install    ## the long form of chaos, on three brokers (SECONDS=300, SEED=1; EMBEDDED=1: `equirank up`, CLUSTER=1: deploy/local/cluster)
	$(BIN)/python scripts/soak --seconds $(or $(SECONDS),300) --seed $(or $(SEED),1) $(if $(EMBEDDED),--embedded) $(if $(CLUSTER),--cluster)
