"""Spread a backup over five disks, lose one, and rebuild it from parity.

Works like RAID 5: four blocks and their exclusive-or make a stripe, and the parity moves from disk to disk.
Each of the five disks is lost in turn, and the backup must come back every time.
"""

import hashlib
import sysconfig
from pathlib import Path

DISKS = 5
BLOCK = 4096
Disk = list[bytes]


def xor(blocks: list[bytes]) -> bytes:
    """Return the bitwise exclusive-or of blocks of the same length."""
    result = 0
    for block in blocks:
        result ^= int.from_bytes(block, "big")
    return result.to_bytes(BLOCK, "big")


def write(data: bytes) -> list[Disk]:
    """Return the disks' contents; stripe n has its parity on disk n modulo DISKS."""
    disks: list[Disk] = [[] for _ in range(DISKS)]
    stripe = BLOCK * (DISKS - 1)
    for number, start in enumerate(range(0, len(data), stripe)):
        part = data[start : start + stripe].ljust(stripe, b"\0")
        blocks = [part[offset : offset + BLOCK] for offset in range(0, stripe, BLOCK)]
        blocks.insert(number % DISKS, xor(blocks))
        for disk, block in zip(disks, blocks, strict=True):
            disk.append(block)
    return disks


def rebuild(disks: list[Disk | None]) -> list[Disk]:
    """Return all disks, the one that is None made from the others."""
    lost = disks.index(None)
    left = [disk for disk in disks if disk is not None]
    return [*disks[:lost], [xor(list(blocks)) for blocks in zip(*left, strict=True)], *disks[lost + 1 :]]


def read(disks: list[Disk], length: int) -> bytes:
    """Return the data, with the parity left out."""
    stripes = enumerate(zip(*disks, strict=True))
    return b"".join(block for n, blocks in stripes for disk, block in enumerate(blocks) if disk != n % DISKS)[:length]


def main() -> None:
    stdlib = Path(sysconfig.get_path("stdlib"))
    backup = b"".join(path.read_bytes() for path in sorted(stdlib.glob("[a-d]*.py")))
    digest = hashlib.sha256(backup).hexdigest()
    disks = write(backup)
    stored = sum(len(block) for disk in disks for block in disk)
    print(f"backup of {len(backup):,} bytes, sha256 {digest[:16]}...")
    print(f"{DISKS} disks of {len(disks[0])} blocks, {stored:,} bytes: {stored / len(backup) - 1:.0%} more\n")

    for lost in range(DISKS):
        damaged = [None if number == lost else disk for number, disk in enumerate(disks)]
        restored = read(rebuild(damaged), len(backup))
        if restored != backup:
            raise SystemExit(f"disk {lost + 1} could not be rebuilt")
        print(f"disk {lost + 1} lost and rebuilt, sha256 {hashlib.sha256(restored).hexdigest()[:16]}...")


if __name__ == "__main__":
    main()
