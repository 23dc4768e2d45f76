"""Finds the addresses of a receiver, and leaves out those that nobody allowed.

In the flow: `posting` asks once for each attempt, and connects to exactly what was checked here: a name that stands for
another address a moment later (DNS rebinding) changes nothing. Without it, whoever may set an address could let the
ledger's process call what only this machine or its network reaches, as the metadata of a cloud.
"""

import asyncio
import socket
import threading
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from typing import Final

from ...configs.notify import Network

IpAddress = IPv4Address | IPv6Address
Resolve = Callable[[str, int], Awaitable[Sequence[str]]]
"""Tells the IP addresses of a name; the second argument is the port."""
MOST_TRIED: Final = 4
_UNICAST: Final = IPv6Network("2000::/3")
_NAT64: Final = IPv6Network("64:ff9b::/96")
_LAST_32_BITS: Final = 0xFFFF_FFFF


class Forbidden(Exception):
    """No address of a receiver may be reached; the message says why."""


async def resolve_name(host: str, port: int) -> list[str]:
    """Ask the system for the addresses of a name; raises OSError.

    Each in a thread of its own, for which nobody waits: the system may ask a server that does not answer for long.
    """
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[list[str]] = loop.create_future()

    def settle(found: list[str] | OSError) -> None:
        if answer.done():
            return
        if isinstance(found, OSError):
            answer.set_exception(found)
        else:
            answer.set_result(found)

    def ask() -> None:
        found: list[str] | OSError
        try:
            found = [str(each[4][0]) for each in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]
        except OSError as error:
            found = error
        except UnicodeError as error:
            found = OSError(str(error))
        # The loop may be closed by now: then nobody waits.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(settle, found)

    threading.Thread(target=ask, name="resolving", daemon=True).start()
    return await answer


async def allowed_addresses(resolve: Resolve, host: str, port: int, networks: Sequence[Network]) -> list[str]:
    """Return the addresses of a receiver that may be reached, one to `MOST_TRIED`.

    Args:
        resolve: Asks for them.
        host: The receiver's name, or its address.
        port: Its port.
        networks: Private ones that may be reached.

    Raises:
        Forbidden: If none may.
        OSError: If the name has none.
    """
    allowed, why = list[str](), f"{host} has no address"
    for text in await resolve(host, port):
        ip = ip_of(text)
        refused = f"{text} is no address" if ip is None else why_forbidden(ip, networks)
        if refused is None:
            allowed.append(text)
        else:
            why = refused
    if not allowed:
        raise Forbidden(why)
    return list(dict.fromkeys(allowed))[:MOST_TRIED]


def ip_of(text: str) -> IpAddress | None:
    """Return the address that a text is; None: it is a name."""
    try:
        return ip_address(text)
    except ValueError:
        return None


def why_forbidden(ip: IpAddress, networks: Sequence[Network]) -> str | None:
    """Return why an address may not be reached; None: it may.

    Args:
        ip: The address. One that carries an IPv4 address is judged by that, too.
        networks: Those that may be reached, whatever they are.
    """
    for each in _meant_by(ip):
        if not _is_public(each) and not any(each in network for network in networks):
            return f"the address {ip} is not public, and not in notify.private_networks"
    return None


def _is_public(ip: IpAddress) -> bool:
    if ip.is_multicast or not ip.is_global:
        return False
    return isinstance(ip, IPv4Address) or ip in _UNICAST


def _meant_by(ip: IpAddress) -> list[IpAddress]:
    """The addresses that packets to one may reach."""
    if isinstance(ip, IPv4Address):
        return [ip]
    if ip.ipv4_mapped is not None:
        return [ip.ipv4_mapped]
    if ip in _NAT64:
        # So networks without IPv4 reach it.
        return [IPv4Address(int(ip) & _LAST_32_BITS)]
    return [ip, *(each for each in (ip.sixtofour, *(ip.teredo or ())) if each is not None)]
