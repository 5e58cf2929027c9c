#!/bin/sh
# Run a command in the workspace's environment: the entry point of the images, and of their
# healthchecks, which Docker runs without it.
#
#     docker/enter.sh sightplan doctor
#
# SIGHTPLAN_LAN_ADDRESS=ADDRESS, one of this machine's, takes ROS 2 traffic to that network: nodes
# speak to this machine's through shared memory and to others through that address, and find each
# other through the discovery server that ROS_DISCOVERY_SERVER names. Without it traffic stays on
# this machine (scripts/env.sh).
set -eu
SIGHTPLAN_ROOT=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)

if [ -n "${SIGHTPLAN_LAN_ADDRESS:-}" ]; then
  case $SIGHTPLAN_LAN_ADDRESS in
    *[!0-9.]* | .* | *. | *..*)
      echo "sightplan: SIGHTPLAN_LAN_ADDRESS=$SIGHTPLAN_LAN_ADDRESS is not an IPv4 address" >&2
      exit 2
      ;;
  esac
  if [ -z "${ROS_DISCOVERY_SERVER:-}" ]; then
    echo 'sightplan: SIGHTPLAN_LAN_ADDRESS needs ROS_DISCOVERY_SERVER=ADDRESS:PORT, the discovery' \
      'server of the robot PC' >&2
    exit 2
  fi
  FASTRTPS_DEFAULT_PROFILES_FILE=${TMPDIR:-/tmp}/fastdds_lan_$SIGHTPLAN_LAN_ADDRESS.xml
  # Written whole and then moved: healthchecks do the same at any moment.
  sed "s/LAN_ADDRESS/$SIGHTPLAN_LAN_ADDRESS/" "$SIGHTPLAN_ROOT/docker/fastdds_lan.xml" \
    > "$FASTRTPS_DEFAULT_PROFILES_FILE.$$"
  mv "$FASTRTPS_DEFAULT_PROFILES_FILE.$$" "$FASTRTPS_DEFAULT_PROFILES_FILE"
  export FASTRTPS_DEFAULT_PROFILES_FILE ROS_AUTOMATIC_DISCOVERY_RANGE=SUBNET
fi

# ROS 2's own set-up files use variables that are not set.
set +u
# shellcheck source=scripts/env.sh
. "$SIGHTPLAN_ROOT/scripts/env.sh" || exit 1
case "${SIGHTPLAN_LAN_ADDRESS:+${1##*/}}" in
  '' | python*) ;; # healthchecks tell what is now
  *) python "$SIGHTPLAN_ROOT/docker/wait_for_link.py" "$SIGHTPLAN_LAN_ADDRESS" ;;
esac
exec "$@"
