"""What a killed node leaves in the kernel is cleared, in a network of the test's own."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.cluster

ROOT = Path(__file__).parents[2]

LEFT = """
ip link set lo up
ip link add pod type veth peer name inside
ip address add 10.246.0.1/32 dev pod
ip link set pod up
ip route add 10.246.0.74/32 dev pod
ip link add other type veth peer name elsewhere
ip address add 10.99.0.1/32 dev other
ip address add 10.246.255.1/32 dev lo
ip address add 10.96.0.10/32 dev lo
ip address add 10.97.0.10/32 dev lo
"""


def test_the_next_nodes_pods_meet_no_route_of_a_node_that_was_killed() -> None:
    clear = f"{sys.executable} -c 'from tools.cluster.network import clear; clear()'"
    script = f"set -eu\n{LEFT}\n{clear}\n{clear}\nip -j -4 address\nip -j route"
    done = subprocess.run(
        ("unshare", "--net", "sh", "-c", script), cwd=ROOT, capture_output=True, text=True, check=True
    )
    interfaces, routes = (json.loads(line) for line in done.stdout.strip().splitlines())
    addresses = {(each["ifname"], own["local"]) for each in interfaces for own in each["addr_info"]}
    assert addresses == {("lo", "127.0.0.1"), ("lo", "10.97.0.10"), ("other", "10.99.0.1")}
    assert [route["dst"] for route in routes] == []
