# Two commands matter: `make demo` and `make test`. Each sets up .venv by itself and can be run again.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
DEMO := .venv-demo
PIP := -m pip install --quiet --disable-pip-version-check
# Where the tests of BallNet take torch from, about 200 MB: a file that pip is configured to find, or PyTorch's index of
# CPU builds. TORCH=no leaves it out; those tests are then skipped, and the report says so.
TORCH ?= cpu
TORCH_INDEX ?= https://download.pytorch.org/whl/cpu
# Another Python for test-python, minutes of fuzzing, and the tests that run without the optional packages.
OTHER ?= python3.13
MINUTES ?= 10
CORE := $(addprefix tests/, geometry numerics solvers reference decision rows plotting datasets cli \
	persistence/test_files.py estimators/test_svc.py estimators/test_logistic.py estimators/test_perceptron.py \
	data/test_labels.py data/test_opening.py)
EXPERIMENTS := table1 table2 handicapped figures reference_points comparison synthetic claims
EMBEDDINGS := embedding_trees embedding_cells

.DEFAULT_GOAL := help
.PHONY: help install torch browser demo test check coverage test-slow test-lowest test-python fuzz package bench reproduce \
	reproduce-full docs clean

help: ## show this list
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 14

install: $(STAMP) ## make .venv with hyplearn (editable) and its development tools

define needs_python
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "hyplearn needs Python 3.11 or newer; '$(PYTHON)' is $$($(PYTHON) --version 2>&1)."; \
	  echo "Name another one: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
endef

$(STAMP): pyproject.toml
	$(needs_python)
	@echo "==> Making the virtual environment $(VENV) and installing hyplearn with its development tools (some minutes, once)"
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python $(PIP) --editable '.[dev]'
	@touch $@

$(DEMO)/.installed: pyproject.toml
	$(needs_python)
	@echo "==> Making the virtual environment $(DEMO) and installing hyplearn with matplotlib (0.5 GB, a minute, once)"
	@$(PYTHON) -m venv $(DEMO)
	@$(DEMO)/bin/python $(PIP) --no-compile --editable '.[plots]'
	@touch $@

demo: $(DEMO)/.installed ## classify the mammals of WordNet, print a table, draw the disk
	@echo "==> Classifying the mammals of WordNet in the Poincaré disk"
	@$(DEMO)/bin/python examples/mammals.py

torch: install ## torch's CPU build for the tests of BallNet, where it can be had
	@test "$(TORCH)" = no || $(BIN)/python -c 'import torch' 2>/dev/null || { \
	  echo "==> Installing torch, the CPU build, for the tests of BallNet (once)"; \
	  { $(BIN)/python $(PIP) --no-index --no-deps torch 2>/dev/null && $(BIN)/python $(PIP) torch; } || \
	  $(BIN)/python $(PIP) --retries 0 --timeout 10 --index-url $(TORCH_INDEX) torch 2>/dev/null || \
	  echo "==> No CPU build of torch: the tests of BallNet will be skipped. Install torch, or name its index: TORCH_INDEX=..."; }

check: install ## linters, types, layers
	@echo "==> ruff: style and errors"
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@echo "==> mypy: types"
	@$(BIN)/mypy
	@echo "==> import-linter: imports point down"
	@$(BIN)/lint-imports

browser: ## what the explorer's tests need: Debian's chromium, installed where that is possible
	@command -v chromium >/dev/null && command -v chromedriver >/dev/null || { \
	  echo "==> Installing chromium for the explorer's tests (once)"; \
	  test "$$(id -u)" = 0 && command -v apt-get >/dev/null && apt-get update -qq >/dev/null && \
	  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium chromium-driver >/dev/null; } || \
	  echo "==> No browser: the explorer's browser tests will be skipped. Install chromium and chromium-driver."

test: check browser torch ## everything: linters, types, layers, unit tests, doctests
	@echo "==> pytest: unit tests and doctests"
	@$(BIN)/python -m pytest -m "not slow" -n auto --dist loadfile $(ARGS)

coverage: install browser torch ## the same tests, with the lines that none of them runs
	@$(BIN)/python -m pytest -m "not slow" -n auto --dist loadfile --cov --cov-report=term $(ARGS)

test-slow: install torch ## the tests marked slow
	@$(BIN)/python -m pytest -m slow $(ARGS)

test-python: ## the tests on another Python: make test-python OTHER=python3.13
	@echo "==> Making .venv-other with $(OTHER) (some minutes, once)"
	@$(OTHER) -m venv .venv-other
	@.venv-other/bin/python $(PIP) --editable '.[dev]'
	@NUMBA_CACHE_DIR=$(CURDIR)/.venv-other/numba .venv-other/bin/python -m pytest -m "not slow" -n auto --dist loadfile $(ARGS)

test-lowest: ## the tests of the core on the lowest dependencies that pyproject.toml allows
	$(needs_python)
	@echo "==> Making .venv-lowest with the lowest dependencies (some minutes, once)"
	@$(PYTHON) -m venv .venv-lowest
	@.venv-lowest/bin/python tools/lowest.py > .venv-lowest/lowest.txt
	@.venv-lowest/bin/python $(PIP) -c .venv-lowest/lowest.txt --editable '.[plots,parquet,cli,hdf5,onnx]' \
	  pytest pytest-xdist hypothesis mpmath networkx pandas clarabel
	@NUMBA_CACHE_DIR=$(CURDIR)/.venv-lowest/numba .venv-lowest/bin/python -m pytest -m "not slow" -n auto --dist loadfile \
	  -o filterwarnings=default $(CORE) $(ARGS)  # what is old warns of what is to come

fuzz: install ## inputs made wrong at random, for MINUTES=10; failures go to out/fuzz
	@echo "==> Fuzzing for $(MINUTES) minutes: model files, files and stores of points, labels, pages"
	@$(BIN)/python tests/support/fuzz.py --minutes $(MINUTES)

package: ## wheel and sdist into dist, checked, installed in a fresh environment and tried
	$(needs_python)
	@echo "==> Building the wheel and the sdist"
	@$(PYTHON) -m venv --clear .venv-package
	@.venv-package/bin/python $(PIP) build twine
	@rm -rf dist; .venv-package/bin/python -m build --outdir dist . >/dev/null
	@.venv-package/bin/python -m twine check --strict dist/*
	@.venv-package/bin/python tools/check_wheel.py dist/*.whl
	@echo "==> Installing the wheel by itself, and a fit with it"
	@$(PYTHON) -m venv --clear .venv-package
	@.venv-package/bin/python $(PIP) dist/*.whl
	@cd dist && ../.venv-package/bin/python ../tools/check_wheel.py --installed

bench: install ## speed and accuracy, as ratios to baselines of the same run; into benchmarks/results
	@failed=; for f in benchmarks/bench_*.py; do echo "==> $$f"; $(BIN)/python $$f || failed="$$failed $$f"; done; \
	  test -z "$$failed" || { echo "Failed:$$failed"; exit 1; }

reproduce: install ## the paper's tables and figures, small: ten minutes; into experiments/results/quick
	@for name in $(EXPERIMENTS); do echo "==> $$name"; $(BIN)/python experiments $$name || exit 1; done

reproduce-full: install ## the same in the paper's sizes: some hours; goes on where it was stopped
	@for name in $(EXPERIMENTS) $(EMBEDDINGS); do echo "==> $$name"; $(BIN)/python experiments $$name --full || exit 1; done

docs: install torch ## the manual, with every example run: docs/_build/html/index.html
	@echo "==> sphinx: the manual, with every example run (a minute or two)"
	@$(BIN)/python -m sphinx -E -a -W --keep-going -q docs docs/_build/html
	@echo "Open docs/_build/html/index.html in a browser; it needs no network."

clean: ## remove the virtual environments and everything generated
	rm -rf .venv .venv-* dist out docs/_build docs/gallery docs/api/generated .coverage .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +
