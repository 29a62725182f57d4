#!/usr/bin/env bash
# Measures Rigel and what one would use instead, on the same problems:
#
#   bash bench/peers/run.sh [--quick] [OUTDIR]
#
# Needs Go, Python 3.10 or later with venv, and the network the first time. What
# it installs goes to $PEERS_CACHE (default: a folder in the user's cache).
set -euo pipefail

quick=()
out=
for arg in "$@"; do
	case $arg in
	--quick) quick=(--quick) ;;
	-*)
		sed -n '2,7s/^# \{0,1\}//p' "$0"
		exit 2
		;;
	*) out=$arg ;;
	esac
done

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
out=${out:-$root/bench/results/peers-$(date -u +%Y-%m-%d)}
cache=${PEERS_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/rigel-peers}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$cache" "$work/bin" "$work/missing"

# Python: a virtual environment, first in PATH.
[ -x "$cache/venv/bin/python" ] || python3 -m venv "$cache/venv"
export PATH=$cache/venv/bin:$PATH PYTHONDONTWRITEBYTECODE=1

# install PROGRAM PACKAGE...: what cannot be had is noted with pip's last word.
install() {
	local program=$1
	shift
	echo "installing $*"
	if ! python -m pip install -q --disable-pip-version-check "$@" >"$work/pip.log" 2>&1; then
		echo "pip install $*: $(grep -i error "$work/pip.log" | tail -n 1)" >"$work/missing/$program"
	fi
}
install plot matplotlib
install torch torch
install scipy numpy scipy
# SparseProp's setup.py wants pybind11 in the python3 that it finds.
install sparseprop pybind11 setuptools wheel
install sparseprop --no-build-isolation sparseprop

# Go: rigel has to build; a peer that does not is noted.
cd "$root"
go build -o "$work/bin/" ./cmd/rigel
build() {
	local program=$1 folder=$2
	if ! (cd "$folder" && go build -o "$work/bin/$program" .) >"$work/go.log" 2>&1; then
		echo "go build: $(tail -n 1 "$work/go.log")" >"$work/missing/$program"
	fi
}
build gorgonia "$here/gorgonia"
build gomlx "$here/gomlx"

version=$(git -C "$root" describe --always --dirty=+changes 2>/dev/null || echo unknown)
mkdir -p "$out"
python "$here/compare.py" --binaries "$work/bin" --missing "$work/missing" --rigel-version "$version" \
	--command "bash bench/peers/run.sh${quick[*]:+ ${quick[*]}}" "${quick[@]}" "$out"
echo "results: $out"
