# Every target does its own set-up; see tools/dev. PYTHON= selects the interpreter: a version
# (3.12), a path or a command. Each version has its own environment (.venv-3.13, ...).
PYTHON ?=
PYTHONS ?=
export PYTHON PYTHONS
run = @sh tools/dev.sh

.PHONY: help demo test test-python test-matrix bench lint format check-format clean

help:
	@echo 'make demo          build, profile two example programs, print where the results are'
	@echo 'make test          everything: C, sanitizers, Python, JavaScript, browser, lint, types'
	@echo 'make test-python   the Python and end-to-end tests only (a second interpreter, say)'
	@echo 'make test-matrix   C, Python and end-to-end tests on every supported interpreter; those that'
	@echo '                   are not here run in a Debian below ~/.cache (root; PYTHONS="3.14 3.15";'
	@echo '                   3.13t is the build without the GIL)'
	@echo 'make bench         the figures of docs/performance.md, beside line_profiler and memray'
	@echo '                   (BENCH_ARGS="--quick" for a look, "--only lprof" for one tool)'
	@echo 'make lint          ruff, mypy, clang-format'
	@echo 'make format        let ruff and clang-format rewrite the sources'
	@echo 'make check-format  what make format would change'
	@echo 'make clean         remove everything that these made'
	@echo 'PYTHON=3.12 (or a path) selects the interpreter; CI=1 makes warnings of the compiler errors'

demo test test-python test-matrix lint format check-format:
	$(run) $@

bench:
	$(run) $@ $(BENCH_ARGS)

clean:
	rm -rf .venv .venv-* build build-* .bench out .mypy_cache .ruff_cache .pytest_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
