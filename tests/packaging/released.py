"""What a release is built from, and what comes out."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
PARTS: Final = ("actors", "admin", "bandmaster", "configs", "items", "k8s", "ledger", "middleware", "scheduler")
FILES: Final = ("CHANGELOG.md", "LICENSE", "MANIFEST.in", "README.md", "pyproject.toml")


@dataclass(frozen=True, slots=True)
class Release:
    """What is uploaded."""

    sdist: Path
    wheel: Path
    """Built from that sdist."""
