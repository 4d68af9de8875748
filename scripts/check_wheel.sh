#!/bin/sh
# Build the wheel, install it into an environment of its own, and use it from a folder that knows nothing of this tree.
set -eu
cd "$(dirname "$0")/.."

venv=${VENV:-.venv}
out=build/wheel
other=$(mktemp -d)
trap 'rm -rf "$other"' EXIT
export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_USER=0

rm -rf "$out"
"$venv/bin/python" -m pip wheel -qq --no-deps --no-build-isolation --wheel-dir "$out" .
"$venv/bin/python" -m venv "$other/venv"
"$other/venv/bin/python" -m pip install -qq --retries 2 --constraint constraints.txt "$out"/headwater-*.whl
cp scripts/check_wheel.py "$other/"
cd "$other"
"$other/venv/bin/python" -I check_wheel.py
