#!/bin/sh
# Build the workspace with colcon into build/ and install/. Arguments go to "colcon build".
set -eu
SIGHTPLAN_ROOT=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
cd "$SIGHTPLAN_ROOT"
unset MAKEFLAGS MFLAGS  # those of a "make -j" that called this: colcon would take them for its own

# Interfaces and files that are no longer there leave dangling links in an old install/.
[ ! -d install ] || find install -xtype l -delete

# Run by .venv's Python, colcon makes executables that find the libraries of .venv.
python=$SIGHTPLAN_ROOT/.venv/bin/python

if [ -f .venv/ros-prefix ]; then
  # A real ROS 2 installation: its own colcon and CMake packages, nothing special.
  read -r ros < .venv/ros-prefix
  if [ "${ROS_DISTRO:-}" != jazzy ]; then
    set +u
    # shellcheck source=/dev/null
    . "$ros/setup.sh"
    set -u
  fi
  exec "$python" "$(command -v colcon)" build --base-paths src --symlink-install "$@"
fi

SIGHTPLAN_UNDERLAY_ONLY=1
# shellcheck source=scripts/env.sh
. scripts/env.sh
# What the Python index lacks of ROS 2's messages is built, too.
exec "$python" .venv/bin/colcon build --base-paths src scripts/ros_messages --symlink-install --cmake-args \
  "-DCMAKE_PROJECT_INCLUDE=$SIGHTPLAN_ROOT/scripts/pip_ros_fix.cmake" \
  "-DPython3_EXECUTABLE=$python" "$@"
