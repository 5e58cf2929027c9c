#!/bin/sh
# Install into .venv with pip, and compile what came on all CPUs, for pip does it on one. Arguments
# go to "pip install".
set -eu
venv=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)/.venv
# In a shell with the workspace's environment, pip would take the built packages for installed ones.
unset PYTHONPATH PYTHONHOME PYTHONDONTWRITEBYTECODE

"$venv/bin/python" -m pip --disable-pip-version-check install --quiet --no-compile "$@"
# Some packages bring files for other versions of Python: as with pip, nothing is said of them.
"$venv/bin/python" -m compileall -qq -j 0 "$venv"/lib/python3*/site-packages || true
