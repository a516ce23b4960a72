# Two commands matter: `make demo` and `make test`. The rest is for people who change the code.
# Every target makes .venv first, and only makes it again when pyproject.toml changes.

.DEFAULT_GOAL := help
.PHONY: help demo quick test verify blender lint bench clean
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
	@echo "make blender  Blender 4.5 reads the exports back, bit for bit"
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

quick: $(READY)
	$(PYTHON) -m pytest -q -m "not slow"

test: $(READY)
	$(PYTHON) -m pytest -q

verify: $(READY)
	$(PYTHON) tests/verify.py --meshes $(MESHES)
	$(PYTHON) tests/verify_sim.py --meshes $(MESHES)
	$(PYTHON) tests/verify_bake.py
	JELLYCAGE_KILLS=20 $(PYTHON) -m pytest -q tests/test_sim/test_bake_killed.py

# Blender itself reads every export format back; its Python module is 370 MB and has a place of its own.
blender: $(READY)
	@test -x .venv-blender/bin/python || python3.11 -m venv .venv-blender
	@.venv-blender/bin/python -m pip install -qq --disable-pip-version-check bpy==4.5.15
	@rm -rf demo_output/exports && mkdir -p demo_output/exports
	$(PYTHON) tests/in_blender/write_exports.py demo_output/exports
	.venv-blender/bin/python tests/in_blender/read_exports.py demo_output/exports

lint: $(READY)
	$(PYTHON) -m ruff check .
	$(PYTHON) -m ruff format --check .

bench: $(READY)
	$(PYTHON) benchmarks/cage.py --meshes $(MESHES)
	$(PYTHON) benchmarks/dynamics.py
	$(PYTHON) benchmarks/degeneration.py --meshes $(MESHES)
	$(PYTHON) benchmarks/contact.py
	$(PYTHON) benchmarks/alembic.py

clean:
	rm -rf .venv .venv-blender build dist *.egg-info demo_output .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
