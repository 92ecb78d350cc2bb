# nncache. `make test` and `make demo` are all the set-up there is.
# Needs on the machine: Python 3.11+ with venv, Java 17, Maven, make.

PYTHON ?= python3
# The Hadoop release of the test bed: make test HADOOP=3.4.1
HADOOP ?= 3.5.0
# The ZooKeeper of the tests' cluster; empty: the 3.8 that this Hadoop brings: make test ZOOKEEPER=3.9.5
ZOOKEEPER ?=
# What the demo leaves out, to show that its checks can fail: make demo DEMO_WITHOUT=invalidation (or publisher)
DEMO_WITHOUT ?=
# The story of a cluster with Kerberos: make demo SECURE=1
SECURE ?=
export HADOOP ZOOKEEPER DEMO_WITHOUT SECURE
# How many processes run the tests: no more than cores. 0: all in one, file by file.
WORKERS ?= 2

# Parts of `make nightly` (tools/nightly.py); each is a target, too.
NIGHTLY := long model races alike hostile overload differential differential-secured inotify-faults journal-faults job-commit bulk-filters registry-flood discovery
ONLY ?=
SEED ?=

BIN := .venv/bin
# What .venv holds: the service itself, which is all that the demo needs; with the libraries of a cluster with Kerberos;
# with all that the tests need.
RUNS := .venv/.runs
SECURED := .venv/.secured
READY := .venv/.installed
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check

.DEFAULT_GOAL := help
.PHONY: help test advise advise-loop test-changed check nightly $(NIGHTLY) demo lint format types imports bench bench-pollers bench-http bench-growth bench-connects bench-light bench-memory bench-namenode bench-secure docs site dashboards dashboards-json proto release release-check clean bench-events bench-inotify bench-staleness bench-waiting

# Lines that `make advise` generates.
LINES ?= 10000000

# From where `make bench` and `make bench-pollers` read edits: EDITS=journalnodes for an HA pair with three of them.
EDITS ?= inotify

# To which `make bench-namenode` grows a namespace.
FILES ?= 0

# gssapi is compiled where it is installed: with the packages that are named here, its tests run as well.
KERBEROS := apt-get install krb5-kdc krb5-admin-server krb5-user libkrb5-dev gcc python3-dev
CAN_BUILD_GSSAPI := command -v krb5-config && command -v cc \
	&& $(BIN)/python -c 'import pathlib, sys, sysconfig; sys.exit(not pathlib.Path(sysconfig.get_path("include"), "Python.h").exists())'

# First, so that everything else can lean on it; made again whenever pyproject.toml changes.
$(RUNS): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo 'nncache needs Python 3.11 or newer: apt-get install python3, or make PYTHON=/path/to/python3.11' >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null \
		|| { echo "Python's venv module is missing: apt-get install python3-venv" >&2; exit 1; }
	$(PYTHON) -m venv .venv
	PIP_USE_PEP517=1 $(INSTALL) --no-compile -e . # by that variable an old pip says nothing of what has no wheel
	@touch $@

$(SECURED): $(RUNS)
	@if { $(CAN_BUILD_GSSAPI); } >/dev/null; then extras=testbed,kerberos; else extras=testbed; fi; $(INSTALL) -e ".[$$extras]"
	@touch $@

$(READY): $(RUNS)
	$(INSTALL) --upgrade pip
	@if { $(CAN_BUILD_GSSAPI); } >/dev/null; then extras=test,kerberos,kerberos-test; else extras=test; \
		echo 'Tests of Kerberos are skipped: $(KERBEROS), then remove $@' >&2; fi; \
		$(INSTALL) -e ".[$$extras]"
	$(INSTALL) --no-deps 'apache-airflow-providers-apache-hdfs==4.14.2' # its own files, without Airflow: tests/clients
	@touch $@

help: ## Show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /  make \1\t/' | expand -t 34

test: $(READY) ## Check a change, in about 8 minutes: lint, types, import order, all tests without processes, and those on one shared cluster (HADOOP=3.4.1 for that release)
	@$(MAKE) --no-print-directory --jobs=2 --output-sync lint types imports
	$(BIN)/python -m pytest -n $(WORKERS) --layer test -p tests.house.core_coverage

test-changed: $(READY) ## Run the tests nearest to what differs from main, in about a minute
	$(BIN)/python -m tools.changed

check: $(READY) ## Check a merge, after `make test`, in about 20 minutes: Kerberos, faults, real servers, short forms of what runs nightly, the demo
	$(BIN)/python -m pytest -n $(WORKERS) --layer check

nightly: $(READY) ## Run what takes hours, part by part (ONLY=model,races SEED=7); make model runs one of them
	$(INSTALL) -e '.[hostile]'
	$(BIN)/python -m tools.nightly --only '$(ONLY)' $(if $(SEED),--seed $(SEED))

$(NIGHTLY): $(READY) # one part of the night, on the terminal
	$(if $(filter hostile,$@),$(INSTALL) -e '.[hostile]')
	$(BIN)/python -m tools.nightly --only $@ $(if $(SEED),--seed $(SEED))

demo: $(if $(SECURE),$(SECURED),$(RUNS)) ## Start a real cluster, publisher and proxy and tell the story (DEMO_WITHOUT=publisher to see it fail, SECURE=1 for a cluster with Kerberos, LIGHT=1 for a short one without Java)
	$(BIN)/python -m nncache.demo

lint: $(READY) ## Check format and style
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

format: $(READY) ## Set format and the order of imports
	$(BIN)/ruff check --select I --fix .
	$(BIN)/ruff format .

types: $(READY) ## Check types, tests included
	$(BIN)/mypy

imports: $(READY) ## Check the order of the rooms
	$(BIN)/lint-imports

bench: $(READY) ## Poll a NameNode directly, through nncache and through nginx with 2,000 pollers (about 5 minutes; apt-get install nginx-light; EDITS=journalnodes for edits from JournalNodes)
	$(BIN)/python bench/run_pollers.py --pollers 2000 --duration 20 --out build/bench --edits-source $(EDITS)

# Rights are proven again after 300 s: so long is measured, from when they no longer expire all at once.
STEADY := --warm-up 150 --duration 300

bench-pollers: $(READY) ## The same with 10,000 pollers in steady state, then with 10,000 different callers, into bench/results (about 55 minutes; apt-get install nginx-light)
	$(BIN)/python bench/run_pollers.py $(STEADY) --edits-source $(EDITS) --also-periods 1,30; short=$$?; \
		$(BIN)/python bench/run_pollers.py $(STEADY) --edits-source $(EDITS) --workload many_callers --modes nncache \
		&& exit $$short

bench-http: $(READY) ## Measure what a request costs by its shape, beside nginx and HAProxy (about 15 minutes; apt-get install wrk nginx-light haproxy)
	$(BIN)/python -m nncache.bench.request_cost

bench-secure: $(READY) ## Measure what an answer from memory costs with a cookie, a token and over TLS, beside nginx with TLS (about 3 minutes; apt-get install wrk nginx-light krb5-kdc)
	$(BIN)/python -m nncache.bench.secured_hits

bench-events: $(READY) ## Draw what pollers and NameNodes see of a cold start, a restart, an outage of ZooKeeper and a failover (about 3 minutes)
	$(BIN)/python -m nncache.bench.events

bench-inotify: $(READY) ## Measure an inotify service: starts with 5,000 filters, events to 50 subscribers beside 2,000 edits/s, catching up, a flood (about 5 minutes)
	$(BIN)/python -m nncache.bench.inotify

bench-staleness: $(READY) ## Measure how soon a change is seen with edits of JournalNodes and with inotify, in an empty and a long edit segment (about 3 minutes)
	$(BIN)/python -m nncache.bench.staleness

bench-waiting: $(READY) ## Let 10,000 clients wait for 1,000 files with `Prefer: wait` and measure when each sees its own, and what a wait costs (about 2 minutes)
	$(BIN)/python -m nncache.bench.waiting

bench-light: $(READY) ## Measure operations a second and CPU of a light cluster beside a real NameNode (about 2 minutes)
	$(BIN)/python -m nncache.bench.light

bench-namenode: $(READY) ## Measure operations a second and CPU of a namespace in ZooKeeper beside a real NameNode (about 4 minutes; FILES=1000000 grows it, half an hour more)
	$(BIN)/python -m nncache.bench.namenode --files $(FILES)

bench-connects: $(READY) ## Make 10,000 connects within a second, five times, and measure what connections that are there notice (about a minute)
	$(BIN)/python -m nncache.bench.connects

bench-growth: $(READY) ## Measure how the CPU for each hit grows with filters, entries, callers and connections (about 15 minutes; apt-get install wrk nginx-light)
	$(BIN)/python -m nncache.bench.growth

bench-memory: $(READY) ## Measure what 1,000,000 cached statuses take and how long filling and forgetting them holds the loop (about 8 minutes, 1.2 GB)
	$(BIN)/python -m nncache.bench.memory

docs: $(READY) ## Write settings.md, metrics.md and cache-status.md in docs/ from the code
	$(BIN)/python -m tools.docs

advise: $(READY) ## Generate an audit log with planted pollers, and ask what nncache would save (10 million lines: about 12 CPU-minutes; LINES=1000000 for fewer)
	$(BIN)/nncache advise --generate $(LINES) --out build/advice

advise-loop: $(READY) ## Ask for advice about a real NameNode's audit log, apply it, and measure what it saves (about 4 minutes)
	$(BIN)/python -m tests.advisor.loop

# Not quiet: what is not said does not count for --strict.
site: $(READY) ## Build the pages of docs/, and those of commands and checks, as a site into build/site; open build/site/index.html
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict

# For how many seconds `make dashboards` makes load.
DURATION ?= 600
# What goes wrong in the second third of that time: failover, zookeeper-outage, publisher-killed, cache-too-small.
FAULT ?=

dashboards: $(READY) ## Run a real cluster under load with Prometheus, and say where to look (DURATION=600, FAULT=failover; apt-get install prometheus)
	$(BIN)/python -m tools.dashboards.live --duration $(DURATION) $(if $(FAULT),--fault $(FAULT))

dashboards-json: $(READY) ## Write the Grafana dashboards in deploy/grafana/dashboards from the code
	$(BIN)/python -m tools.dashboards.files

release: ## Build wheel, sdist, wheelhouse, .deb, .rpm, Helm chart, SBOM and checksums of HEAD into dist/ (SITE=, SOURCE=: where pages and repository are published)
	PYTHON=$(PYTHON) SITE=$(SITE) SOURCE=$(SOURCE) tools/release/build.sh

release-check: $(RUNS) ## Install each artefact of dist/ in an empty Debian without a network, run it before a NameNode, upgrade and remove it (root; about 3 minutes)
	tools/release/check.sh

# Of its own and pinned: what a newer compiler writes, the oldest protobuf that pyproject.toml allows could not read.
.venv-proto/.installed: Makefile
	$(PYTHON) -m venv .venv-proto
	.venv-proto/bin/python -m pip install --quiet --disable-pip-version-check 'grpcio-tools==1.76.0' # writes 6.31.1
	@touch $@

proto: .venv-proto/.installed ## Generate the Hadoop RPC messages from their .proto files
	.venv-proto/bin/python -m grpc_tools.protoc -I. --python_out=. --pyi_out=. nncache/hadoop/rpc/proto/*.proto

clean: ## Remove what was made here (downloads of the test bed stay)
	rm -rf .venv .venv-proto build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis .coverage*
	find nncache tools tests -name __pycache__ -type d -prune -exec rm -rf {} +
