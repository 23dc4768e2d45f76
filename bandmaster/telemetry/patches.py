"""Methods of Dramatiq's classes that are replaced while the instrumentor is on, and put back afterwards.

In the flow: the instrumentor replaces, `restore` puts back. Pure of Dramatiq: what is replaced is told from outside.
"""

from collections.abc import Callable
from typing import Any


class Patches:
    """Replaced methods, in the order in which they were replaced."""

    def __init__(self) -> None:
        self._replaced: list[tuple[type, str, Any]] = []

    def replace(self, owner: type, name: str, replacement: Callable[[Callable[..., Any]], Callable[..., Any]]) -> None:
        """Replace a method that a class itself defines; nothing happens if it is replaced already.

        Args:
            owner: The class.
            name: The method.
            replacement: Makes the new method from the old one.
        """
        if any(each is owner and method == name for each, method, _ in self._replaced):
            return
        original = owner.__dict__[name]
        self._replaced.append((owner, name, original))
        setattr(owner, name, replacement(original))

    def restore(self) -> None:
        """Put every method back."""
        while self._replaced:
            owner, name, original = self._replaced.pop()
            setattr(owner, name, original)
