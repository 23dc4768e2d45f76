"""A group of commands that are known by name and sentence; the one that is meant is imported and built then.

In the flow: `app` builds the command line of such groups. Help, suggestions and completion of names read the table
alone.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from bandmaster.cli.commands import Named
from bandmaster.configs.extras import import_extra

_PACKAGE: Final = __name__.rpartition(".")[0]


class NamedGroup(TyperGroup):
    """A group whose commands stand for those of its table until one is meant."""

    table: Mapping[str, Named]

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        """Find the command that is meant, and build it."""
        name, command, rest = super().resolve_command(ctx, args)
        return name, command if name is None else built(name, self.table[name]), rest


def family_of(app: typer.Typer, table: Mapping[str, Named]) -> NamedGroup:
    """Build a group with the commands of a table below it."""
    app.info.cls = NamedGroup
    group = get_command(app)
    assert isinstance(group, NamedGroup)
    return _with(group, table)


def built(name: str, named: Named) -> TyperCommand | NamedGroup:
    """Import a command, and build it with its arguments and its help."""
    function = function_of(named)
    app = typer.Typer(name=name, add_completion=False, rich_markup_mode=None)
    if not named.family:
        app.command(name)(function)
        command = get_command(app)
        assert isinstance(command, TyperCommand)
        return command
    app.callback(invoke_without_command=not named.needs_one, no_args_is_help=named.needs_one)(function)
    return family_of(app, named.family)


def function_of(named: Named) -> Callable[..., object]:
    """Import the function of a command.

    Raises:
        ExtraMissing: If a package that it needs is not installed.
    """
    function: Callable[..., object] = getattr(import_extra(f"{_PACKAGE}.{named.module}", "cli"), named.function)
    return function


def _with(group: NamedGroup, table: Mapping[str, Named]) -> NamedGroup:
    group.table = table
    for name, named in table.items():
        group.add_command(_listed(name, named))
    return group


def _listed(name: str, named: Named) -> TyperCommand | NamedGroup:
    """What stands for a command until it is meant."""
    if named.family:
        return _with(NamedGroup(name=name, help=named.sentence, rich_markup_mode=None), named.family)
    return TyperCommand(name=name, help=named.sentence, rich_markup_mode=None)
