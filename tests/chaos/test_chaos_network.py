"""The network of a chaos run: what it takes is said where it is missing, and packets do get lost in it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from probing import FOLDER

from chaos.own_network import LOST_PERCENT, why_not

LOSES = """
import select, socket
from chaos.own_network import lose_no_packets, lose_packets
receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
receiver.bind(("127.0.0.1", 0))
sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
def arrive(count):
    came = 0
    for _ in range(count):
        sender.sendto(b"x", receiver.getsockname())  # what arrives is there when this returns
        if select.select([receiver], [], [], 0)[0]:
            came += len(receiver.recv(1))
    return came
print(arrive(1000))
lose_packets()
print(arrive(4000))
lose_no_packets()
print(arrive(1000))
"""


def test_what_is_missing_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert why_not() in ("it needs root", "there is no unshare and no ip and no nft")


@pytest.mark.skipif(why_not() is not None, reason=f"packets cannot be lost here: {why_not()}")
def test_so_many_packets_are_lost_and_none_before_or_after() -> None:
    inside = ["unshare", "--net", "sh", "-c", 'ip link set lo up && exec "$@"', "sh", sys.executable, "-c", LOSES]
    environment = {**os.environ, "PYTHONPATH": os.fspath(FOLDER)}
    done = subprocess.run(inside, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    before, during, after = map(int, done.stdout.split())
    assert (before, after) == (1000, 1000)
    lost = 4000 - during
    assert 0.5 * LOST_PERCENT < 100 * lost / 4000 < 2 * LOST_PERCENT
