"""What is said of a name that is not known: which are allowed, and which one was perhaps meant. Pure."""

from collections.abc import Collection
from difflib import get_close_matches


def allowed_of(name: str, known: Collection[str]) -> str:
    """Return the names that are allowed, and the nearest of them if it is near."""
    return (", ".join(sorted(known)) or "none") + meant_of(name, known)


def meant_of(name: str, known: Collection[str]) -> str:
    """Return a question for the nearest of the known names; empty if none is near."""
    near = get_close_matches(name, known, 1)
    return f"; did you mean {near[0]}?" if near else ""
