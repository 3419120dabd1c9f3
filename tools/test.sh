#!/usr/bin/env bash
# The whole suite: what can run beside others in three processes, then what measures time, alone.
set -euo pipefail
cd "$(dirname "$0")/.."

tests() {
    local marks=$1 code=0
    shift
    .venv/bin/pytest -m "$marks" "$@" || code=$?
    [ $code = 1 ] || return $code
    echo "These failed on a full machine. Once more, each alone: what passes now is shaky, and is to be mended."
    .venv/bin/pytest -m "$marks" --last-failed
}

tests "not quiet and not slow" -n 3 --dist loadfile --no-loadscope-reorder
tests quiet
