"""Write a SHA-256 manifest of a folder, then find what was tampered with.

Copies one of Python's packages into the working folder, lists every file with its hash, damages the copy in
three ways and verifies it: exactly those three must be found.
"""

import hashlib
import shutil
import sysconfig
from pathlib import Path


def manifest(folder: Path) -> dict[str, str]:
    """Return relative path -> SHA-256 of every file below ``folder``."""
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def compare(expected: dict[str, str], actual: dict[str, str]) -> dict[str, str]:
    """Return path -> what happened to it, for every path that differs."""
    verdicts = dict.fromkeys(expected.keys() - actual.keys(), "missing")
    verdicts |= dict.fromkeys(actual.keys() - expected.keys(), "unexpected")
    verdicts |= {path: "changed" for path in expected.keys() & actual.keys() if expected[path] != actual[path]}
    return verdicts


def main() -> None:
    folder = Path("email-package")
    original = Path(sysconfig.get_path("stdlib")) / "email"
    shutil.copytree(original, folder, ignore=shutil.ignore_patterns("__pycache__"))

    expected = manifest(folder)
    for path, digest in list(expected.items())[:6]:
        print(f"{digest[:16]}...  {path}")
    print(f"... {len(expected)} files in all\n")
    if compare(expected, manifest(folder)):
        raise SystemExit("an untouched folder does not match its own manifest")

    victims = sorted(expected)
    damaged = bytearray((folder / victims[0]).read_bytes() or b"\0")
    damaged[len(damaged) // 2] ^= 1  # a single bit
    (folder / victims[0]).write_bytes(damaged)
    (folder / victims[1]).unlink()
    (folder / "backdoor.py").write_text("import os\n", encoding="utf-8")

    verdicts = compare(expected, manifest(folder))
    for path, verdict in sorted(verdicts.items()):
        print(f"{verdict:<11} {path}")
    shutil.rmtree(folder)
    if verdicts != {victims[0]: "changed", victims[1]: "missing", "backdoor.py": "unexpected"}:
        raise SystemExit("the damage was not found as it was done")


if __name__ == "__main__":
    main()
