#!/bin/sh
# Make or update .venv: find a Python, install the lock, write the commands that need no sourcing.
#
#   PYTHON=/path/to/python3.11 scripts/venv.sh    to choose the Python yourself
#
# Without a GPU, torch's builds for CPU spare some 3 GB of CUDA libraries (the lock takes either):
#
#   PIP_EXTRA_INDEX_URL=https://download.pytorch.org/whl/cpu make build
#
# Beside a sourced ROS 2 Jazzy installation .venv sees that installation's packages and takes
# requirements/jazzy.txt; otherwise it is complete in itself, ROS 2 included: wheels.txt.
set -eu
root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
cd "$root"
venv=$root/.venv

stop() {
  printf 'sightplan: %s\n' "$@" >&2
  exit 1
}

# The prefix of a sourced ROS 2 Jazzy installation (not of a workspace on top), or nothing.
ros_installation() {
  [ "${ROS_DISTRO:-}" = jazzy ] || return 0
  old_ifs=$IFS
  IFS=:
  for prefix in ${AMENT_PREFIX_PATH:-}; do
    if [ -f "$prefix/setup.sh" ] && [ -f "$prefix/share/rclpy/package.xml" ]; then
      echo "$prefix"
      break
    fi
  done
  IFS=$old_ifs
}

# What a Python lacks for this workspace, in words; nothing when it will do.
lacking() {
  "$1" - <<'PYTHON' 2>/dev/null || echo 'does not run'
import os, sys, sysconfig
version = f'{sys.version_info[0]}.{sys.version_info[1]}'
missing = []
if sys.version_info[:2] not in ((3, 11), (3, 12)):
    missing.append(f'is Python {version}; 3.11 or 3.12 is needed')
else:
    try:
        import ensurepip, venv
    except ImportError:
        missing.append(f'has no venv module: apt install python{version}-venv')
    if not os.path.exists(os.path.join(sysconfig.get_paths()['include'], 'Python.h')):
        missing.append(f'has no C headers: apt install python{version}-dev')
print('; '.join(missing))
PYTHON
}

# Sets $python.
choose_python() {
  problems=
  for candidate in ${PYTHON:-$1}; do
    found=$(command -v "$candidate") || continue
    problem=$(lacking "$found")
    if [ -z "$problem" ]; then
      python=$found
      return
    fi
    problems="$problems
  $found $problem"
  done
  stop "no usable Python among: ${PYTHON:-$1}${problems:-
  (none is installed: apt install python3 python3-venv python3-dev)}"
}

command -v g++ > /dev/null || stop 'there is no C++ compiler: apt install g++'

ros=$(ros_installation)
if "$venv/bin/python" -m pip --version > /dev/null 2>&1; then
  if [ -n "$ros" ] && [ ! -f "$venv/ros-prefix" ]; then
    stop "ROS 2 is sourced from $ros, but .venv was made with ROS 2 of its own." \
      "Run 'make distclean' first, or go on in a shell without ROS 2."
  fi
  # Neither the environment nor the build can be moved.
  if [ -f "$venv/bin/activate-ros" ] && ! grep -qF "SIGHTPLAN_ROOT='$root'" "$venv/bin/activate-ros"; then
    stop ".venv was made for another folder; run 'make distclean' first"
  fi
  [ ! -f "$venv/ros-prefix" ] || read -r ros < "$venv/ros-prefix"
  problem=$(lacking "$venv/bin/python")
  [ -z "$problem" ] || stop "$venv/bin/python $problem"
elif [ -n "$ros" ]; then
  choose_python /usr/bin/python3
  command -v colcon > /dev/null || stop 'colcon is missing: apt install python3-colcon-common-extensions'
  "$python" -m venv --system-site-packages "$venv"
  echo "$ros" > "$venv/ros-prefix"
else
  [ "$(uname -sm)" = 'Linux x86_64' ] || stop \
    "the ROS 2 wheels exist for Linux on x86-64 only; on $(uname -sm) install ROS 2 Jazzy and source it"
  choose_python 'python3.11 python3.12 python3'
  "$python" -m venv "$venv"
fi

# Another Python's home or packages are not those of .venv.
unset PYTHONPATH PYTHONHOME
if [ -n "$ros" ]; then lock=jazzy.txt; else lock=wheels.txt; fi

echo "sightplan: installing requirements/$lock into .venv ($("$venv/bin/python" --version))"
scripts/pip_install.sh "$lock" pip setuptools numpy
pybullet_with_numpy() {
  "$venv/bin/python" -c 'import sys, pybullet; sys.exit(not pybullet.isNumpyEnabled())' 2> /dev/null
}
if "$venv/bin/python" -c 'import sys; sys.exit(sys.version_info < (3, 12))' \
  && ! pybullet_with_numpy; then
  # There is no wheel. Only when NumPy is there first, and seen by the build, does PyBullet get its
  # NumPy support, without which reading an image takes eight times as long.
  echo 'sightplan: building PyBullet from source; this takes some minutes, once'
  scripts/pip_install.sh "$lock" pybullet -- --no-build-isolation --no-cache-dir --force-reinstall --no-deps
fi
scripts/pip_install.sh "$lock"
pybullet_with_numpy || stop "PyBullet in .venv has no NumPy support; run 'make distclean' and try again"

cat > "$venv/bin/activate-ros" <<END
# Sourced: the environment of the workspace at $root. Written by scripts/venv.sh.
SIGHTPLAN_ROOT='$root'
. "\$SIGHTPLAN_ROOT/scripts/env.sh"
END
cat > "$venv/bin/sightplan" <<END
#!/bin/sh
# The sightplan command; needs nothing sourced. Written by scripts/venv.sh.
SIGHTPLAN_ROOT='$root'
. "\$SIGHTPLAN_ROOT/scripts/env.sh" || exit 2
exec "\$SIGHTPLAN_ROOT/.venv/bin/python" -P -m sightplan "\$@"
END
chmod +x "$venv/bin/sightplan"
