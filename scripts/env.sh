# The one place that defines the workspace's environment, for any shell:
#
#     . scripts/env.sh          (bash, zsh; other shells from the repository's root)
#     . .venv/bin/activate-ros  (any shell, from anywhere)
#
# It puts .venv, ROS 2 (the wheels in .venv, or the installation that .venv was made for) and the
# built packages on the paths. Values you have set yourself are kept. Sourcing it twice is harmless.
#
# ROS 2 traffic stays on this machine: unless you set ROS_AUTOMATIC_DISCOVERY_RANGE or a Fast DDS
# profile of your own, config/fastdds_loopback.xml is used, which also gives images enough shared
# memory. NumPy's products take one thread unless you set OPENBLAS_NUM_THREADS: they are small, and
# one that waited for a second thread on a busy CPU took ten times as long.
# SIGHTPLAN_UNDERLAY_ONLY=1 leaves the built packages out (the build itself does that).

if [ -z "${SIGHTPLAN_ROOT:-}" ] || [ ! -f "$SIGHTPLAN_ROOT/scripts/env.sh" ]; then
  _sp_here=${BASH_SOURCE:-$0}
  case $_sp_here in
    */*) SIGHTPLAN_ROOT=$(CDPATH='' cd -- "${_sp_here%/*}/.." && pwd) ;;
    *) SIGHTPLAN_ROOT=$(pwd) ;;
  esac
  [ -f "$SIGHTPLAN_ROOT/scripts/env.sh" ] || SIGHTPLAN_ROOT=$(pwd)
fi

_sp_fail() {
  echo "sightplan: $*" >&2
}

# _sp_prepend DIRECTORY LIST: the list with the directory in front, once; in _sp_list.
_sp_prepend() {
  case ":$2:" in
    *":$1:"*) _sp_list=$2 ;;
    *) _sp_list=$1${2:+:$2} ;;
  esac
}

_sp_environment() {
  _sp_venv=$SIGHTPLAN_ROOT/.venv
  if [ ! -x "$_sp_venv/bin/python" ]; then
    _sp_fail "$_sp_venv is missing; run 'make build' in $SIGHTPLAN_ROOT"
    return 1
  fi

  # ROS 2 itself. The first line of .venv/ros-prefix names an installation; without it, the wheels.
  _sp_ros=
  [ -f "$_sp_venv/ros-prefix" ] && read -r _sp_ros < "$_sp_venv/ros-prefix"
  if [ -n "$_sp_ros" ]; then
    if [ ! -f "$_sp_ros/setup.sh" ]; then
      _sp_fail "ROS 2 is gone from $_sp_ros; run 'make distclean', then 'make build'"
      return 1
    fi
    # shellcheck source=/dev/null
    [ "${ROS_DISTRO:-}" = jazzy ] || . "$_sp_ros/setup.sh"
  else
    for _sp_dir in "$_sp_venv"/lib/python3.*/site-packages/ros_*.libs "$_sp_venv/lib"; do
      [ -d "$_sp_dir" ] || continue
      _sp_prepend "$_sp_dir" "${LD_LIBRARY_PATH:-}"
      export LD_LIBRARY_PATH="$_sp_list"
    done
    # The wheels would restart every Python once to set the same path, in a random order.
    export _ROS_WHEELS_BOOTSTRAP_COMPLETE=1
    _sp_prepend "$_sp_venv" "${AMENT_PREFIX_PATH:-}"
    export AMENT_PREFIX_PATH="$_sp_list"
    _sp_prepend "$_sp_venv" "${CMAKE_PREFIX_PATH:-}"
    export CMAKE_PREFIX_PATH="$_sp_list"
    export ROS_DISTRO=jazzy ROS_VERSION=2 ROS_PYTHON_VERSION=3
  fi
  _sp_prepend "$_sp_venv/bin" "${PATH:-/usr/local/bin:/usr/bin:/bin}"
  export PATH="$_sp_list"

  # The workspace's packages.
  if [ -z "${SIGHTPLAN_UNDERLAY_ONLY:-}" ]; then
    if [ ! -f "$SIGHTPLAN_ROOT/install/local_setup.sh" ]; then
      _sp_fail "the workspace is not built; run 'make build' in $SIGHTPLAN_ROOT"
      return 1
    fi
    _sp_current=${COLCON_CURRENT_PREFIX:-}
    COLCON_CURRENT_PREFIX=$SIGHTPLAN_ROOT/install
    # shellcheck source=/dev/null
    . "$SIGHTPLAN_ROOT/install/local_setup.sh"
    unset COLCON_CURRENT_PREFIX
    [ -z "$_sp_current" ] || export COLCON_CURRENT_PREFIX="$_sp_current"
  fi

  # Without a home directory ROS 2 would not know where to write its logs.
  if [ -z "${HOME:-}${ROS_HOME:-}${ROS_LOG_DIR:-}" ]; then
    export ROS_LOG_DIR="$SIGHTPLAN_ROOT/log/ros"
  fi

  # Transport. With a range of SUBNET and no profile ROS 2 would speak to the whole network, so
  # the two are set together or not at all.
  if [ -z "${ROS_AUTOMATIC_DISCOVERY_RANGE:-}" ] \
    && [ -z "${FASTRTPS_DEFAULT_PROFILES_FILE:-}${FASTDDS_DEFAULT_PROFILES_FILE:-}" ]; then
    case ${RMW_IMPLEMENTATION:-rmw_fastrtps_cpp} in
      rmw_fastrtps*)
        _sp_profile=$SIGHTPLAN_ROOT/config/fastdds_loopback.xml
        if [ ! -f "$_sp_profile" ]; then
          _sp_fail "$_sp_profile is missing; restore it with 'git checkout -- config'"
          return 1
        fi
        export FASTRTPS_DEFAULT_PROFILES_FILE="$_sp_profile"
        export ROS_AUTOMATIC_DISCOVERY_RANGE=SUBNET
        ;;
      *) export ROS_AUTOMATIC_DISCOVERY_RANGE=LOCALHOST ;;
    esac
  fi
  export SIGHTPLAN_ROOT OPENBLAS_NUM_THREADS="${OPENBLAS_NUM_THREADS:-1}"
}

_sp_environment
_sp_status=$?
unset _sp_here _sp_dir _sp_list _sp_venv _sp_ros _sp_current _sp_profile
unset -f _sp_fail _sp_prepend _sp_environment
# Leaves the status of the last command: 0, or 1 when the environment is incomplete.
[ "$_sp_status" -eq 0 ]
