#!/usr/bin/env bash
# Installs Debian's own Godot 4 engine into a private folder, together with the libraries
# it was built for: nothing on the host changes, and no root is needed. For Debian and its
# derivatives on amd64; the host may be older than the engine.
set -euo pipefail

usage() {
    cat <<'TEXT'
usage: install_engine.sh [--prefix DIR] [--with-gl] [--with-template] [--force] [--help]

  --prefix DIR      where to (default: ${XDG_CACHE_HOME:-~/.cache}/ambulo/godot-4)
  --with-gl         also software OpenGL and a virtual screen: DIR/bin/godot-xvfb
  --with-template   also the release runtime for exported games: DIR/bin/godot-release
  --force           install again even if it is there

Environment: AMBULO_DEBIAN_MIRROR (default: the host's own), AMBULO_DEBIAN_SUITES
(default: "forky sid"). The last line of output is the path of the engine.
TEXT
}

say() { printf 'install_engine: %s\n' "$*" >&2; }
die() {
    say "$*"
    exit 1
}

prefix=${XDG_CACHE_HOME:-${HOME:?}/.cache}/ambulo/godot-4
with_gl=0
with_template=0
force=0
while [ $# -gt 0 ]; do
    case $1 in
        --prefix) [ $# -gt 1 ] || die "--prefix needs a folder" && prefix=$2 && shift ;;
        --prefix=*) prefix=${1#*=} ;;
        --with-gl) with_gl=1 ;;
        --with-template) with_template=1 ;;
        --force) force=1 ;;
        -h | --help) usage && exit 0 ;;
        *) usage >&2 && die "unknown option $1" ;;
    esac
    shift
done

complete() {
    [ -x "$prefix/bin/godot" ] || return 1
    [ $with_gl = 0 ] || [ -x "$prefix/bin/godot-xvfb" ] || return 1
    [ $with_template = 0 ] || [ -x "$prefix/bin/godot-release" ] || return 1
    "$prefix/bin/godot" --headless --version >/dev/null 2>&1
}
if [ $force = 0 ] && complete; then
    say "already installed: $(cat "$prefix/VERSION" 2>/dev/null)"
    echo "$prefix/bin/godot"
    exit 0
fi
# What an earlier call installed stays installed.
if [ -x "$prefix/bin/godot-xvfb" ]; then with_gl=1; fi
if [ -x "$prefix/bin/godot-release" ]; then with_template=1; fi

for tool in apt-get dpkg-deb dpkg; do
    command -v $tool >/dev/null ||
        die "no $tool here: this works on Debian only; install Godot >= 4.5 and set GODOT_BIN"
done
[ "$(dpkg --print-architecture)" = amd64 ] ||
    die "the host is $(dpkg --print-architecture), not amd64: install Godot >= 4.5 and set GODOT_BIN"
keyring=/usr/share/keyrings/debian-archive-keyring.gpg
[ -r $keyring ] || die "$keyring is missing (package debian-archive-keyring)"

# The first address of Debian's archive that the host itself uses.
host_mirror() {
    local file
    for file in /etc/apt/sources.list.d/*.sources; do
        [ -r "$file" ] && sed -n 's/^URIs:[[:space:]]*\([^[:space:]]*\).*/\1/p' "$file"
    done
    for file in /etc/apt/sources.list /etc/apt/sources.list.d/*.list; do
        [ -r "$file" ] && sed -n '/^deb /s/^[^:]*[[:space:]]\([a-z+]*:[^[:space:]]*\).*/\1/p' "$file"
    done
    return 0
}
mirror=${AMBULO_DEBIAN_MIRROR:-$(host_mirror | grep -v security | head -n 1)}
mirror=${mirror:-http://deb.debian.org/debian}

packages=(godot)
# Drawing packages that a headless engine never loads.
unused='^(libllvm|mesa-|libz3|libgl1-mesa|libglx|libegl|x11-common|xkb-data|fonts-|fontconfig|libdrm-)'
keep='^libdrm-common$|^libdrm2$'
never='^(debconf|pci\.ids|libc-gconv)'
if [ $with_gl = 1 ]; then
    packages+=(libgl1 libglx-mesa0 libgl1-mesa-dri libegl1 libegl-mesa0 libxkbcommon-x11-0)
    packages+=(xvfb x11-xkb-utils dash fonts-dejavu-core)
    unused='^$'
fi
if [ $with_template = 1 ]; then packages+=(godot-template-release); fi

mkdir -p "$prefix" 2>/dev/null || die "cannot write to $prefix"
prefix=$(cd "$prefix" && pwd)
work=$(mktemp -d "$prefix/.install.XXXXXX")
trap 'rm -rf "$work"; rmdir "$prefix" 2>/dev/null || true' EXIT

# Reads the package lists of one suite and downloads what it takes into $work/debs.
fetch() {
    rm -rf "$work"/apt "$work"/debs
    mkdir -p "$work"/apt/{lists/partial,archives/partial,empty} "$work"/debs
    : >"$work/apt/status"
    echo "deb [arch=amd64 signed-by=$keyring] $mirror $1 main" >"$work/apt/sources.list"
    cat >"$work/apt/apt.conf" <<CONF
Dir::Etc::SourceList "$work/apt/sources.list";
Dir::Etc::SourceParts "$work/apt/empty";
Dir::Etc::PreferencesParts "$work/apt/empty";
Dir::Etc::Preferences "/dev/null";
Dir::State::Lists "$work/apt/lists";
Dir::State::status "$work/apt/status";
Dir::Cache::archives "$work/apt/archives";
Dir::Cache::pkgcache "";
Dir::Cache::srcpkgcache "";
APT::Architecture "amd64";
APT::Architectures "amd64";
APT::Install-Recommends "false";
APT::Sandbox::User "$(id -un)";
Acquire::Languages "none";
Acquire::Retries "3";
Debug::NoLocking "true";
CONF
    local apt=(env "APT_CONFIG=$work/apt/apt.conf" apt-get)
    say "reading the package list of $1"
    "${apt[@]}" -qq -o APT::Update::Error-Mode=any update 2>"$work/error" || return 1
    "${apt[@]}" -s install "${packages[@]}" 2>"$work/error" >"$work/plan" || return 1
    sed -n 's/^Inst \([^ ]*\).*/\1/p' "$work/plan" | grep -Ev "$never" |
        { grep -Ev "$unused" || true; } >"$work/wanted"
    sed -n 's/^Inst \([^ ]*\).*/\1/p' "$work/plan" | { grep -E "$keep" || true; } >>"$work/wanted"
    sort -u -o "$work/wanted" "$work/wanted"
    say "downloading $(wc -l <"$work/wanted") packages"
    (cd "$work/debs" && xargs "${apt[@]}" -qq download <"$work/wanted" 2>"$work/error")
}

suite=
for candidate in ${AMBULO_DEBIAN_SUITES:-forky sid}; do
    if fetch "$candidate"; then
        suite=$candidate
        break
    fi
    say "$candidate: $(tr '\n' ' ' <"$work/error" | tail -c 200)"
done
[ -n "$suite" ] || die "no suite gave the engine from $mirror: is the network there?"

# The new tree is made beside the old one and takes its place whole.
root=$work/root
mkdir -p "$root"/{tmp,dev,proc} "$work/bin"
for deb in "$work"/debs/*.deb; do
    dpkg-deb --extract "$deb" "$root" || die "cannot unpack $(basename "$deb")"
done
for link in bin lib lib64; do
    [ -e "$root/$link" ] || ln -s "usr/$link" "$root/$link"
done
rm -rf "$root"/usr/share/{bug,doc,lintian,locale,man}
chmod 1777 "$root/tmp"

cat >"$work/bin/paths.sh" <<'SH'
# Where things are, for the starters beside this file.
here=$(dirname -- "$(readlink -f -- "$0")")
root=$(readlink -f -- "$here/../root")
libraries=$root/usr/lib/x86_64-linux-gnu
loader=$root/usr/lib64/ld-linux-x86-64.so.2
search=$libraries:$libraries/pulseaudio
export LIBGL_DRIVERS_PATH="$libraries/dri" GBM_BACKENDS_PATH="$libraries/gbm"
export __EGL_VENDOR_LIBRARY_DIRS="$root/usr/share/glvnd/egl_vendor.d"
export XKB_CONFIG_ROOT="$root/usr/share/X11/xkb" XLOCALEDIR="$root/usr/share/X11/locale"
SH
cat >"$work/bin/godot" <<'SH'
#!/bin/sh
# The engine, started by the loader of its own libraries.
. "$(dirname -- "$(readlink -f -- "$0")")/paths.sh"
exec "$loader" --argv0 godot --library-path "$search" "$root/usr/bin/godot" "$@"
SH
if [ $with_template = 1 ]; then
    cat >"$work/bin/godot-release" <<'SH'
#!/bin/sh
# godot-release GAME.pck [ARGUMENTS]: runs an exported game. The runtime takes the .pck that
# is named like its own executable, which is the loader here: so the loader is copied.
. "$(dirname -- "$(readlink -f -- "$0")")/paths.sh"
game=$(readlink -f -- "${1:?GAME.pck}") && shift
starter=${game%.pck}
if ! cmp -s "$loader" "$starter"; then
    cp -L -- "$loader" "$starter.$$" && mv -- "$starter.$$" "$starter"
fi
exec "$starter" --library-path "$search" "$root/usr/bin/godot-template-release" "$@"
SH
fi
if [ $with_gl = 1 ]; then
    cat >"$work/bin/godot-xvfb" <<'SH'
#!/bin/sh
# The engine drawing in software on a virtual screen of its own (SCREEN=1280x720x24), which ends
# with the engine, also where this starter is killed.
# The screen's server looks for /usr/bin/xkbcomp, so it runs inside the private root.
. "$(dirname -- "$(readlink -f -- "$0")")/paths.sh"
if [ "$(id -u)" = 0 ]; then jail=chroot; else jail="unshare -r chroot"; fi
number=$((100 + $$ % 50000))
socket=$root/tmp/.X11-unix/X$number
$jail "$root" /usr/bin/Xvfb ":$number" -screen 0 "${SCREEN:-1280x720x24}" -nolisten tcp -ac -terminate \
    >/dev/null 2>&1 &
screen=$!
engine=
trap 'kill $engine $screen 2>/dev/null; wait 2>/dev/null' EXIT
trap 'exit 143' INT TERM
tries=0
while [ ! -S "$socket" ]; do
    tries=$((tries + 1))
    if [ $tries -gt 100 ] || ! kill -0 $screen 2>/dev/null; then
        echo "godot-xvfb: the virtual screen did not start" >&2
        exit 1
    fi
    sleep 0.1
done
DISPLAY="unix:$socket" "$here/godot" --rendering-driver opengl3 --audio-driver Dummy "$@" &
engine=$!
wait $engine
SH
fi
chmod +x "$work"/bin/godot*
"$work/bin/godot" --headless --version >"$work/version" 2>"$work/error" ||
    die "the engine does not start: $(tail -n 1 "$work/error")"
(cd "$work/debs" && sha256sum ./*.deb) >"$work/SHA256SUMS"
echo "Godot $(tail -n 1 "$work/version"), Debian $suite" >"$work/VERSION"

for part in root bin SHA256SUMS VERSION; do
    rm -rf "${prefix:?}/$part"
    mv "$work/$part" "$prefix/$part"
done
say "installed: $(cat "$prefix/VERSION")"
echo "$prefix/bin/godot"
