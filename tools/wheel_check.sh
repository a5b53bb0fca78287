#!/usr/bin/env bash
# Prove that the wheel works alone: build it, install it in an empty environment and
# train with it outside the checkout.
#   tools/wheel_check.sh [PYTHON]    PYTHON has the lock installed; default .venv/bin/python
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
python=${1:-.venv/bin/python}
command -v "$python" >/dev/null || {
    echo "wheel check: no $python; run 'make setup' first" >&2
    exit 1
}
python=$("$python" -c 'import sys; print(sys.executable)')

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
step() { printf '\n== wheel check: %s\n' "$*"; }

step "build the source archive, and the wheel from it"
"$python" -m build --no-isolation --outdir "$work/dist" "$root" >"$work/build.log" 2>&1 || {
    tail -n 40 "$work/build.log" >&2
    exit 1
}
wheel=$(echo "$work"/dist/*.whl)
echo "$(basename "$wheel"), $(wc -c <"$wheel") bytes"
most=15000000
[ "$(wc -c <"$wheel")" -le "$most" ] || { echo "wheel check: larger than $most bytes" >&2; exit 1; }

step "compare its contents with the checkout"
"$python" - "$wheel" <<'PYTHON'
import sys
import tomllib
import zipfile
from pathlib import Path

names = set(zipfile.ZipFile(sys.argv[1]).namelist())
project = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))
expected = set()
elsewhere = tomllib.loads(Path("models/pyproject.toml").read_text(encoding="utf-8"))
(patterns,) = elsewhere["tool"]["setuptools"]["package-data"].values()
apart = {pattern.partition("/")[0] for pattern in patterns}
for package, folder in project["tool"]["setuptools"]["package-dir"].items():
    for file in Path(folder).rglob("*"):
        inside = file.relative_to(folder)
        if not file.is_file() or "__pycache__" in file.parts:
            continue
        if file.suffix in (".md", ".toml") and len(inside.parts) == 1:
            continue  # a note to developers, or to build tools
        if package == "ambulo.shipped" and inside.parts[0] in apart:
            continue  # of the distribution ambulo-models
        expected.add(f"{package.replace('.', '/')}/{inside.as_posix()}")
missing = sorted(expected - names)
foreign = sorted(
    name
    for name in names - expected
    if not name.startswith(f"ambulo-{project['project']['version']}.dist-info/")
)
for text, found in (("not in the wheel", missing), ("should not be there", foreign)):
    for name in found:
        print(f"{text}: {name}", file=sys.stderr)
if missing or foreign:
    sys.exit(1)
print(f"{len(expected)} files, all there, nothing else")
PYTHON

pip_of() { echo "$python" -m pip --disable-pip-version-check --python "$1/bin/python"; }
mkdir "$work/elsewhere"

# With each Python of $1: no torch, every environment, and what a command says then.
bare_check() {
    local venv="$work/bare-$1"
    "$1" -m venv --without-pip "$venv"
    local pip=($(pip_of "$venv"))
    "${pip[@]}" install --quiet --constraint requirements.lock "$wheel"
    "${pip[@]}" check
    (
        unset PYTHONPATH
        cd "$work/elsewhere"
        "$venv/bin/python" - <<'PYTHON'
import gymnasium

import ambulo

ambulo.register()
for name in [name for name in gymnasium.registry if name.startswith("ambulo/")]:
    env = ambulo.make_vec(name, 2)
    env.reset(seed=0)
    env.step(env.action_space.sample())
    print(name)
try:
    ambulo.load("vr_navigation")
except ImportError as error:
    print(error)
else:
    raise SystemExit("wheel check: torch is installed, but should not be")
PYTHON
        "$venv/bin/ambulo" eval vr_navigation && exit 1
        [ $? -eq 2 ] || exit 1
    ) 2>"$work/bare.log" || { cat "$work/bare.log" >&2; exit 1; }
    tail -n 1 "$work/bare.log"
}

for other in python3.11 python3.12 python3.13; do
    if "$other" -c "" 2>/dev/null; then
        step "$other: install it alone, and make every environment (versions from requirements.lock)"
        bare_check "$other"
    else
        step "$other: not here, not tried"
    fi
done

step "install it with the extra train, and the package of larger models"
cp -r models "$work/models"  # setuptools leaves its own files beside the source
"$python" -m build --no-isolation --wheel --outdir "$work/dist" "$work/models" >"$work/build.log" 2>&1 || {
    tail -n 40 "$work/build.log" >&2
    exit 1
}
venv="$work/bare-python3.11"  # its kernels are compiled
[ -d "$venv" ] || { venv="$work/venv"; "$python" -m venv --without-pip "$venv"; }
pip=($(pip_of "$venv"))
"${pip[@]}" install --quiet "$(grep -m 1 '^torch==' requirements.lock)"
"${pip[@]}" install --quiet --constraint requirements.lock "$wheel[train]" "$work"/dist/ambulo_models*.whl
"${pip[@]}" check
"$venv/bin/python" -c "import ambulo; print(len(ambulo.models()), 'models')"

step "train outside the checkout"
cd "$work/elsewhere"
unset PYTHONPATH
"$venv/bin/ambulo" --version
"$venv/bin/python" -m ambulo.train.train_vr_navigation \
    --preset quick_test --timesteps 512 --output "$work/run" --no-progress
model=$(find "$work/run" -name final_model.zip -print -quit)
if [ -z "$model" ]; then
    echo "wheel check: the run folder has no model:" >&2
    find "$work/run" >&2
    exit 1
fi
printf '\n== wheel check: passed (%s)\n' "${model#"$work"/}"
