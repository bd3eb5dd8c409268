#!/bin/sh
# The way in from the Makefile: find a Python, then hand over to tools/dev with it.
set -u
cd "$(dirname "$0")/.." || exit 1
python=$(sh tools/find_python.sh "${PYTHON:-}") || exit 1
exec "$python" -m tools.dev "$@"
