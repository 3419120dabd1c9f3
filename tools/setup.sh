#!/usr/bin/env bash
# Set-up behind every make target: .venv with the pinned packages of one set. Does nothing once it is done.
#   setup.sh base   what training, evaluation and the command line need
#   setup.sh gui    base and the window
#   setup.sh all    every family of environments, every tracker, the tools of the tests
#   setup.sh extras NAME…   base and these extras of pyproject.toml
# Debian packages are installed after a question; YES=1 or CI=1 answers it. Without a terminal only the line to type is printed.
set -euo pipefail
cd "$(dirname "$0")/.."

SET=${1:-all}
PYTHON=${PYTHON:-python3}
LOG=.venv/setup.log
ALL=dev,gui,mujoco,box2d,atari,minigrid,envpool,dmcontrol,procgen,wandb,mlflow,hub,bdi,spade,llm,pettingzoo,minari,sweep,mcp,browser,onnx,notebook
TRACKIO="brotli gradio-client httpx huggingface_hub orjson python-multipart starlette uvicorn"
# Qt's libraries, with a display and without one.
QT="libgl1 libegl1 libdbus-1-3 libfontconfig1 libglib2.0-0 libxkbcommon0
    libxcb-cursor0 libxcb-icccm4 libxcb-keysyms1 libxcb-xkb1 libxcb-shape0 libxkbcommon-x11-0"
# MuJoCo's headless renderer.
OSMESA=libosmesa6
case $SET in
base) EXTRAS='' DEBIAN_PACKAGES='' ;;
gui) EXTRAS='[gui]' DEBIAN_PACKAGES=$QT ;;
# Xvfb: the display of the tests.
all) EXTRAS="[$ALL]" DEBIAN_PACKAGES="$QT $OSMESA xvfb" ;;
extras) EXTRAS='' DEBIAN_PACKAGES='' ;;
*) echo "setup: '$SET' is not base, gui, all or extras" >&2; exit 2 ;;
esac

say() { printf '\033[1m%s\033[0m\n' "setup: $*" >&2; }
die() { printf 'setup: %s\n' "$*" >&2; exit 1; }

"$PYTHON" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null ||
    die "Python 3.11 or newer is needed; '$PYTHON' is not. Name another one with: make PYTHON=/path/to/python3.11 …"

NAMES=("${@:2}")
if [ "$SET" = extras ]; then
    known=$(sed -n '/^\[project.optional-dependencies\]/,/^\[/s/^\([a-z0-9]*\) = .*/\1/p' pyproject.toml | grep -vxE 'dev|all')
    [ ${#NAMES[@]} -gt 0 ] || die "which extra? make extras NAME…; there are: $(tr '\n' ' ' <<<"$known")"
    for name in "${NAMES[@]}"; do
        grep -qx "$name" <<<"$known" || die "'$name' is not an extra; there are: $(tr '\n' ' ' <<<"$known")"
        case $name in gui | web) DEBIAN_PACKAGES=$QT ;; mujoco | dmcontrol) DEBIAN_PACKAGES="$DEBIAN_PACKAGES $OSMESA" ;; esac
    done
    # What is there already stays: an environment with everything is not taken back to the base.
    PYTHON=$PYTHON tools/setup.sh base
fi

fingerprint=$(cat pyproject.toml constraints.txt tools/setup.sh | sha256sum | cut -c1-16)
for larger in all gui base; do
    [ "$SET" = extras ] && break
    [ -f ".venv/.setup-$larger-$fingerprint" ] && exit 0
    [ "$larger" = "$SET" ] && break
done

missing_packages() {
    for package in $DEBIAN_PACKAGES; do
        [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" = installed ] || printf '%s ' "$package"
    done
}

wants_debian_packages() {
    [ -n "${CI:-}" ] || [ "${YES:-}" = 1 ] && return 0
    [ -t 0 ] && [ -t 2 ] || return 1
    read -r -p "setup: install these Debian packages with apt-get? $1[y/N] " answer
    [[ $answer == [yY]* ]]
}

install_debian_packages() {
    local missing sudo='' packages=.venv-apt.log
    missing=$(missing_packages)
    [ -n "$missing" ] || return 0
    [ "$(id -u)" = 0 ] || sudo=sudo
    if ! wants_debian_packages "$missing"; then
        say "not installed: $missing(the window and some renderers need them)"
        say "to install them: ${sudo:+sudo }apt-get install $missing"
        return 0
    fi
    say "installing Debian packages: $missing"
    # The package list may be old or absent: update it once if the first try fails.
    $sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq $missing >"$packages" 2>&1 ||
        { $sudo apt-get update -qq && $sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq $missing; } >>"$packages" 2>&1 ||
        say "apt-get failed ($(tail -n 1 "$packages")); the window and some renderers may not work without: $missing"
    rm -f "$packages"
}

# What pip said, in words that name the cause.
cause_of_failure() {
    local text
    text=$(grep -v '^WARNING: Location' "$LOG" | tail -n 60)
    case $text in
    *'No space left'* | *'Errno 28'*) echo "the disk is full: $(df -h . | awk 'NR==2 {print $4 " free on " $6}')" ;;
    *'Read-only file system'* | *'Errno 30'*) echo "this folder lies on a read-only file system" ;;
    *'Permission denied'* | *'Errno 13'*) echo "permission denied: $(grep -m1 'ermission denied' "$LOG")" ;;
    *CERTIFICATE_VERIFY_FAILED* | *SSLError* | *SSL:*) echo "TLS to the package index failed: a proxy or an old certificate store; see PIP_CERT" ;;
    *ProxyError* | *'Cannot connect to proxy'*) echo "the proxy does not answer; see HTTPS_PROXY" ;;
    *NewConnectionError* | *'name resolution'* | *'Name or service not known'* | *'Network is unreachable'* | *ConnectTimeout* | *ReadTimeout*)
        echo "the package index cannot be reached; try again with a network" ;;
    *) echo "pip failed: $(grep -E '^ERROR' "$LOG" | head -n 3)" ;;
    esac
}

show_progress() {
    [ -t 2 ] || return 0
    while sleep 2; do printf '\r\033[Ksetup: %s, %s s, %s' "$1" "$SECONDS" "$(du -sh .venv 2>/dev/null | cut -f1)" >&2; done
}

pip_install() {
    local what=$1 progress code=0
    shift
    show_progress "$what" & progress=$!
    .venv/bin/python -m pip --disable-pip-version-check install -q -c constraints.txt "$@" >>"$LOG" 2>&1 || code=$?
    # Without a terminal it has ended already.
    kill $progress 2>/dev/null || true
    wait $progress 2>/dev/null || true
    [ -t 2 ] && printf '\r\033[K' >&2
    [ $code = 0 ] || die "$(cause_of_failure)
       (the whole output is in $LOG; the next make goes on from here)"
    say "$what: $(du -sh .venv | cut -f1) after $SECONDS s"
}

if command -v dpkg-query >/dev/null && [ -n "$DEBIAN_PACKAGES" ]; then
    install_debian_packages
fi
if [ ! -x .venv/bin/python ]; then
    said=$("$PYTHON" -m venv .venv 2>&1) || {
        "$PYTHON" -c 'import ensurepip' 2>/dev/null || die "Python's venv module is missing; on Debian: apt-get install python3-venv"
        die "'$PYTHON -m venv .venv' failed: $(tail -n 2 <<<"$said")"
    }
fi
install_trackio() {
    # Trackio asks for pillow < 13, which nothing that we hand to it needs: what else it asks for, then itself alone.
    pip_install "what Trackio needs" $TRACKIO
    pip_install "Trackio" --no-deps trackio
}

: >"$LOG"
if [ "$SET" = extras ]; then
    for name in "${NAMES[@]}"; do
        if [ "$name" = trackio ]; then install_trackio; else pip_install "the extra $name" -e ".[$name]"; fi
    done
    exit 0
fi
say "installing the pinned packages ($SET) into .venv"
# torch first and exactly: a looser request may take several gigabytes of CUDA.
pip_install "torch" "$(grep '^torch==' constraints.txt)"
pip_install "the other packages" -e ".$EXTRAS"
if [ "$SET" = all ]; then install_trackio; fi
rm -f .venv/.setup-*
touch ".venv/.setup-$SET-$fingerprint"
