#!/bin/sh
# Build the wheel, install it into a clean environment without the dev extras, and use it.
# Usage: sh tests/wheel_smoke.sh [PYTHON]
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
"${1:-python3}" -m venv "$place/venv"
"$place/venv/bin/pip" wheel --quiet --no-deps --wheel-dir "$place" "$root"
"$place/venv/bin/pip" install --quiet --constraint "$root/constraints.txt" "$place"/*.whl
cd "$place"
PATH="$place/venv/bin:$PATH"
printf 'heart attack\nbanana bread\n' > names.txt
mirror-index build names.txt -o names
mirror-index search names "cardiac infarction" -k 1 --json | grep -q '"text": "heart attack"'
mirror-index verify names
mirror-index list --json | grep -q '"name": "names"'
python -c 'import importlib.metadata as m; assert all("/cli.py" != "/" + str(f) for f in m.files("mirror-index"))'
echo "wheel smoke test passed"
