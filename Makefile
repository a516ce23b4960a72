# Two commands matter: `make demo` and `make test`. The rest is for people who change the code.
# Every target makes .venv first, and only makes it again when pyproject.toml changes.

.DEFAULT_GOAL := help
.PHONY: help demo quick test test-blender verify extension lint bench clean
unexport PYTHONHOME PYTHONPATH

MESHES ?= sample_meshes
PYTHON := .venv/bin/python
READY := .venv/ready

# The first of these that really starts (a pyenv shim may exist without its version), is new enough
# and can make a virtual environment.
PYTHONS := python3.11 python3.13 python3.12 python3
PROBE := import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))

help:
	@echo "make demo     the sample bear falls, wobbles and settles: Alembic, OBJ files and a GIF in demo_output/"
	@echo "make test     the whole test suite"
	@echo "make quick    the tests that take seconds"
	@echo "make verify   every promise, checked on each mesh of MESHES=folder (sample_meshes)"
	@echo "make test-blender VERSION=4.2|4.5|5.0|5.2   the extension's tests in that Blender"
	@echo "make extension    the Blender extension, a zip per platform, in dist/"
	@echo "make lint     style and format"
	@echo "make bench    timings on each mesh of MESHES=folder (sample_meshes)"
	@echo "make clean    remove .venv and everything that was made"

$(READY): pyproject.toml
	@rm -f $@
	@found=; for python in $(PYTHONS); do \
	  if $$python -c '$(PROBE)' >/dev/null 2>&1; then found=$$python; break; fi; done; \
	if [ -z "$$found" ]; then \
	  echo "jellycage: no usable Python: install Python 3.11 or 3.13 with venv" \
	    "(Debian, Ubuntu: apt install python3.11-venv; macOS: brew install python@3.13)," \
	    "then run make again" >&2; exit 1; fi; \
	echo "Setting up .venv with $$($$found --version) (a minute or two, once)"; \
	$$found -m venv --clear .venv
	@$(PYTHON) -m pip install -qq --disable-pip-version-check --editable '.[test]'
	@touch $@

demo: $(READY)
	@mkdir -p demo_output
	@cd demo_output && ../.venv/bin/jellycage demo

# Two processes; the tests of a file stay together, for they share what takes long to set up.
PYTEST := $(PYTHON) -m pytest -q -n 2 --dist loadfile --no-loadscope-reorder
LONGEST := tests/test_blender tests/test_wheel.py  # first, or one process waits for the other at the end

quick: $(READY)
	$(PYTEST) -m "not slow"

test:
	@$(MAKE) -s -j2 $(READY) .venv-blender-4.5/ready
	$(PYTEST) $(LONGEST) $(filter-out $(LONGEST),$(sort $(wildcard tests/test_*)))

# The bake, which times the demo, alone; then two at a time, the longest first. All are run, whatever one finds.
VERIFIED := motion impacts sim bodies vibrations stiffness cages collision contact ragdoll
.PHONY: $(VERIFIED:%=verify-%) verify-bake verify-killed

verify: $(READY)
	@status=0; $(MAKE) -s verify-bake || status=1; \
	$(MAKE) -s -k -j2 --output-sync=target $(VERIFIED:%=verify-%) verify-killed || status=1; \
	exit $$status

verify-cages verify-collision verify-contact verify-sim verify-bodies verify-motion verify-impacts verify-stiffness: WITH := --meshes $(MESHES)
$(VERIFIED:%=verify-%) verify-bake: verify-%:
	$(PYTHON) tests/verify_$*.py $(WITH)

verify-killed:
	JELLYCAGE_KILLS=20 $(PYTHON) -m pytest -q tests/test_sim/test_bake/test_bake_killed.py

# Blender as a Python module, 370 MB, in a place of its own that holds nothing of ours: the extension must bring its own.
# VERSION is one of 4.2, 4.5, 5.0, 5.2. Official builds of 4.2 have numpy 1.24.3.
VERSION ?= 4.5
BPY_4.2 := python3.11 bpy==4.2.23 numpy==1.24.3
BPY_4.5 := python3.11 bpy==4.5.15
BPY_5.0 := python3.11 bpy==5.0.1
BPY_5.2 := python3.13 bpy==5.2.3

.venv-blender-%/ready:
	@test -n "$(BPY_$*)" || { echo "jellycage: VERSION must be 4.2, 4.5, 5.0 or 5.2" >&2; exit 2; }
	@echo "Setting up Blender $* in .venv-blender-$* (a minute or two, once)"
	@wanted=$(firstword $(BPY_$*)); found=; \
	for python in $$wanted $$(ls -d $$HOME/.pyenv/versions/*/bin/$$wanted 2>/dev/null); do \
	  if $$python -c 'import venv, ensurepip' >/dev/null 2>&1; then found=$$python; break; fi; done; \
	if [ -z "$$found" ]; then \
	  echo "jellycage: Blender $* needs $$wanted with venv; install it, then run make again" >&2; \
	  exit 1; fi; \
	$$found -m venv --clear .venv-blender-$*
	@.venv-blender-$*/bin/python -m pip install -qq --disable-pip-version-check \
	  $(wordlist 2,9,$(BPY_$*))
	@touch $@

test-blender: $(READY) .venv-blender-$(VERSION)/ready
	JELLYCAGE_BLENDER=$(VERSION) $(PYTHON) -m pytest -q tests/test_blender

# The wheels are 500 MB, kept in build/wheels; Blender's own checks run where its module is installed.
extension: $(READY)
	$(PYTHON) blender_addon/build_extension.py --platform all --abi all --output dist \
	  $(if $(wildcard .venv-blender-4.5/ready),--blender-python .venv-blender-4.5/bin/python)

lint: $(READY)
	$(PYTHON) -m ruff check .
	$(PYTHON) -m ruff format --check .

bench: $(READY)
	$(PYTHON) benchmarks/cage.py --meshes $(MESHES)
	$(PYTHON) benchmarks/collision.py --meshes $(MESHES)
	$(PYTHON) benchmarks/contact_determination.py --meshes $(MESHES)
	$(PYTHON) benchmarks/table_5_1.py --meshes $(MESHES)
	$(PYTHON) benchmarks/smooth_embedding.py
	$(PYTHON) benchmarks/dynamics.py
	$(PYTHON) benchmarks/degeneration.py --meshes $(MESHES)
	$(PYTHON) benchmarks/falls.py --meshes $(MESHES)
	$(PYTHON) benchmarks/contact.py
	$(PYTHON) benchmarks/alembic.py
	$(PYTHON) benchmarks/ragdoll.py
	$(PYTHON) benchmarks/chain_peers.py

clean:
	rm -rf .venv .venv-blender-* build dist *.egg-info demo_output .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
