"""Divide an office network into subnets without wasting addresses.

Gives each department the smallest subnet that holds its devices, largest first, so that none overlaps. The
subnets and the free blocks must cover the network exactly.
"""

import ipaddress
from itertools import combinations

NETWORK = ipaddress.ip_network("10.20.0.0/21")
DEVICES = {
    "wireless guests": 500, "office": 230, "telephones": 210, "servers": 60, "printers": 25,
    "cameras": 40, "door locks": 12, "router link": 2,
}  # fmt: skip


def prefix_for(devices: int) -> int:
    """Return the longest prefix that has room; two addresses are taken by network and broadcast."""
    return 32 - (devices + 1).bit_length()


def allocate(network: ipaddress.IPv4Network, devices: dict[str, int]) -> dict[str, ipaddress.IPv4Network]:
    """Return name -> subnet, each taken from the smallest free block that fits."""
    free, plan = [network], {}
    for name, count in sorted(devices.items(), key=lambda item: -item[1]):
        prefix = prefix_for(count)
        fitting = [block for block in free if block.prefixlen <= prefix]
        if not fitting:
            raise SystemExit(f"no room for {name}")
        block = max(fitting, key=lambda block: (block.prefixlen, -int(block.network_address)))
        plan[name] = next(block.subnets(new_prefix=prefix))
        free.remove(block)
        free += block.address_exclude(plan[name])
    return plan | {f"free {number}": block for number, block in enumerate(sorted(free), start=1)}


def main() -> None:
    plan = allocate(NETWORK, DEVICES)
    print(f"{NETWORK}, {NETWORK.num_addresses:,} addresses\n")
    print(f"{'':<17}{'subnet':<18}{'gateway':<14}{'last':<16}{'devices':>8}{'used':>7}")
    for name, subnet in sorted(plan.items(), key=lambda item: item[1]):
        gateway, last = subnet.network_address + 1, subnet.broadcast_address - 1
        count = DEVICES.get(name, 0)
        used = count / (subnet.num_addresses - 2)
        print(f"{name:<17}{subnet!s:<18}{gateway!s:<14}{last!s:<16}{count:>8}{used:>7.0%}")
        if count > subnet.num_addresses - 2:
            raise SystemExit(f"{name} does not fit")

    if any(one.overlaps(other) for one, other in combinations(plan.values(), 2)):
        raise SystemExit("two subnets overlap")
    if list(ipaddress.collapse_addresses(plan.values())) != [NETWORK]:
        raise SystemExit("the subnets do not cover the network")


if __name__ == "__main__":
    main()
