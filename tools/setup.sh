#!/usr/bin/env bash
# Set-up behind every make target: Debian packages, .venv, the pinned dependency set. Does nothing once it is done.
set -euo pipefail
cd "$(dirname "$0")/.."

PYTHON=${PYTHON:-python3}
EXTRAS=dev,gui,mujoco,box2d,atari,minigrid,envpool,wandb,mlflow,hub,bdi,spade,llm,pettingzoo,minari
TRACKIO="brotli gradio-client httpx huggingface_hub orjson python-multipart starlette uvicorn"
# venv: Debian ships it apart. GL, EGL, OSMesa: MuJoCo's headless renderers. Then Qt without a display and with one; Xvfb
# is the display of the tests.
DEBIAN_PACKAGES="libgl1 libegl1 libosmesa6 libdbus-1-3 libfontconfig1 libglib2.0-0 libxkbcommon0
    libxcb-cursor0 libxcb-icccm4 libxcb-keysyms1 libxcb-xkb1 libxcb-shape0 libxkbcommon-x11-0 xvfb"

say() { printf '\033[1m%s\033[0m\n' "setup: $*" >&2; }
die() { printf 'setup: %s\n' "$*" >&2; exit 1; }

"$PYTHON" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null ||
    die "Python 3.11 or newer is needed; '$PYTHON' is not. Name another one with: make PYTHON=/path/to/python3.11 …"

fingerprint=$(cat pyproject.toml constraints.txt tools/setup.sh | sha256sum | cut -c1-16)
stamp=.venv/.setup-$fingerprint
[ -f "$stamp" ] && exit 0

missing_packages() {
    for package in $DEBIAN_PACKAGES; do
        [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" = installed ] || printf '%s ' "$package"
    done
}

"$PYTHON" -c 'import ensurepip' 2>/dev/null || DEBIAN_PACKAGES="$DEBIAN_PACKAGES python3-venv"
if command -v dpkg-query >/dev/null; then
    missing=$(missing_packages)
    if [ -n "$missing" ] && [ "$(id -u)" = 0 ]; then
        say "installing Debian packages: $missing"
        # The package list may be old or absent: look again once if the first try fails.
        DEBIAN_FRONTEND=noninteractive apt-get install -y -qq $missing >/dev/null 2>&1 || {
            apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq $missing >/dev/null
        } || say "could not install: $missing (rendering or the window may not work without them)"
    elif [ -n "$missing" ]; then
        say "these Debian packages are missing: $missing"
        say "install them with: sudo apt-get install $missing"
    fi
fi

[ -x .venv/bin/python ] || { say "making .venv"; "$PYTHON" -m venv .venv || die "venv failed; on Debian: apt-get install python3-venv"; }
pip() { .venv/bin/python -m pip --disable-pip-version-check "$@"; }
offline="the package index cannot be reached, and this set-up is not complete yet; try again with a network"
say "installing the pinned packages (a few minutes the first time)"
# torch first and exactly: a looser request may take several gigabytes of CUDA.
pip install -q -c constraints.txt "$(grep '^torch==' constraints.txt)" || die "$offline"
pip install -q -c constraints.txt -e ".[$EXTRAS]" || die "$offline"
# Trackio asks for pillow < 13, which nothing that we hand to it needs: what else it asks for, then itself alone.
pip install -q -c constraints.txt $TRACKIO || die "$offline"
pip install -q -c constraints.txt --no-deps trackio || die "$offline"
rm -f .venv/.setup-*
touch "$stamp"
say "done"
