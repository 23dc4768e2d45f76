"""The node's network on this machine: a pair of interfaces and a route for each pod, and addresses on the loopback.

They belong to the kernel, not to a process or to the node's folder. If a node is killed, they stay, and a route that is
left leads the next node's pod of the same address to nowhere: the plugin that makes the routes leaves an existing one.
"""

import json
import subprocess
from typing import Final

from .processes import succeeds

# The node's own address, on the loopback interface: pods reach it, and no other network is touched.
NODE_ADDRESS: Final = "10.246.255.1"
POD_RANGE: Final = "10.246.0.0/17"
SERVICE_RANGE: Final = "10.96.0.0/16"
DNS_ADDRESS: Final = "10.96.0.10"
# The first address of the pods' range, which this machine's end of each pod's pair of interfaces has.
_GATEWAY: Final = "10.246.0.1"


def take_node_address() -> bool:
    """Give the loopback interface the node's address; whether that could be done."""
    return succeeds("ip", "address", "replace", f"{NODE_ADDRESS}/32", "dev", "lo")


def clear() -> None:
    """Delete what a node has left: its pods' interfaces with their routes, its address and its Services' addresses."""
    listed = subprocess.run(("ip", "-j", "address", "show", "to", _GATEWAY), check=False, capture_output=True)
    for interface in json.loads(listed.stdout or b"[]"):
        succeeds("ip", "link", "delete", interface["ifname"])
    for addresses in (f"{NODE_ADDRESS}/32", SERVICE_RANGE):
        succeeds("ip", "address", "flush", "dev", "lo", "to", addresses)
