# Tidegate. `make help` lists the targets; each does the set-up that it needs.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

VENV := .venv
PYTHON := $(VENV)/bin/python
STAMP := $(VENV)/.installed
ARCHIVE := $(VENV)/share/tidegate/spark.options
SEEDS ?= 5000
# Tests that run at a time: most wait for Spark or Kafka to start most of the time.
AT_A_TIME ?= 3
# Far above what any of them takes: one that hangs says where, is tried once more, and fails.
HANGS := -o faulthandler_timeout=900 -o faulthandler_exit_on_timeout=true --max-worker-restart 1
TESTS := $(wildcard $(addprefix tests/,unit transcripts slt plans seeds properties hostile simulation nexmark kafka spark goldens tidy))
# A real MinIO is built from its source: where there is no Go, its tests are left out, and that is said.
GO := $(shell command -v go)
S3_TESTS := $(if $(GO),$(wildcard tests/s3))
# So are those of the chart where there is no helm, and those that want a Prometheus or a PostgreSQL.
HELM := $(or $(shell command -v helm),$(wildcard $(HOME)/.cache/kf/bin/helm))
CHART_TESTS := $(if $(HELM),$(wildcard tests/charts))
PROMETHEUS := $(or $(shell command -v promtool),$(wildcard $(HOME)/.cache/tidegate/prometheus/usr/bin/promtool),$(shell command -v apt-get))
PROMETHEUS_TESTS := $(if $(PROMETHEUS),$(wildcard tests/prometheus))
POSTGRES := $(or $(wildcard /usr/lib/postgresql/*/bin/postgres),$(shell command -v apt-get))
POSTGRES_TESTS := $(if $(POSTGRES),$(wildcard tests/postgres))
SOURCES := $(wildcard operators tests jobs monitoring charts k8s)

# A job has eight processes of Python: where byte code is not kept, each compiles Tidegate anew.
export PYTHONDONTWRITEBYTECODE :=

# Spark takes $JAVA_HOME, then `java` from the PATH; failing both, a Java that Debian installed.
export JAVA_HOME
define FIND_JAVA
java_version() { "$$1" -version 2>&1 | sed -n 's/.* version "\([0-9]*\).*/\1/p' | head -n 1; }; \
found=""; best=0; \
for java in "$${JAVA_HOME:+$$JAVA_HOME/bin/java}" "$$(command -v java || true)" /usr/lib/jvm/*/bin/java; do \
    if [ -n "$$java" ] && [ -x "$$java" ]; then \
        version="$$(java_version "$$java" || true)"; \
        if [ "$${version:-0}" -ge 17 ]; then found="$$java"; break; fi; \
        if [ "$${version:-0}" -gt "$$best" ]; then best="$$version"; fi; \
    fi; \
done; \
if [ -z "$$found" ]; then \
    if [ "$$best" -gt 0 ]; then echo "make: Java $$best is too old, Spark needs Java 17 or newer." >&2; \
    else echo "make: there is no Java on the PATH, in JAVA_HOME or in /usr/lib/jvm; Spark needs Java 17 or newer." >&2; fi; \
    echo "      On Debian and Ubuntu: apt-get install openjdk-17-jre-headless" >&2; exit 1; \
fi; \
JAVA_HOME="$$(dirname "$$(dirname "$$(readlink -f "$$found")")")"; export JAVA_HOME
endef

# The newest of the usual names that is at least 3.11.
define FIND_PYTHON
python=""; \
for candidate in python3 python3.13 python3.12 python3.11; do \
    if command -v "$$candidate" > /dev/null && "$$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2> /dev/null; \
    then python="$$candidate"; break; fi; \
done; \
if [ -z "$$python" ]; then \
    echo "make: Tidegate needs Python 3.11 or newer; found $$(python3 --version 2>&1 || echo none)." >&2; \
    echo "      On Debian and Ubuntu: apt-get install python3 python3-venv" >&2; exit 1; \
fi; \
if ! "$$python" -c 'import ensurepip, venv' 2> /dev/null; then \
    echo "make: $$python has no venv module." >&2; \
    echo "      On Debian and Ubuntu: apt-get install python3-venv" >&2; exit 1; \
fi
endef

.PHONY: help
help: ## List the targets
	@awk -F ':.*## ' '/^[a-z][a-z-]*:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: setup
setup: $(STAMP) java $(ARCHIVE) ## Make .venv with everything pinned; check Python and Java

$(STAMP): pyproject.toml requirements-dev.txt
	@$(FIND_PYTHON); \
	if [ ! -x $(PYTHON) ] || ! $(PYTHON) -m pip --version > /dev/null 2>&1; then \
	    rm -rf $(VENV); "$$python" -m venv $(VENV); \
	fi; \
	echo "make: installing into $(VENV) (about 1 GB with Spark, a few minutes the first time)"; \
	$(PYTHON) -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-dev.txt; \
	$(PYTHON) -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .; \
	touch $(STAMP)

# Spark starts in two thirds of the time with it, and as well without.
$(ARCHIVE): $(STAMP)
	@$(FIND_JAVA); echo "make: keeping Spark's classes as Java likes to load them (half a minute)"; \
	$(VENV)/bin/tidegate-class-archive > /dev/null || echo "make: going on without"

.PHONY: java
java: ## Check that there is a Java for Spark, and say which
	@$(FIND_JAVA); echo "make: Java is $$JAVA_HOME"

.PHONY: demo
demo: $(STAMP) ## Run jobs/orders.sql on Spark over disordered orders and check its output
	@$(FIND_JAVA); PYTHONPATH=tests $(PYTHON) jobs/demo.py

.PHONY: test
test: $(STAMP) $(ARCHIVE) ## Run all tests that need no more than Python and Java
	@$(FIND_JAVA); \
	if [ -z "$(GO)" ]; then echo "make: no Go to build MinIO with, so tests/s3 is left out"; fi; \
	if [ -z "$(HELM)" ]; then echo "make: no helm, so tests/charts is left out"; fi; \
	if [ -z "$(PROMETHEUS)" ]; then echo "make: no Prometheus, so tests/prometheus is left out"; fi; \
	if [ -z "$(POSTGRES)" ]; then echo "make: no PostgreSQL and no apt-get, so tests/postgres is left out"; fi; \
	$(PYTHON) -m pytest -n $(AT_A_TIME) --dist loadfile $(HANGS) $(PYTEST_ARGS) $(TESTS) $(S3_TESTS) $(CHART_TESTS) $(PROMETHEUS_TESTS) $(POSTGRES_TESTS) || { \
	    code=$$?; \
	    if [ $$code -eq 5 ]; then echo "make: pytest found no test in: $(TESTS)" >&2; fi; \
	    exit $$code; \
	}

# What needs neither Java nor a broker; a test that takes 50 ms or more is marked slow.
UNIT := $(wildcard $(addprefix tests/,unit transcripts slt plans seeds properties hostile tidy))
RUN := $(PYTHON) -m pytest -n $(AT_A_TIME) --dist loadfile $(HANGS) --durations 10 $(PYTEST_ARGS)

.PHONY: quick
quick: $(STAMP) ## In under a minute, before each commit: style, types, quick tests without Java or a broker
	@$(MAKE) -j 2 lint quick-tests

.PHONY: quick-tests
quick-tests: type ## The tests of `make quick`, behind the types
	@$(RUN) -m 'not slow' $(UNIT)

.PHONY: unit
unit: $(STAMP) ## Test all that needs neither Java nor a broker, the simulator among it (MANY=1: four times as much at random)
	@$(RUN) $(UNIT) tests/simulation tests/nexmark

.PHONY: spark
spark: $(STAMP) $(ARCHIVE) ## Test whole jobs on a real Spark, checkpoints in a real MinIO too
	@$(FIND_JAVA); $(RUN) tests/spark $(S3_TESTS)

.PHONY: kafka-tests
kafka-tests: $(STAMP) $(ARCHIVE) ## Test with real brokers of Kafka, and a real PostgreSQL
	@$(FIND_JAVA); $(RUN) tests/kafka $(POSTGRES_TESTS)

.PHONY: lint
lint: $(STAMP) ## Check style and formatting
	@$(PYTHON) -m ruff check $(SOURCES)
	@$(PYTHON) -m ruff format --check $(SOURCES)

.PHONY: type
type: $(STAMP) ## Check types (mypy, strict)
	@$(PYTHON) -m mypy

.PHONY: fmt
fmt: $(STAMP) ## Format the code and apply safe fixes
	@$(PYTHON) -m ruff check --fix $(SOURCES)
	@$(PYTHON) -m ruff format $(SOURCES)

.PHONY: sim
sim: $(STAMP) ## Run SEEDS=5000 random jobs in the simulator against the oracle (SIM_ARGS=--page: docs/conformance.md)
	@PYTHONPATH=tests $(PYTHON) -m simulation --seeds $(SEEDS) $(SIM_ARGS)

.PHONY: hostile
hostile: $(STAMP) ## Read SECONDS=600 of random hostile files under SEED=1, and compare with an independent reading
	@PYTHONPATH=tests $(PYTHON) -m hostile --seconds $(or $(SECONDS),600) --seed $(or $(SEED),1)

LOCK := $(PYTHON) -m uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --custom-compile-command 'make locks' --extra kubernetes
.PHONY: locks
locks: $(STAMP) ## Lock what pyproject.toml names, with hashes: for images, and with the tools for setup
	@$(LOCK) --extra dev pyproject.toml --output-file requirements-dev.txt
	@$(LOCK) --constraint requirements-dev.txt pyproject.toml --output-file requirements.txt

.PHONY: sbom
sbom: $(STAMP) ## List all packages and jars of the image, with licences and hashes (CycloneDX, out/)
	@$(FIND_JAVA); $(PYTHON) k8s/images/sbom.py

.PHONY: s3-jars
s3-jars: $(STAMP) ## Fetch Spark's client of S3, for checkpoints in a bucket
	@$(FIND_JAVA); $(VENV)/bin/tidegate-s3-jars

.PHONY: kafka
kafka: $(STAMP) ## Run a real Kafka on localhost:9092 until Ctrl-C, to try things out
	@$(FIND_JAVA); PYTHONPATH=tests $(PYTHON) -m kafka $(KAFKA_ARGS)

.PHONY: kill
kill: $(STAMP) ## Kill a job's driver KILLS=20 times under SEED=1, with real Kafka, and judge it
	@$(FIND_JAVA); PYTHONPATH=tests $(PYTHON) -m kafka.killing --seed $(or $(SEED),1) --kills $(or $(KILLS),20)

.PHONY: goldens
goldens: $(STAMP) ## Write the goldens of EXPLAIN anew; read their diff like code
	@$(PYTHON) -m pytest tests/plans --update-goldens

.PHONY: generated
generated: goldens tables pictures chart ## Make all that is generated and committed anew; read its diff like code

.PHONY: tables
tables: $(STAMP) ## Make the tables of docs/performance.md, docs/functions.md and docs/seeds.md anew
	@PYTHONPATH=tests $(PYTHON) -m bench.tables
	@PYTHONPATH=tests $(PYTHON) -m kits.functions_page
	@PYTHONPATH=tests $(PYTHON) -m seeds.page

.PHONY: pictures
pictures: $(STAMP) ## Draw docs/pictures anew, from docs/bench
	@PYTHONPATH=tests $(PYTHON) -m bench.pictures

.PHONY: bench
bench: $(STAMP) ## Compare speed with Spark, Flink SQL and others (BENCH_ARGS=--full: all of it)
	@$(FIND_JAVA); PYTHONPATH=tests $(PYTHON) -m bench $(BENCH_ARGS)

.PHONY: profile
profile: $(STAMP) ## Show where the time of an epoch goes
	@$(FIND_JAVA); PYTHONPATH=tests $(PYTHON) -m bench.profile $(PROFILE_ARGS)

.PHONY: deploy
deploy: ## Install everything with live orders on a cluster: KUBECONFIG's, or one of kind or minikube
	@k8s/deploy.sh up

.PHONY: undeploy
undeploy: ## Remove what deploy has installed
	@k8s/deploy.sh down

.PHONY: status
status: ## Follow what is deployed: pods, then the drivers' epochs
	@k8s/deploy.sh status

.PHONY: e2e
e2e: $(STAMP) ## Install a release on KUBECONFIG's cluster, judge it against the oracle, remove it
	@$(PYTHON) -m pytest -v -s $(PYTEST_ARGS) tests/e2e

.PHONY: kit
kit: $(STAMP) ## Where there is no Docker: boot ../shared's cluster, judge a release on it, break it KILLS=3 times
	@tests/e2e/kit.sh

.PHONY: kit-programs
kit-programs: ## Build ../shared's cluster and helm, 7 minutes the first time
	@tests/e2e/kit.sh prepare

.PHONY: chaos
chaos: $(STAMP) ## Break a job KILLS=30 times under SEED=1 (SCENARIO=executors, LOCAL=1), and judge it
	@$(FIND_JAVA); PYTHONPATH=tests $(PYTHON) -m chaos $(if $(LOCAL),--local) --scenario $(or $(SCENARIO),executors) --seed $(or $(SEED),1) --kills $(or $(KILLS),30) $(if $(NAMESPACE),--namespace $(NAMESPACE))

.PHONY: soak
soak: $(STAMP) ## Break a local job for MINUTES=30 in every way under SEED=1; judge it, and that nothing grows
	@$(FIND_JAVA); PYTHONPATH=tests $(PYTHON) -m chaos --local --scenario mix --seed $(or $(SEED),1) --minutes $(or $(MINUTES),30)

.PHONY: chart
chart: $(STAMP) ## Make the chart's schema, README and dashboard anew from their sources
	@$(PYTHON) charts/generate.py
	@$(PYTHON) -m monitoring.dashboards
	@$(PYTHON) -m monitoring.alerting
	@$(PYTHON) monitoring/reference.py

.PHONY: clean
clean: ## Remove outputs and caches; .venv stays
	rm -rf out build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis spark-warehouse metastore_db derby.log
	find operators tests jobs -name __pycache__ -type d -prune -exec rm -rf {} +
