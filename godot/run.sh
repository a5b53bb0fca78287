#!/bin/sh
# Runs this project: run.sh [engine arguments]. The engine is $GODOT_BIN, else the one of
# install_engine.sh, else godot4 or godot on the PATH.
set -eu
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
installed=${XDG_CACHE_HOME:-$HOME/.cache}/ambulo/godot-4/bin/godot
engine=
for candidate in "${GODOT_BIN:-}" "$installed" godot4 godot; do
	if [ -n "$candidate" ] && command -v "$candidate" >/dev/null 2>&1; then
		engine=$candidate
		break
	fi
done
if [ -z "$engine" ]; then
	echo "run.sh: no Godot engine found: run godot/install_engine.sh, or set GODOT_BIN" >&2
	exit 2
fi
# A fresh checkout knows no class names until it was imported once.
if [ ! -f "$here/.godot/ambulo_import.stamp" ] ||
	[ -n "$(find "$here" -path "$here/.godot" -prune -o -name '*.gd' -newer "$here/.godot/ambulo_import.stamp" -print -quit)" ]; then
	"$engine" --headless --path "$here" --import >/dev/null 2>&1 || {
		echo "run.sh: the project cannot be imported; see: $engine --headless --path $here --import" >&2
		exit 2
	}
	touch "$here/.godot/ambulo_import.stamp"
fi
exec "$engine" --path "$here" "$@"
