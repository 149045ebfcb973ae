# Each target makes the environment in .venv first when it is missing or older than what it is made from.
# It needs Python 3.11 or newer (another one than python3, before there is a .venv: make PYTHON=python3.12 test) and never root.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
CORE := $(VENV)/core.stamp
DEV := $(VENV)/dev.stamp
LOWEST := .venv-lowest
unexport PYTHONDONTWRITEBYTECODE # modules are compiled once, and not in each of the many processes that tests start

.NOTPARALLEL: # the tests' summary is the last thing that `make check` says
.PHONY: demo lint quick test check docs notebooks dist lowest soak fuzz mutants random-mutants bench speed-guard attention-table small-table products-table sizes-table sources-table postediting-table length-plot zero-shot tasks-table busy-table vocabulary-table rare-table outputs-table strings-table terms-table objectives-table explanations-table downstream-table search-table multi30k-table quality serving-load sharding-table spec trace

demo: $(CORE)
	$(BIN)/dragoman demo

lint: $(DEV)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy --strict dragoman phrasebook tools benchmarks tests
	$(BIN)/lint-imports --no-logo
	$(BIN)/python -m tools.check_changelog
	$(BIN)/python -m tools.names

quick: $(DEV)
	$(BIN)/python -m pytest -n auto --maxprocesses 4 --dist worksteal -m "not slow"

test: $(DEV)
	$(BIN)/python -m pytest -n auto --maxprocesses 4 --dist worksteal

check: lint test

docs: $(DEV)
	$(BIN)/sphinx-build -q -W --keep-going -b html -c docs . build/site

dist: $(VENV)/dist.stamp
	$(BIN)/python -m tools.distribution $(OPTIONS)

notebooks: $(DEV)
	$(BIN)/python -m tools.notebooks $(NAMES)

lowest: $(LOWEST)/made.stamp
	$(LOWEST)/bin/python -m pytest -n auto --maxprocesses 4 --dist worksteal -m "not slow" --any-wording

soak: $(DEV)
	$(BIN)/python -m tests.system.soak $(OPTIONS)

fuzz: $(DEV)
	FUZZ_REQUESTS=$(or $(REQUESTS),10000) $(BIN)/python -m pytest tests/serving/test_fuzz.py tests/interop/test_fuzz.py
	$(BIN)/python -m tests.serving.hostile $(OPTIONS)

mutants: $(DEV)
	$(BIN)/python -m tools.mutants $(OPTIONS)

random-mutants: $(VENV)/mutation.stamp
	$(BIN)/python -m tools.random_mutants $(OPTIONS)

bench: $(CORE)
	$(BIN)/python -m benchmarks $(OPTIONS)

speed-guard: $(DEV)
	$(BIN)/python -m benchmarks.speed_guard --against $(or $(AGAINST),HEAD~1) $(OPTIONS)

attention-table: $(CORE)
	$(BIN)/python -m benchmarks.mechanisms $(OPTIONS)

sources-table: $(CORE)
	$(BIN)/python -m benchmarks.sources $(OPTIONS)

postediting-table: $(CORE)
	$(BIN)/python -m benchmarks.postediting $(OPTIONS)

products-table: $(CORE)
	$(BIN)/python -m benchmarks.products $(OPTIONS)

small-table: $(CORE)
	$(BIN)/python -m benchmarks.small $(OPTIONS)

sizes-table: $(CORE)
	$(BIN)/python -m benchmarks.sizes $(OPTIONS)

length-plot: $(CORE)
	$(BIN)/python -m benchmarks.lengths $(OPTIONS)

zero-shot: $(DEV)
	$(BIN)/python -m benchmarks.zero_shot $(OPTIONS)

tasks-table: $(CORE)
	$(BIN)/python -m benchmarks.tasks $(OPTIONS)

busy-table: $(CORE)
	$(BIN)/python -m benchmarks.busy $(OPTIONS)

vocabulary-table: $(CORE)
	$(BIN)/python -m benchmarks.vocabulary $(OPTIONS)

rare-table: $(DEV)
	$(BIN)/python -m benchmarks.rare $(OPTIONS)

outputs-table: $(CORE)
	$(BIN)/python -m benchmarks.outputs $(OPTIONS)

strings-table: $(CORE)
	$(BIN)/python -m benchmarks.strings $(OPTIONS)

terms-table: $(CORE)
	$(BIN)/python -m benchmarks.terms $(OPTIONS)

objectives-table: $(CORE)
	$(BIN)/python -m benchmarks.objectives $(OPTIONS)

explanations-table: $(CORE)
	$(BIN)/python -m benchmarks.explanations $(OPTIONS)

downstream-table: $(DEV)
	$(BIN)/python -m benchmarks.downstream $(OPTIONS)

search-table: $(CORE)
	$(BIN)/python -m benchmarks.searches $(OPTIONS)

multi30k-table: $(CORE)
	$(BIN)/python -m benchmarks.multi30k $(OPTIONS)

serving-load: $(DEV)
	$(BIN)/python -m benchmarks.serving $(OPTIONS)

sharding-table: $(DEV)
	$(BIN)/python -m benchmarks.sharding $(OPTIONS)

quality: multi30k-table attention-table tasks-table postediting-table

spec: $(CORE)
	$(BIN)/python -m tools.spec --write

trace: $(CORE)
	$(BIN)/python -m tools.trace $(or $(RUN),runs/demo/run) $(OPTIONS)

$(VENV)/made.stamp:
	$(PYTHON) -m venv $(VENV)
	touch $@

$(LOWEST)/made.stamp: pyproject.toml constraints-lowest.txt
	$(PYTHON) -m venv $(LOWEST)
	$(LOWEST)/bin/python -m pip install --quiet -r constraints-lowest.txt -e .
	touch $@

$(CORE): $(VENV)/made.stamp pyproject.toml constraints.txt
	$(BIN)/python -m pip install --quiet -c constraints.txt -e .
	touch $@

$(DEV): $(VENV)/made.stamp pyproject.toml constraints.txt
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[dev]'
	touch $@ $(CORE)

$(VENV)/mutation.stamp: $(DEV)
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[mutation]'
	touch $@

$(VENV)/dist.stamp: $(DEV)
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[dist]'
	touch $@
