# Those that matter: "make demo", "make test", and "make test-all", which adds what is slow. Each
# first makes .venv, installs the lock and builds the workspace; when nothing of that has changed,
# this takes no time.

SHELL := /bin/sh
.DEFAULT_GOAL := help

# What was installed and built is remembered in stamps named by a checksum of what went in. Python
# modules, data, launch files and configuration are linked, not copied: editing them builds nothing.
checksum = $(shell { $(1); } | sha256sum | cut -c1-16)
INSTALLED := .venv/.installed-$(call checksum,cat requirements/[!e]*.txt scripts/venv.sh scripts/pip_install.sh; pwd)
EXTRAS := .venv/.extras-$(call checksum,cat requirements/*.txt scripts/venv.sh scripts/pip_install.sh; pwd)
MANIFESTS := src/*/package.xml src/*/setup.py src/*/setup.cfg src/*/CMakeLists.txt colcon.meta \
	scripts/build.sh scripts/pip_ros_fix.cmake src/*_interfaces/msg/* src/*_interfaces/srv/* \
	src/*_interfaces/action/* scripts/ros_messages/*/*.* scripts/ros_messages/*/msg/*
BUILT := install/.built-$(call checksum,pwd; ls $(MANIFESTS); cat $(MANIFESTS); \
	find launch config -type f -not -name '*.pyc' | LC_ALL=C sort)

RUN := . .venv/bin/activate-ros &&

# One worker for each CPU and one more, since many tests wait for processes; libraries get one thread,
# since the other CPUs have workers, too. What pytest compiles is kept, also where the environment
# says otherwise: each worker would spend half a minute on it in every run.
PYTEST_WORKERS ?= $(shell expr $$(nproc) + 1)
# OpenBLAS takes other kernels on AMD's processors, whose sums have other last digits than those that
# the goldens were frozen with; the processors can do both.
BLAS := $(shell grep -qs avx512vl /proc/cpuinfo && echo OPENBLAS_CORETYPE=SKYLAKEX)
PYTEST = $(RUN) PYTHONDONTWRITEBYTECODE= OMP_NUM_THREADS=1 $(BLAS) python -m pytest -n $(PYTEST_WORKERS) --dist worksteal

.PHONY: help demo test fast test-all docs bench build extras lint wheels train lock clean distclean

help:  ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

DEMO_OUT := runs/demo-$(shell date +%Y%m%d-%H%M%S)

demo: $(BUILT)  ## solve blocksworld from camera pixels on ROS 2: bag, results, a table and a report
	.venv/bin/sightplan up experiment domain:=blocksworld split:=simple method:=ground \
		backend:=embedded out:=$(DEMO_OUT) $(DEMO_ARGS)
	.venv/bin/sightplan report $(DEMO_OUT)

test: lint fast  ## check style and types, and run the tests that are not slow

fast: $(BUILT) $(EXTRAS)  ## run the tests that are not slow
	$(PYTEST) -m 'not slow and not live' $(PYTEST_ARGS)

test-all: test  ## the same, then the slow tests: graphs, kills, containers, README, docs
	$(PYTEST) -m 'slow and not live' $(PYTEST_ARGS)

docs: $(BUILT)  ## make the documentation site in site/
	$(RUN) NO_MKDOCS_2_WARNING=1 python -m mkdocs build --quiet
	@echo 'site/index.html'

bench: $(BUILT)  ## measure; prints one JSON object
	@.venv/bin/sightplan bench

build: $(BUILT)  ## make .venv and build the workspace
	@echo "ready: .venv/bin/sightplan --help"

extras: $(EXTRAS)  ## install what few need: Ray (sweeps on a cluster) and the Rerun viewer

lint: $(BUILT) $(EXTRAS)  ## check style and types
	$(RUN) python -m ruff check
	$(RUN) python -m mypy

wheels: $(BUILT)  ## build wheels of what needs no ROS, for "pip install", in dist/
	$(RUN) python scripts/wheels.py

train: $(BUILT)  ## train the embedded vision-language model from scratch
	$(RUN) python training/train_embedded.py $(TRAIN_ARGS)

lock:  ## resolve the requirements anew (needs Python 3.11 and 3.12)
	python3 scripts/lock.py

clean:  ## remove what was built
	rm -rf build install log site dist .pytest_cache .mypy_cache .ruff_cache .hypothesis

distclean: clean  ## remove also .venv
	rm -rf .venv

$(INSTALLED):
	scripts/venv.sh
	@rm -f .venv/.installed-*
	@touch $@

$(EXTRAS): $(INSTALLED) | $(BUILT)
	scripts/pip_install.sh extras.txt
	@rm -f .venv/.extras-*
	@touch $@

$(BUILT): $(INSTALLED)
	scripts/build.sh
	@rm -f install/.built-*
	@touch $@
