"""The repository's documents and sources, as the tests of this folder read them."""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
SOURCES: Final = (
    "actors",
    "bandmaster",
    "benchmarks",
    "configs",
    "examples",
    "k8s",
    "middleware",
    "scheduler",
    "tests",
)
SUFFIXES: Final = frozenset({".py", ".lua", ".toml", ".yaml", ".yml", ".tpl"})
MADE: Final = frozenset({"node_modules", "__pycache__", "build", "_build"})
FENCE: Final = re.compile(r"^(```+).*?^\1\s*$", re.MULTILINE | re.DOTALL)
HEADING: Final = re.compile(r"^#{1,6} +(.+?) *$", re.MULTILINE)


def under(folder: Path) -> Iterator[Path]:
    """All files that were written, not made."""
    for path in sorted(folder.iterdir()):
        if path.name in MADE or path.name.startswith(".") or path.is_symlink():
            continue
        if path.is_dir():
            yield from under(path)
        else:
            yield path


@cache
def documents() -> tuple[Path, ...]:
    """Every document of the project."""
    hidden = list((ROOT / ".github").rglob("*.md"))
    found = [
        *ROOT.glob("*.md"),
        ROOT / "examples" / "README.md",
        *hidden,
        *(path for path in under(ROOT / "docs") if path.suffix == ".md"),
    ]
    return tuple(sorted(found))


@cache
def sources() -> tuple[Path, ...]:
    """Every source file, the tests' own too."""
    return tuple(path for folder in SOURCES for path in under(ROOT / folder) if path.suffix in SUFFIXES)


def text_of(path: Path) -> str:
    """Of a document, or of a source."""
    return path.read_text(encoding="utf-8")


def name_of(path: Path) -> str:
    """As it is shown where a test fails."""
    return str(path.relative_to(ROOT))


def headings(path: Path) -> list[str]:
    """Of a document, without what stands in its examples."""
    return HEADING.findall(FENCE.sub("", text_of(path)))


def anchor(heading: str) -> str:
    """What a link to a heading ends with."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
