# Two commands do all the set-up: `make demo` and `make test`. Only what changed is built again.
# make test PYTEST_ARGS='-m "not long"': slow tests as well, as continuous integration runs them
# make test WORKERS=0: one at a time
# make PYTHON=python3.12    make CI=true: warnings are errors
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
BUILD  ?= build/dev
# Two for each CPU: tests wait, too.
WORKERS ?= $(shell expr $$(nproc) \* 2)
PYTEST_ARGS ?= -m "not slow and not long"
FAILURES ?= 100
SHELL  := /bin/bash
# pip compiles what it installs, for ten seconds: where Python may not write, each command would compile its imports anew.
INSTALL = $(BIN)/python -m pip install --quiet --requirement /dev/stdin
# Wheels are built for those of these that are here: on PATH or in ~/.pyenv.
WHEELS ?= 3.11 3.12 3.13 3.14
SOURCES := $(shell find cpp -name '*.?pp' -o -name CMakeLists.txt -o -name '*.cmake*')

# A second Python, for what only newer ones can do: the first of these that runs.
PYTHON312 ?= $(firstword $(foreach name,python3.12 $(wildcard $(HOME)/.pyenv/versions/3.12*/bin/python3.12), \
	$(shell $(name) -c 'print("$(name)")' 2>/dev/null)))

.PHONY: demo test test-python test-py312 test-cpp test-dispatch build bench bench-conditions bench-analysis bench-again bench-variations bench-core bench-histograms bench-lcio bench-output bench-rntuple bench-plan bench-remote bench-memory bench-sampling bench-recovery published chaos test-batch races faults remote-faults fuzz fuzz-asan lint style tidy format asan tsan man docs changelog wheels clean need

demo: $(VENV)/built ## generate input, run a skim and a reconstruction with 8 children, print what they cost
	@mkdir -p build/demo
	$(BIN)/forkrun sample build/demo/sample.root --events 20000 --lumis 8
	$(BIN)/forkrun run configs/nanoaod.toml build/demo/sample.root --children 2 -o build/demo/run --force --plots
	$(BIN)/forkrun sample build/demo/raw.root --events 48 --lumis 8
	$(BIN)/forkrun run configs/reconstruction/reconstruction.toml build/demo/raw.root --children 8 -o build/demo/reconstruction --force
	@echo "Run directories, with output, logs and report.html: build/demo/run, build/demo/reconstruction"
	@echo "To continue: source $(VENV)/bin/activate, then forkrun --help"

test: test-cpp test-python ## C++ tests, then pytest without those marked slow or long

# Each command that a test starts would compile what it imports of the project: 0.2 s, where Python may not write.
test-python: build
	$(BIN)/python -m compileall -q -j 0 forkrun merge monitoring tests
	$(BIN)/python -m pytest --numprocesses $(WORKERS) --maxprocesses 8 --dist worksteal $(PYTEST_ARGS)

test-py312: ## pytest with Python 3.12, where reading Python objects keeps them shared, in an environment of its own
	@if test -n "$(PYTHON312)"; then $(MAKE) test-python PYTHON="$(PYTHON312)" VENV=.venv312 BUILD=build/py312; \
	else echo "SKIPPED: there is no Python 3.12 here; name one with make test-py312 PYTHON312=/path/to/python3.12"; fi

test-cpp: $(VENV)/tested
	@if test -x $(BUILD)/forkrun/core/core_test; then cd $(BUILD) && ctest --parallel $$(nproc) --output-on-failure; \
	else echo "SKIPPED: the C++ tests need GoogleTest (Debian, Ubuntu: apt install libgtest-dev, then make clean)"; fi

build: $(VENV)/built $(VENV)/tools forkrun/_core.pyi ## virtual environment with all tools, compiled libraries, editable install

need:
	@command -v g++ >/dev/null || { echo "forkrun needs a C++ compiler: g++ 12 or newer (Debian, Ubuntu: apt install g++)"; exit 1; }
	@command -v cmake >/dev/null || { echo "forkrun needs CMake 3.22 or newer (Debian, Ubuntu: apt install cmake)"; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "forkrun needs Python 3.11 or newer; name it with make PYTHON=python3.12"; exit 1; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || { echo "forkrun needs Python's venv (Debian, Ubuntu: apt install python3-venv)"; exit 1; }
	@$(PYTHON) -c 'import sysconfig, os, sys; sys.exit(not os.path.exists(sysconfig.get_paths()["include"] + "/Python.h"))' || { echo "forkrun needs Python's headers (Debian, Ubuntu: apt install python3-dev)"; exit 1; }

$(VENV)/environment: pyproject.toml | need
	@echo "Making the virtual environment $(VENV) with ROOT: some minutes, once"
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python .ci/requirements.py build | $(INSTALL)
	touch $@

$(VENV)/tools: $(VENV)/environment
	@echo "Installing what tests and linters need"
	$(BIN)/python .ci/requirements.py build test docs dev | $(INSTALL)
	touch $@

# The C++ tests are a third of what there is to compile: they are built when they are asked for, and from then on.
$(VENV)/built: $(VENV)/environment setup.py $(SOURCES)
	@echo "Compiling into $(BUILD): a few minutes the first time"
	@touch $@.begun # what is edited meanwhile is newer
	@mkdir -p build && set -o pipefail && \
		PATH="$(CURDIR)/$(BIN):$$PATH" FORKRUN_BUILD_DIR=$(BUILD) FORKRUN_WERROR=$(if $(CI),ON,OFF) \
		FORKRUN_TESTS=$(if $(wildcard $(VENV)/tested),ON,OFF) \
		$(BIN)/python -m pip install --verbose --no-build-isolation --no-deps --editable . 2>&1 \
		| tee build/install.log | sed -un 's/^ *\(\[[0-9]*\/[0-9]*\] .*\)/\1/p' \
		|| { tail -n 60 build/install.log; exit 1; }
	@$(BIN)/python -m compileall -q forkrun merge monitoring # commands start sooner where Python may not keep what it compiles
	mv $@.begun $@

# The types of the extension, as mypy and editors read them.
forkrun/_core.pyi: $(VENV)/built $(VENV)/tools .ci/stubs.py
	@$(BIN)/python .ci/stubs.py

$(VENV)/tested: $(VENV)/built
	@echo "Compiling the C++ tests"
	@PATH="$(CURDIR)/$(BIN):$$PATH" cmake -S cpp -B $(BUILD) -DFORKRUN_TESTS=ON > build/tests.log
	@PATH="$(CURDIR)/$(BIN):$$PATH" cmake --build $(BUILD)
	touch $@

bench: build ## ratios against uproot, RDataFrame, hadd and NumPy, in one run
	$(BIN)/python tests/benchmarks/bench.py

bench-analysis: build ## a Python analysis with default settings against coffea and uproot; more: BENCH_ARGS="--events 5000000"
	PYTHONPATH="$(CURDIR)" $(BIN)/python tests/benchmarks/analysis/bench.py $(BENCH_ARGS)

bench-variations: build ## what 20 systematic variations of a column cost, against RDataFrame's Vary and a loop in Python
	PYTHONPATH="$(CURDIR)" $(BIN)/python tests/benchmarks/variations/bench.py $(BENCH_ARGS)

bench-again: build ## a changed job in the directory of its first run: a histogram more, a function edited, a file more of 1,000
	PYTHONPATH="$(CURDIR)" $(BIN)/python tests/benchmarks/again.py $(BENCH_ARGS)

bench-output: build ## skims that keep all branches with default settings against compiled RDataFrame; more: BENCH_ARGS="--per-lumi 10 500 50000"
	PYTHONPATH="$(CURDIR)" $(BIN)/python tests/benchmarks/output/bench.py $(BENCH_ARGS)

bench-rntuple: build ## the same skims from RNTuple to RNTuple, merges of 100 files against hadd, reading columns against ROOT and uproot; merges alone: BENCH_ARGS=--merges-alone
	PYTHONPATH="$(CURDIR)" $(BIN)/python tests/benchmarks/output/bench.py --format rntuple \
		--json build/bench/rntuple.json $(BENCH_ARGS)

bench-remote: build ## input over slow links, by root:// and http://, against uproot, coffea and compiled RDataFrame: needs xrootd and nginx
	PYTHONPATH="$(CURDIR)" PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python tests/benchmarks/remote/bench.py $(BENCH_ARGS)

bench-plan: build ## start and plan of a million lumis, and the constants of the guided distribution
	$(BIN)/python tests/benchmarks/planning.py

bench-conditions: build ## what reading a condition costs, and the memory of children that share it
	PYTHONPATH="$(CURDIR)" $(BIN)/python tests/benchmarks/conditions.py

bench-histograms: build ## fills of histograms, whose sums are exact, against hist, ROOT and sums of doubles; more: BENCH_ARGS="--long --plot"
	PYTHONPATH="$(CURDIR)" $(BIN)/python tests/benchmarks/histograms/bench.py $(BENCH_ARGS)

bench-lcio: build ## files of LCIO against LCIO itself, where LCIO_DIR names it (docs/formats.md), and against inflating alone
	PATH="$(CURDIR)/$(BIN):$$PATH" cmake --build $(BUILD) --target bench_lcio
	PYTHONPATH="$(CURDIR):$(CURDIR)/tests/benchmarks" $(BIN)/python tests/benchmarks/lcio/bench.py --build $(BUILD) $(BENCH_ARGS)

bench-core: build ## what scheduling costs and how far it scales: minutes, on a machine that does nothing else
	PATH="$(CURDIR)/$(BIN):$$PATH" cmake --build $(BUILD) --target bench_core bench_units
	$(BIN)/python tests/benchmarks/bench_core.py --binary $(BUILD)/forkrun/core/bench_core \
		--data $${FORKRUN_TEST_DATA:-../shared/data} --json build/bench-core.json $(BENCH_ARGS)

chaos: build ## a job whose processes are killed, hang, raise and lose files, again and again
	$(BIN)/python tests/chaos/chaos.py $(CHAOS_ARGS)

fuzz: build ## damaged input files through index, reading, skim and merge: make fuzz FUZZ_ARGS="5000 --first-seed 1"
	PYTHONPATH="$(CURDIR)" nice $(BIN)/python tests/fuzz/fuzz.py $(FUZZ_ARGS)

fuzz-asan: build ## the same under the address and undefined-behaviour sanitizers, which report to build/sanitized/found
	rm -rf build/sanitized/found && mkdir -p build/sanitized/found build/sanitized/package/forkrun
	$(CONFIGURE_ALL) -B build/sanitized -DFORKRUN_TESTS=OFF -DFORKRUN_SANITIZE=address,undefined \
		-DFORKRUN_EXTRA_RPATH="$$($(BIN)/python -c 'import sysconfig; print(sysconfig.get_paths()["platlib"])')/ROOT/lib" > build/sanitized.log
	$(COMPILE) build/sanitized
	ln -sfn $(filter-out %.so %/lib %/include %/__pycache__,$(wildcard $(CURDIR)/forkrun/*)) build/sanitized/package/forkrun
	cmake --install build/sanitized --prefix build/sanitized/package > /dev/null
	PYTHONPATH="$(CURDIR)/build/sanitized/package:$(CURDIR)" \
		LD_PRELOAD="$$(for name in asan ubsan stdc++; do g++ -print-file-name=lib$$name.so; done | tr '\n' ' ')" \
		ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1:abort_on_error=1:log_path=$(CURDIR)/build/sanitized/found/asan \
		UBSAN_OPTIONS=print_stacktrace=1:log_path=$(CURDIR)/build/sanitized/found/ubsan \
		nice $(BIN)/python tests/fuzz/fuzz.py --limit 100 $(FUZZ_ARGS)
	@! grep -hE 'SUMMARY|runtime error' build/sanitized/found/* 2>/dev/null

faults: build ## a job whose system calls fail, one after the other, and what becomes of it
	$(BIN)/python tests/faults/faults.py $(FAULTS_ARGS)

remote-faults: build ## servers of the input fail in fifteen ways while a job reads, at random moments: needs xrootd, nginx and openssl
	$(BIN)/python -m tests.remote_faults $(REMOTE_FAULTS_ARGS)

test-batch: build ## jobs on many nodes: Slurm, HTCondor and Dask on this machine, installed where that is allowed; nodes killed at random
	tests/batch/install.sh $(BIN) build/condor
	FORKRUN_CONDOR="$(CURDIR)/build/condor" $(BIN)/python -m pytest --numprocesses 0 --timeout 1800 tests/batch
	$(BIN)/python tests/batch/failures.py --failures $(FAILURES)

races: build ## pairs of commands at the same moment in jobs on nodes of this machine, with counts; more: make races RACES_ARGS="--rounds 1000"
	$(BIN)/python tests/batch/races.py $(RACES_ARGS)

bench-memory: build ## what keeps memory shared, what it costs, and how soon 32 children with 1 GB of conditions start
	$(BIN)/python tests/benchmarks/bench_memory.py $(BENCH_ARGS)

bench-sampling: build ## what sampling memory costs, and how long that stops a child: three minutes
	$(BIN)/python tests/benchmarks/bench_sampling.py $(BENCH_ARGS)

published: build ## all published figures, measured again: docs/published.md, in half an hour; some: PUBLISHED_ARGS="--only io"
	$(BIN)/python -m tests.published $(PUBLISHED_ARGS)

bench-recovery: build ## what killed children and a killed parent cost beyond lost work: a quarter of an hour
	$(BIN)/python tests/benchmarks/recovery.py $(BENCH_ARGS)

lint: style tidy ## linters of Python and C++

style: build ## those that take seconds
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/clang-format --dry-run --Werror $$(git ls-files 'cpp/*.cpp' 'cpp/*.hpp')

tidy: build ## clang-tidy, for sources that it has not found clean before: minutes for all
	$(CONFIGURE_ALL) -B build/tidy -DFORKRUN_TESTS=OFF -DFORKRUN_UNITY=OFF > build/tidy.log
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python .ci/tidy.py build/tidy

format: $(VENV)/tools
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/clang-format -i $$(git ls-files 'cpp/*.cpp' 'cpp/*.hpp')

CONFIGURE_ALL = PATH="$(CURDIR)/$(BIN):$$PATH" cmake -S cpp -G Ninja -DPython_EXECUTABLE="$(CURDIR)/$(BIN)/python"
CONFIGURE := PATH="$(CURDIR)/$(BIN):$$PATH" cmake -S cpp -G Ninja -DFORKRUN_BINDINGS=OFF
COMPILE   := PATH="$(CURDIR)/$(BIN):$$PATH" cmake --build

man: build ## the man page of all commands: man build/man/forkrun.1
	@mkdir -p build/man
	$(BIN)/forkrun manual > build/man/forkrun.1

docs: build ## the documentation as a web site, with the generated reference: build/site/index.html, which needs no server
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet
	@echo "Open $(CURDIR)/build/site/index.html"

changelog: build ## the fragments of changes/ as they will stand in CHANGELOG.md; VERSION=0.3.0 puts them there
	$(BIN)/python -m towncrier build --name forkrun $(if $(VERSION),--version $(VERSION) --yes,--version Unreleased --draft)

wheels: build ## wheels in dist/ for any Linux whose C and C++ libraries are as new, each tried in an empty environment; one: WHEELS=3.12
	$(BIN)/python .ci/wheels.py $(WHEELS)

asan: $(VENV)/environment ## C++ tests without ROOT under the address and undefined-behaviour sanitizers
	$(CONFIGURE) -B build/asan -DFORKRUN_SANITIZE=address,undefined -DCMAKE_PREFIX_PATH="$(CURDIR)/$(VENV)"
	$(COMPILE) build/asan
	cd build/asan && ctest --output-on-failure

tsan: $(VENV)/environment ## the same under the thread sanitizer, without oneTBB, which is not instrumented
	$(CONFIGURE) -B build/tsan -DFORKRUN_SANITIZE=thread -DFORKRUN_TBB=OFF
	$(COMPILE) build/tsan
	cd build/tsan && TSAN_OPTIONS=suppressions=$(CURDIR)/cpp/tsan.supp ctest --tests-regex '(concurrency|core)_test' \
		--output-on-failure

test-dispatch: $(VENV)/environment ## C++ tests with threads of libdispatch, which is in DISPATCH=/its/prefix
	$(CONFIGURE) -B build/dispatch -DFORKRUN_DISPATCH=ON -DCMAKE_PREFIX_PATH="$(DISPATCH)"
	$(COMPILE) build/dispatch --target concurrency_test core_test
	cd build/dispatch && FORKRUN_TEST_EXECUTOR=dispatch ctest --tests-regex '(concurrency|core)_test' --output-on-failure

clean: ## everything that was built, and the virtual environment
	rm -rf build dist $(VENV) .venv312 *.egg-info forkrun/lib forkrun/include forkrun/_core*.so forkrun/_core.pyi
