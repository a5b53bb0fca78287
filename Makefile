# One command each; `make help` lists them. Needs Python >= 3.11 with pip, and make.
# Everything is installed into .venv, which is built once and again when the lock changes.
#   make train ARGS="--seed 3"        make test PYTEST_ARGS="-x -k world"

PYTHON ?= $(shell for p in python3.11 python3 python; do \
	"$$p" -c "" >/dev/null 2>&1 && { echo "$$p"; break; }; done)
VENV := .venv
RUN := $(VENV)/bin/python
PIP := $(RUN) -m pip --disable-pip-version-check
BLENDER_VENV := .venv-blender
BLENDER_PYTHON ?= python3.11
PEERS_VENV := .venv-peers
BROWSER_VENV := .venv-browser
# Where pip finds torch; the address of PyTorch's CPU builds keeps CUDA away on Linux.
TORCH_INDEX ?=
TORCH := $(if $(TORCH_INDEX),--index-url $(TORCH_INDEX)) $$(grep -m 1 '^torch==' requirements.lock)
ARGS ?=
PYTEST_ARGS ?= -n auto --maxprocesses 4 --dist worksteal
BENCH ?= $(filter-out benchmarks/_%,$(wildcard benchmarks/*.py))

# Tests start many processes, which then need not compile the same modules again.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help setup train test test-integration test-all test-slow test-browser test-blender test-peers fuzz lint format check bench docs godot wheel-check clean

help:  ## show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 14

setup: $(VENV)/.ready  ## build .venv from requirements.lock

train: setup  ## train a VR agent in about two minutes and compare it (more options: ARGS)
	$(RUN) train/train_vr_navigation.py --preset first_run $(ARGS)

test: setup  ## fast tests, a few minutes
	$(RUN) -m pytest -m "not integration and not slow and not blender" $(PYTEST_ARGS)

test-integration: setup  ## workflows from end to end, and all that runs in Godot
	$(RUN) -m pytest -m "integration and not slow and not blender" $(PYTEST_ARGS)

test-all: setup  ## these two and the slow tests: also every benchmark and documented command
	$(RUN) -m pytest -m "not blender" $(PYTEST_ARGS)

test-slow: setup  ## the slow tests alone
	$(RUN) -m pytest -m "slow and not blender" $(PYTEST_ARGS)

test-browser: $(BROWSER_VENV)/.ready  ## viewer and pages in Chromium, in an environment of their own (about 2 GB)
	$(BROWSER_VENV)/bin/python -m pytest tests/viz tests/commands/viewing $(ARGS)

test-blender:  ## tests inside Blender, in an environment of their own (about 1 GB)
	@if $(MAKE) --no-print-directory $(BLENDER_VENV)/.ready; then \
		$(BLENDER_VENV)/bin/python -m pytest --confcutdir=tests/blender tests/blender $(ARGS); \
	elif [ -n "$$CI" ]; then exit 1; else \
		echo "SKIPPED: no Blender for Python here, see above; the tests need Python 3.11 (BLENDER_PYTHON=...) and the wheels of blender/requirements-test.txt"; \
	fi

test-peers: $(PEERS_VENV)/.ready  ## environments and files in libraries of others, in an environment of their own (about 3 GB)
	$(PEERS_VENV)/bin/python -m pytest tests/peers $(ARGS)

fuzz: setup  ## hostile files, settings, answers and packets, a few minutes (ARGS="--count 5000")
	$(RUN) tests/fuzz/run.py $(ARGS)

lint: setup  ## style, types, import direction, spelling, GDScript
	$(RUN) -m ruff check .
	$(RUN) -m ruff format --check .
	$(RUN) tools/link_types.py
	$(RUN) -m mypy -p ambulo -p ambulo_ik
	PYTHONPATH=build/typing $(VENV)/bin/lint-imports
	$(VENV)/bin/codespell
	cd godot && ../$(VENV)/bin/gdformat --check .
	cd godot && ../$(VENV)/bin/gdlint .

format: setup  ## rewrite the code in the house style
	$(RUN) -m ruff check --fix .
	$(RUN) -m ruff format .
	cd godot && ../$(VENV)/bin/gdformat .

check: lint test test-integration  ## what a change must pass

docs: setup  ## the documentation site in build/site: guides, environments, commands, API, search
	$(RUN) tools/link_types.py
	PYTHONPATH=build/typing $(RUN) tools/docs/build.py $(ARGS)

bench: setup  ## run every benchmark (one of them: BENCH=benchmarks/NAME.py)
	@set -e; for script in $(BENCH); do echo "== $$script"; $(RUN) "$$script" $(ARGS); done

godot:  ## install the Godot engine (no root needed) and run the shipped agent in it
	godot/install_engine.sh
	godot/run.sh --headless res://scenes/demo/demo.tscn -- $(ARGS)

wheel-check: setup  ## build the wheel and train with it, outside the checkout
	tools/wheel_check.sh $(RUN)

clean:  ## delete .venv and everything that was built (never runs/)
	rm -rf $(VENV) $(BLENDER_VENV) $(PEERS_VENV) $(BROWSER_VENV) build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache \
		.hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# A stamp is written last, so an interrupted set-up starts afresh the next time.
$(VENV)/.locked: requirements.lock
	@command -v "$(PYTHON)" >/dev/null || { \
		echo "ambulo: no Python found at '$(PYTHON)'; install Python 3.11, or name it: make PYTHON=/path/to/python3.11" >&2; exit 1; }
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "ambulo: needs Python 3.11 or newer, not $$("$(PYTHON)" --version 2>&1); name another: make PYTHON=/path/to/python3.11" >&2; exit 1; }
	@echo "== building $(VENV) with $(PYTHON)"
	@rm -f $(VENV)/.locked $(VENV)/.ready
	@"$(PYTHON)" -m venv --clear $(VENV) >/dev/null 2>&1 || { \
		"$(PYTHON)" -m venv --clear --without-pip $(VENV) && \
		"$(PYTHON)" -m pip --python $(RUN) install pip; }
	$(PIP) install $(TORCH)
	$(PIP) install -r requirements.lock
	@touch $@

$(VENV)/.ready: $(VENV)/.locked pyproject.toml
	$(PIP) install --quiet --no-deps --no-build-isolation --editable .
	@touch $@

# In steps: the libraries of others replace a few versions of the lock, which pip refuses at once.
$(PEERS_VENV)/.ready: MORE = -r tests/peers/requirements.txt
$(PEERS_VENV)/.ready: tests/peers/requirements.txt
$(BROWSER_VENV)/.ready: MORE = ".[viewer,gamepad]" "playwright>=1.50,<2"
$(PEERS_VENV)/.ready $(BROWSER_VENV)/.ready: requirements.lock pyproject.toml
	@echo "== building $(@D) with $(PYTHON)"
	@test -x $(@D)/bin/python || "$(PYTHON)" -m venv $(@D)
	$(@D)/bin/pip --disable-pip-version-check install --quiet $(TORCH)
	$(@D)/bin/pip --disable-pip-version-check install --quiet -r requirements.lock
	$(@D)/bin/pip --disable-pip-version-check install --quiet $(MORE)
	$(@D)/bin/pip --disable-pip-version-check install --quiet --no-deps --no-build-isolation --editable .
	@touch $@

$(BLENDER_VENV)/.ready: blender/requirements.txt blender/requirements-test.txt pyproject.toml
	@"$(BLENDER_PYTHON)" -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))' || { \
		echo "ambulo: Blender's module needs Python 3.11: make test-blender BLENDER_PYTHON=/path/to/python3.11" >&2; exit 1; }
	@echo "== building $(BLENDER_VENV) with $(BLENDER_PYTHON)"
	@test -x $(BLENDER_VENV)/bin/python || "$(BLENDER_PYTHON)" -m venv $(BLENDER_VENV)
	$(BLENDER_VENV)/bin/pip --disable-pip-version-check install --quiet -r blender/requirements-test.txt
	$(BLENDER_VENV)/bin/pip --disable-pip-version-check install --quiet --no-deps --no-build-isolation --editable .
	@touch $@
