#!/bin/sh
# Install into .venv what a lock in requirements/ says: all of it, or the packages that are named.
#
#   scripts/pip_install.sh LOCK [NAME ...] [-- OPTIONS OF PIP INSTALL]
#
# pip installs only files whose SHA-256 is in requirements/hashes.txt. Torch and the libraries of its CUDA
# build have none: of them it takes what the index has. What came is compiled on all CPUs, for pip
# does it on one.
set -eu
cd "$(dirname -- "$0")/.."
venv=$PWD/.venv
lock=requirements/$1
shift
names=
while [ $# -gt 0 ] && [ "$1" != -- ]; do
  names="$names $1 "
  shift
done
[ $# -eq 0 ] || shift
# In a shell with the workspace's environment, pip would take the built packages for installed ones.
unset PYTHONPATH PYTHONHOME PYTHONDONTWRITEBYTECODE

hashed=$(mktemp)
trap 'rm -f "$hashed"' EXIT
awk -v names="$names" '
  NR == FNR { release = $1; $1 = ""; hashes[release] = $0; next }
  /^[a-z0-9]/ && $1 in hashes {
    name = $1
    sub(/==.*/, "", name)
    if (names == "" || index(names, " " name " ")) print $0 hashes[$1]
    next
  }
  /^[a-z0-9]/ && !/^torch==/ {
    print "sightplan: " FILENAME ": " $1 " has no hash; run scripts/lock.py --hashes" > "/dev/stderr"
    exit 1
  }' requirements/hashes.txt "$lock" > "$hashed"

install() {
  "$venv/bin/python" -m pip --disable-pip-version-check install --quiet --no-compile "$@"
}
# The lock names all that they depend on; torch, which has no hash, comes with the second call.
install --require-hashes --no-deps -r "$hashed" "$@"
[ -n "$names" ] || install -r "$lock" "$@"
# Some packages bring files for other versions of Python: as with pip, nothing is said of them.
"$venv/bin/python" -m compileall -qq -j 0 "$venv"/lib/python3*/site-packages || true
