#!/bin/sh
# The Fast DDS discovery server of two machines, at the address that its clients know it by.
set -eu
address=${ROS_DISCOVERY_SERVER:?is not set: the server must know its ADDRESS:PORT}
case $address in
  *:*) port=${address##*:} ;;
  *) port=11811 ;;
esac
# Not "fastdds discovery", which starts this and would leave it behind.
exec fast-discovery-server --server-id 0 --udp-address "${address%:*}" --udp-port "$port"
