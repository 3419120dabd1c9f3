#!/usr/bin/env bash
# The whole suite, once: what fails has failed.
set -euo pipefail
cd "$(dirname "$0")/.."
exec .venv/bin/pytest -m "not slow and not cluster and not browser" -n 3 "$@"
