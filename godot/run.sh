#!/bin/sh
# Runs this project: run.sh [engine arguments]. The engine is $GODOT_BIN, else the one of
# install_engine.sh, else godot4 or godot on the PATH.
set -eu
fail() {
	echo "run.sh: $1" >&2
	exit 2
}
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
installed=${XDG_CACHE_HOME:-$HOME/.cache}/ambulo/godot-4/bin/godot
engine=
if [ -n "${GODOT_BIN:-}" ]; then
	engine=$(command -v "$GODOT_BIN") || engine=
	{ [ -x "$engine" ] && [ ! -d "$engine" ]; } ||
		fail "GODOT_BIN = '$GODOT_BIN': no such program"
else
	for candidate in "$installed" godot4 godot; do
		if command -v "$candidate" >/dev/null 2>&1; then
			engine=$candidate
			break
		fi
	done
fi
[ -n "$engine" ] ||
	fail "no Godot engine found: run godot/install_engine.sh, or set GODOT_BIN"

# A fresh checkout knows no class names until it was imported once. Stamp, lock and the
# endings of the files that count are those of envs/godot/locate.py.
state=$here/.godot
cache=$state/global_script_class_cache.cfg
stamp=$state/ambulo_import.stamp
imported() {
	[ -f "$cache" ] && [ -f "$stamp" ] &&
		[ -z "$(find "$here" -mindepth 1 -type d -name '.*' -prune -o -type f \
			\( -name '*.gd' -o -name '*.tscn' -o -name '*.tres' -o -name '*.cfg' \
			-o -name '*.godot' -o -name '*.svg' \) \
			\( -newer "$stamp" -o -cnewer "$stamp" \) -print -quit)" ]
}
if ! imported; then
	if ! { mkdir -p "$state" && : >>"$state/ambulo_import.lock"; } 2>/dev/null; then
		[ -f "$cache" ] ||
			fail "$here cannot be written: copy the project to a writable folder"
	else
		exec 9>>"$state/ambulo_import.lock"
		if command -v flock >/dev/null 2>&1; then
			flock 9
		fi
		if ! imported; then # or another process was faster
			"$engine" --headless --path "$here" --import </dev/null >/dev/null 2>&1 &&
				[ -f "$cache" ] ||
				fail "the project cannot be imported; see: $engine --headless --path $here --import"
			touch "$stamp"
		fi
		exec 9>&-
	fi
fi
exec "$engine" --path "$here" "$@"
