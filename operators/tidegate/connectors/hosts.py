"""Which hosts are this machine: what goes there is on no network."""

from __future__ import annotations

from collections.abc import Iterable
from ipaddress import ip_address


def is_here(host: str) -> bool:
    """Whether ``host`` is this machine, by its name or address; a socket's directory is, too.

    No name is looked up: what it stands for may change.
    """
    name = host.strip().strip("[]").rstrip(".").lower()
    if not name or name.startswith(("/", "@")):
        return True
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        address = ip_address(name)
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    return bool((mapped or address).is_loopback)


def remote(hosts: Iterable[str]) -> list[str]:
    """Those of ``hosts`` that are elsewhere, each once."""
    return [host for host in dict.fromkeys(host.strip() for host in hosts) if not is_here(host)]


def host_of(address: str) -> str:
    """The host of ``HOST:PORT``, ``[IPV6]:PORT`` or ``scheme://HOST:PORT``."""
    place = address.strip().rpartition("://")[2].partition("/")[0].rpartition("@")[2]
    if place.startswith("["):
        return place[1:].partition("]")[0]
    return place.partition(":")[0] if place.count(":") == 1 else place
