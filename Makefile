# Every target sets up what it needs: a machine with Python >= 3.11 and make is enough.
PYTHON ?= python3
VENV ?= .venv/$(notdir $(PYTHON))
LOWEST := $(VENV)-lowest
# All extras but the agents', which need newer versions of pydantic, openai and langchain-core than the library.
LOWEST_EXTRAS := langsmith,deepeval,langchain,mlflow,inspect,pydantic-evals,langfuse,otel,arrow,spark,anthropic,analysis
WHEEL := $(VENV)-wheel
BIN := $(VENV)/bin
VERDICTS := build/demo.jsonl
CODE := src tests tools examples
WINGS := $(addprefix tests/,adapters batches decisions lab offline report)
# Two halves at a time, without workers, are quicker than two workers for the whole, each of which imports everything.
WORKERS = $(shell $(PYTHON) -c 'import os; print((os.cpu_count() or 1) // 4 * 2)')
# Keeps the outputs of the halves apart; make 3 has no such option.
SYNC := $(if $(filter output-sync,$(.FEATURES)),--output-sync=target)

export DEEPEVAL_TELEMETRY_OPT_OUT := 1

.PHONY: demo test test-core test-wings test-browser test-spark test-lowest lint types mypy pyright typed-pages docs \
  pages offline-figures bench soak format environment dist clean

demo: $(VENV)/demo.installed ## every judge at work on the examples, without a key
	@mkdir -p build
	@$(BIN)/groundjudge run examples/cases.jsonl --model offline --out $(VERDICTS) --overwrite \
	  $(foreach case,$(SHOWN),--full $(case))
	@echo
	@echo "Half of the examples are wrong on purpose. The offline judge needs no key: it passes a"
	@echo "statement only if one sentence of the source says the same thing in nearly the same words, and leaves everything"
	@echo "else undecided."

test: $(VENV)/test.installed ## the whole test suite, offline; shows both of its halves when they are done
	@$(MAKE) --no-print-directory --jobs=2 $(SYNC) test-core test-wings

test-core: $(VENV)/test.installed ## the half of the core
	$(BIN)/python -m pytest -n $(WORKERS) tests $(WINGS:%=--ignore=%) --ignore-glob='tests/test_*.py'

test-wings: $(VENV)/test.installed ## the other half: wings, adapters, and what concerns all files
	$(BIN)/python -m pytest -n $(WORKERS) $(WINGS) tests/test_*.py

test-browser: $(VENV)/browser.installed ## the report in a real browser: needs chromium and chromedriver
	$(BIN)/python -m pytest tests/browser

test-spark: $(VENV)/test.installed ## the adapter to Spark in a local Spark: needs Java 17 or newer
	$(BIN)/python -m pytest tests/spark

test-lowest: $(LOWEST)/test.installed ## the same, with the oldest frameworks and libraries that are allowed
	$(LOWEST)/bin/python -m pytest -n auto --dist worksteal

lint: $(VENV)/lint.installed ## Python, and the workflows in .github
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/python tools/workflows.py
	$(BIN)/jactionlint --shellcheck=

format: $(VENV)/lint.installed
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

types: mypy pyright ## strict, over checkout, pages and installed wheel; with -j 2 at once

mypy: typed-pages $(WHEEL)/types.installed
	$(BIN)/python -m mypy $(CODE) build/pages/*.py
	cd $(WHEEL) && bin/python -m mypy --strict -p groundjudge --cache-dir $(CURDIR)/.mypy_cache

pyright: typed-pages $(WHEEL)/types.installed
	$(BIN)/python -m pyright --pythonpath $(BIN)/python $(CODE) build/pages
	$(BIN)/python -m pyright --pythonpath $(WHEEL)/bin/python --project tests/typing

typed-pages: $(VENV)/types.installed
	rm -rf build/pages
	$(BIN)/python tests/pages.py types build/pages

docs: $(VENV)/docs.installed ## the documentation site, in build/site; anything wrong with it is an error
	$(BIN)/python tools/errors_page.py
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build

pages: $(VENV)/test.installed ## write what the commands in README and docs print into them: PAGES="README.md"
	$(BIN)/python tests/pages.py refresh $(PAGES)

offline-figures: $(VENV)/test.installed ## what the offline judge passes on labelled files: FILES="a.jsonl b.jsonl"
	@$(BIN)/python tools/offline_figures.py $(FILES)

bench: $(VENV)/test.installed ## speed against a bare client, and growth by doubling
	PYTHONPATH=$(CURDIR)/tests $(BIN)/python tests/bench/bench.py
	PYTHONPATH=$(CURDIR)/tests $(BIN)/python tests/bench/decision_bench.py
	PYTHONPATH=$(CURDIR)/tests $(BIN)/python tests/bench/guard_bench.py
	PYTHONPATH=$(CURDIR)/tests $(BIN)/python tests/bench/evidence_growth.py
	PYTHONPATH=$(CURDIR)/tests $(BIN)/python tests/bench/reply_times.py

soak: $(VENV)/test.installed ## the tests that take long, and properties on many examples, in parallel
	GROUNDJUDGE_EXAMPLES=50 $(BIN)/python -m pytest -n auto --dist worksteal -m "soak or hypothesis"

dist: $(BIN)/python ## sdist and wheel, in dist
	rm -rf dist
	$(BIN)/python -m pip install --quiet build
	$(BIN)/python -m build

clean:
	rm -rf .venv build dist

# --- setting up -------------------------------------------------------------------------------

# Everything at once: pip must not change one environment twice at a time, as it would in `make -j 2 lint types`, and
# it would look for versions that fit four times. Python compiles the few files that are imported, and pip all.
environment: $(VENV)/environment.installed

$(VENV)/environment.installed: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --no-compile --editable '.[all]' \
	  --group test --group lint --group types --group docs
	@touch $(VENV)/test.installed $(VENV)/lint.installed $(VENV)/types.installed $(VENV)/docs.installed $@

SHOWN := rag-number-changed

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python >= 3.11 is needed, say PYTHON=python3.x")'
	$(PYTHON) -m venv $(VENV)
	$@ -m pip install --quiet --upgrade pip

$(VENV)/demo.installed: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable .
	@touch $@

$(VENV)/test.installed: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable '.[all]' --group test
	@touch $@

$(VENV)/browser.installed: pyproject.toml $(VENV)/test.installed
	$(BIN)/python -m pip install --quiet --group browser
	@touch $@

$(VENV)/docs.installed: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable . --group docs
	@touch $@

$(VENV)/lint.installed: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --group lint
	@touch $@

$(VENV)/types.installed: pyproject.toml $(VENV)/test.installed
	$(BIN)/python -m pip install --quiet --group types
	@touch $@

# What users install: the wheel, and nothing of the checkout. Its dependencies are those of the checkout, which
# a path in a .pth file adds without the checkout itself: such files are not read in the folders that they name.
$(WHEEL)/types.installed: pyproject.toml $(shell find src adapters prompts -type f -name '*.p*y*') $(VENV)/types.installed
	rm -rf $(WHEEL)
	$(PYTHON) -m venv --without-pip $(WHEEL)
	$(BIN)/python -m build --wheel --outdir $(WHEEL)/dist .
	$(BIN)/python -m pip --python $(WHEEL)/bin/python install --quiet --no-deps $(WHEEL)/dist/*.whl
	$(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))' \
	  > "$$($(WHEEL)/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/dependencies.pth"
	@touch $@

$(LOWEST)/test.installed: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet uv
	$(BIN)/uv venv --quiet --clear --python $(BIN)/python $(LOWEST)
	$(BIN)/uv pip install --quiet --python $(LOWEST)/bin/python --resolution lowest-direct \
	  --editable '.[$(LOWEST_EXTRAS)]' --group test
	@touch $@
