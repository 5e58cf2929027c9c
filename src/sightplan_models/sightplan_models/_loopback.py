"""Whether an address is reached from this machine alone."""

from __future__ import annotations

import ipaddress


def is_loopback(host: str) -> bool:
    """Whether a name or address is that of this machine's loopback device."""
    try:
        return host == 'localhost' or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def without_port(host: str) -> str:
    """The name or address in a ``Host`` header, without its port and the brackets of IPv6."""
    if host.startswith('['):
        return host[1:].partition(']')[0]
    return host.partition(':')[0]
