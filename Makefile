# make help lists what there is. Every target sets itself up first.
.DEFAULT_GOAL := help
SHELL := /bin/bash
BIN := .venv/bin
# What tests, benchmarks and screenshots train stays out of the user's own runs.
test soak test-browser check bench bench-live bench-learning shots: export MOSAIC_HOME = $(CURDIR)/var
# One thread a process: more make networks of this size slower, by far when several processes run.
export OMP_NUM_THREADS ?= 1

ifeq (extras,$(firstword $(MAKECMDGOALS)))
# make extras NAME…: the words behind it are names of extras, not targets of that name.
.PHONY: $(MAKECMDGOALS)
extras:
	@PYTHON=$(PYTHON) tools/setup.sh extras $(filter-out extras,$(MAKECMDGOALS))
$(filter-out extras,$(MAKECMDGOALS)): ; @:
else

.PHONY: help setup base window extras run test soak test-browser docs check bench bench-learning gui shots lock wheel-check release-check proto flags catalogue web clean

help: ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /  make \1\t/' | expand -t 20

setup: ## .venv with everything: all environments, trackers and the tools of the tests
	@PYTHON=$(PYTHON) tools/setup.sh all

base:
	@PYTHON=$(PYTHON) tools/setup.sh base

window:
	@PYTHON=$(PYTHON) tools/setup.sh gui

extras: ## add an extra, or several, to .venv: make extras atari mujoco

run: base ## train PPO on CartPole until solved, then evaluate the policy
	@$(BIN)/mosaic demo

test: setup ## the whole test suite
	@tools/test.sh

soak: setup ## kill the daemon 200 times under runs that are killed, stopped and resumed; learning tests see a wrong sign
	@MOSAIC_SOAK=200 $(BIN)/pytest tests/trainer/runs/test_soak.py
	@MOSAIC_SOAK=50 $(BIN)/pytest tests/trainer/runs/test_survival.py
	@$(BIN)/pytest -n 2 -m slow --ignore tests/trainer/runs/test_soak.py --ignore tests/browser

test-cluster: setup ## trainings on another machine: a real sshd of their own, which is installed where there is none; needs root
	@test -x /usr/sbin/sshd || { apt-get update && apt-get install -y --no-install-recommends openssh-server; }
	@$(BIN)/pytest -n 0 -m cluster tests/trainer/cluster

check: setup ## format, lint, types, import contracts, generated code
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/pyright --project pyproject.toml
	@$(BIN)/lint-imports
	@$(BIN)/python tools/proto.py --check
	@$(BIN)/python tools/flag_tables.py --check
	@$(BIN)/python tools/catalogue.py --check
	@$(BIN)/python tools/web_bundle.py --check

bench: setup ## steps per second against Stable-Baselines3, as ratios
	@$(BIN)/python -m bench

bench-live: setup ## what the live view costs the learner, how fast frames travel, how much work the window is
	@$(BIN)/python -m bench.fastlane
	@$(BIN)/python -m bench.frames
	@$(BIN)/python -m bench.live_paint
	@$(BIN)/python -m bench.charts
	@$(BIN)/python -m bench.window
	@$(BIN)/python -m bench.soak

bench-learning: setup ## returns after equal steps; resumable, hours on a slow machine
	@$(BIN)/python -m bench.learning --write

gui: window ## open the window
	@$(BIN)/mosaic gui

shots: setup ## screenshots for the docs, from real runs
	@$(BIN)/python tools/shots.py
	@$(BIN)/python tools/shots_of_web.py

lock: setup ## resolve every extra anew and rewrite constraints.txt
	@$(BIN)/python tools/lock.py

docs: setup ## the documentation as a site, var/site; a dead link ends it
	@$(BIN)/python tools/site/build.py

wheel-check: setup ## build wheel and sdist, install the wheel with pip into a new environment and use it there
	@$(BIN)/python tools/wheel_check.py

release-check: check docs wheel-check ## the same, and whether version, changelog and citation are ready to be published
	@$(BIN)/python tools/release_check.py

proto: setup ## regenerate the gRPC code
	@$(BIN)/python tools/proto.py

flags: setup ## regenerate the tables of flags in docs/algorithms
	@$(BIN)/python tools/flag_tables.py

web: setup ## build the page of `mosaic web` from web/ (needs Node.js and npm)
	@$(BIN)/python tools/web_bundle.py

test-browser: setup ## the page of `mosaic web` in a real Chromium (Debian: chromium chromium-driver)
	@$(BIN)/pytest -n 0 -m browser tests/browser

catalogue: setup ## write the catalogue that ships with the package, after a change of Args, environments or actors
	@$(BIN)/python tools/catalogue.py

clean: ## remove .venv, caches and build leftovers; what benchmarks left in var/ stays
	@rm -rf .venv .pytest_cache .ruff_cache .hypothesis .import_linter_cache build dist
	@find . -name __pycache__ -prune -exec rm -rf {} +
endif
