"""Modules that are imported at their first use, so that a command pays only for what it does.

::

    if TYPE_CHECKING:
        from bandmaster.cli import expected
    else:
        expected = lazy("bandmaster.cli.expected")
"""

from importlib import import_module
from types import ModuleType


class _Lazy(ModuleType):
    def __getattr__(self, name: str) -> object:
        value: object = getattr(import_module(self.__name__), name)
        setattr(self, name, value)
        return value


def lazy(name: str) -> ModuleType:
    """What stands for a module of this name, which is imported when an attribute of it is first read."""
    return _Lazy(name)
