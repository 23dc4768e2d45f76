"""From which network a request comes, as failed logins are counted."""

from ipaddress import IPv6Address, ip_address, ip_network
from typing import Final

from ...scheduler.model.errors import shown

_HOST_BITS: Final = 64


def network_of(address: str) -> str:
    """Return the address, of IPv6 its /64, in which whoever has one address has them all.

    Args:
        address: As the server has it, or as a proxy that is believed says: it may be any text.
    """
    try:
        parsed = ip_address(address)
    except ValueError:
        return shown(address)
    if not isinstance(parsed, IPv6Address):
        return str(parsed)
    if parsed.ipv4_mapped is not None:
        return str(parsed.ipv4_mapped)
    return str(ip_network((int(parsed), _HOST_BITS), strict=False))
