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
# How many processes run the tests, each with a cluster of its own; 0: all in one, file by file.
WORKERS ?= 3

BIN := .venv/bin
# What .venv holds: the service itself, which is all that the demo needs; with the libraries of a cluster with Kerberos;
# with all that the tests need.
RUNS := .venv/.runs
SECURED := .venv/.secured
READY := .venv/.installed
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check
ROOMS := bench nncache demo deploy testbed proxy invalidation registry cache coordination hadoop

.DEFAULT_GOAL := help
# Lines that `make advise` generates.
LINES ?= 10000000
.PHONY: advise advise-loop
.PHONY: help test test-long demo lint format types imports core others pytest model races differential differential-long-segment differential-secured job-commit bulk-filters discovery registry-flood hostile overload alike bench bench-pollers bench-http bench-growth bench-connects bench-memory bench-secure docs site dashboards dashboards-json proto clean bench-events bench-inotify bench-waiting inotify-faults

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

test: $(READY) ## Check everything: lint, types, import order, tests (HADOOP=3.4.1 for that release)
	@$(MAKE) --no-print-directory --jobs=2 --output-sync lint types imports
	@$(MAKE) --no-print-directory --jobs=2 core others # at once: `others` begins with tests that wait for servers

demo: $(if $(SECURE),$(SECURED),$(RUNS)) ## Start a real cluster, publisher and proxy and tell the story (DEMO_WITHOUT=publisher to see it fail, SECURE=1 for a cluster with Kerberos)
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

core: $(READY) ## Check that the deciding modules are covered by their own tests, every branch
	$(BIN)/python -m tests.house.core_coverage

others: $(READY) ## Run the tests that `make core` does not run
	$(BIN)/python -m pytest -n $(WORKERS) --without-core

test-long: $(READY) ## Run the tests that `make test` leaves out, since each takes a minute or more
	$(BIN)/python -m pytest -n 2 -m long

pytest: $(READY) ## Run the tests alone, all but the long ones (PYTEST_ADDOPTS=... for a part, WORKERS=0 for one process)
	$(BIN)/python -m pytest -n $(WORKERS)

model: $(READY) ## Tell 100,000 random histories of the whole system to a judge of the guarantees, then catch all broken variants of the product
	$(BIN)/python -m tests.model; short=$$?; $(BIN)/python -m tests.model.variants && exit $$short

races: $(READY) ## Force 1,000,000 races in the model and 5,000 on the real stack
	$(BIN)/python -m tests.races

LONG_SEGMENT := $(BIN)/python -m tests.differential --operations 75 --seeds 2 --segment-txids 100000

differential: $(READY) ## Make 20,000 random operations on each channel and compare every answer with the NameNode's own; then on a long segment
	$(BIN)/python -m tests.differential --operations 1000 --seeds 20; short=$$?; $(LONG_SEGMENT) && exit $$short

differential-long-segment: $(READY) ## A part of it alone: 100,000 transactions in the NameNode's open segment, never rolled
	$(LONG_SEGMENT)

differential-secured: $(READY) ## The same on a cluster with Kerberos: 2,000 operations on each channel with cookies, with delegation tokens, with doas and with tickets (about an hour)
	$(BIN)/python -m tests.differential --operations 1000 --seeds 2 --secured cookie --secured token --secured doas --secured negotiate

job-commit: $(READY) ## Commit a job of 10,000 part files beside a filtered _SUCCESS and count ZooKeeper's writes (about 3 minutes)
	$(BIN)/python -m tests.job_commit

bulk-filters: $(READY) ## Apply 5,000 filters from one file beside a publisher and a proxy, and watch the gate (about 2 minutes)
	$(BIN)/python -m tests.bulk_filters

registry-flood: $(READY) ## Let one client flood the registry with questions and with changes, and measure what others notice (about 2 minutes)
	$(BIN)/python -m tests.registry.flood

discovery: $(READY) ## Let a proxy come and go beside a client of nncache.connect, and measure when each finder notices (about 20 s; apt-get install prometheus)
	$(BIN)/python -m tests.discovery

inotify-faults: $(READY) ## Break an inotify service in 60 random histories, hold its subscribers against the edit log, then find five broken publishers and two broken proxies in at most ten each (about 45 minutes)
	$(BIN)/python -m tests.inotify --histories 60
	for name in no-fencing epoch-not-in-the-multi silent-drop no-chain untold-modification skip-on-resume untold-gap; do \
		if $(BIN)/python -m tests.inotify --histories 10 --until-found --untimed --broken $$name; then \
			echo "the broken daemon $$name was not found"; exit 1; fi; done

hostile: $(READY) ## Send what means harm: fuzzing of every parser, smuggling, odd paths, bad replies, a stateful attacker (about 2 hours)
	$(INSTALL) -e '.[hostile]'
	$(BIN)/python -m tests.hostile all

alike: $(READY) ## Hold 1,000,000 generated requests against the same server without its quick ways, byte for byte (about 18 minutes)
	$(BIN)/python -m tests.alike

overload: $(READY) ## Attack a real cluster's proxy in every way on the list and judge what others notice (about 15 minutes)
	$(BIN)/python -m tests.overload

bench: $(READY) ## Poll a NameNode directly, through nncache and through nginx with 2,000 pollers (at most 5 minutes; apt-get install nginx-light)
	$(BIN)/python bench/run_pollers.py --pollers 2000 --duration 20 --out build/bench

# Rights are proven again after 300 s: so long is measured, from when they no longer expire all at once.
STEADY := --warm-up 150 --duration 300

bench-pollers: $(READY) ## The same with 10,000 pollers in steady state, then with 10,000 different callers, into bench/results (about 45 minutes; apt-get install nginx-light)
	$(BIN)/python bench/run_pollers.py $(STEADY) --also-periods 1,30; short=$$?; \
		$(BIN)/python bench/run_pollers.py $(STEADY) --workload many_callers --modes nncache && exit $$short

bench-http: $(READY) ## Measure what a request costs by its shape, beside nginx and HAProxy (about 10 minutes; apt-get install wrk nginx-light haproxy)
	$(BIN)/python -m nncache.bench.request_cost

bench-secure: $(READY) ## Measure what an answer from memory costs with a cookie, a token and over TLS, beside nginx with TLS (about 3 minutes; apt-get install wrk nginx-light krb5-kdc)
	$(BIN)/python -m nncache.bench.secured_hits

bench-events: $(READY) ## Draw what pollers and NameNodes see of a cold start, a restart, an outage of ZooKeeper and a failover (about 3 minutes)
	$(BIN)/python -m nncache.bench.events

bench-inotify: $(READY) ## Measure an inotify service: starts with 5,000 filters, events to 50 subscribers beside 2,000 edits/s, catching up, a flood (about 5 minutes)
	$(BIN)/python -m nncache.bench.inotify

bench-waiting: $(READY) ## Let 10,000 clients wait for 1,000 files with `Prefer: wait` and measure when each sees its own, and what a wait costs (about 2 minutes)
	$(BIN)/python -m nncache.bench.waiting

bench-connects: $(READY) ## Make 10,000 connects within a second, five times, and measure what connections that are there notice (about a minute)
	$(BIN)/python -m nncache.bench.connects

bench-growth: $(READY) ## Measure how the CPU for each hit grows with filters, entries, callers and connections (about 15 minutes; apt-get install wrk nginx-light)
	$(BIN)/python -m nncache.bench.growth

bench-memory: $(READY) ## Measure what 1,000,000 cached statuses take and how long filling and forgetting them holds the loop (about 8 minutes, 1.2 GB)
	$(BIN)/python -m nncache.bench.memory

docs: $(READY) ## Write settings.md, metrics.md, cache-status.md, check.md and commands.md in docs/ from the code
	$(BIN)/python -m nncache.settings.reference
	$(BIN)/python -m nncache.checks.reference
	$(BIN)/python -m nncache.commands.reference

advise: $(READY) ## Generate an audit log with planted pollers, and ask what nncache would save (LINES=1000000; about 10 minutes)
	$(BIN)/nncache advise --generate $(LINES) --out build/advice

advise-loop: $(READY) ## Ask for advice about a real NameNode's audit log, apply it, and measure what it saves (about 4 minutes)
	$(BIN)/python -m tests.advisor.loop

# Not quiet: what is not said does not count for --strict.
site: $(READY) ## Build the pages of docs/ as a site into build/site; open build/site/index.html
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

# For how many seconds `make dashboards` makes load, and where it leaves what the panels show (deploy/grafana/render).
DURATION ?= 600
SAVE ?=
# What goes wrong in the second third of that time: failover, zookeeper-outage, publisher-killed, cache-too-small.
FAULT ?=

dashboards: $(READY) ## Run a real cluster under load with Prometheus, and say where to look (DURATION=600, FAULT=failover; apt-get install prometheus)
	$(BIN)/python -m nncache.deploy.live --duration $(DURATION) $(if $(SAVE),--save $(SAVE)) $(if $(FAULT),--fault $(FAULT))

dashboards-json: $(READY) ## Write the Grafana dashboards in deploy/grafana/dashboards from the code
	$(BIN)/python -m nncache.deploy.grafana

# Of its own and pinned: what a newer compiler writes, the oldest protobuf that pyproject.toml allows could not read.
.venv-proto/.installed: Makefile
	$(PYTHON) -m venv .venv-proto
	.venv-proto/bin/python -m pip install --quiet --disable-pip-version-check 'grpcio-tools==1.76.0' # writes 6.31.1
	@touch $@

proto: .venv-proto/.installed ## Generate the Hadoop RPC messages from their .proto files
	.venv-proto/bin/python -m grpc_tools.protoc -I. --python_out=. --pyi_out=. nncache/hadoop/rpc/proto/*.proto

clean: ## Remove what was made here (downloads of the test bed stay)
	rm -rf .venv .venv-proto build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis .coverage*
	find $(ROOMS) tests -name __pycache__ -type d -prune -exec rm -rf {} +
