"""Wait until an address of this machine carries traffic.

    python docker/wait_for_link.py ADDRESS

Fast DDS passes over interfaces that are not running, so a node that starts before the cable
carries, or before the address is given, is out of reach for as long as it lives. Linux, IPv4.
"""

import array
import fcntl
import socket
import struct
import sys
import time

WAIT_S = 60.0
_SIOCGIFCONF, _SIOCGIFFLAGS = 0x8912, 0x8913
_IFF_RUNNING = 0x40
_IFREQ = 40  # bytes of a struct ifreq: name (16), then a sockaddr_in or flags


def running() -> dict[str, bool]:
    """IPv4 addresses of this machine, and whether their interfaces are running."""
    requests = array.array('B', bytes(256 * _IFREQ))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        used, _ = struct.unpack('iP', fcntl.ioctl(control, _SIOCGIFCONF, struct.pack(
            'iP', len(requests), requests.buffer_info()[0])))
        found = {}
        for request in struct.iter_unpack(f'{_IFREQ}s', requests[:used].tobytes()):
            flags, = struct.unpack_from('H', fcntl.ioctl(control, _SIOCGIFFLAGS, request[0]), 16)
            found[socket.inet_ntoa(request[0][20:24])] = bool(flags & _IFF_RUNNING)
    return found


def main(address: str, wait_s: float = WAIT_S) -> int:
    """Wait; returns 1 and says why if it was in vain."""
    end_s, told = time.monotonic() + wait_s, False
    while not running().get(address):
        why = ('its interface is not running: is the cable plugged in?' if address in running()
               else f'this machine has {", ".join(running())}')
        if time.monotonic() >= end_s:
            print(f'sightplan: {address} carries nothing: {why}', file=sys.stderr)
            return 1
        if not told:
            print(f'sightplan: waiting for {address}: {why}', file=sys.stderr)
            told = True
        time.sleep(0.1)
    return 0


if __name__ == '__main__':
    sys.exit(main(*sys.argv[1:2]))
