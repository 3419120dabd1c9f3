#!/usr/bin/env bash
# The whole suite, once: what fails has failed. In three processes: much of it is waiting for processes to start and end.
set -euo pipefail
cd "$(dirname "$0")/.."
exec .venv/bin/pytest -m "not slow" -n 3 --dist loadgroup "$@"
