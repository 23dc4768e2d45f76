"""Builds the command line, runs one command, and turns an error into one line and an exit code.

In the flow: the entry point of the installed script `bandmaster` and of ``python -m bandmaster``. Nothing is read,
connected or configured before a command needs it, so ``--help`` works whatever the settings are.
"""

import re
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from bandmaster.cli.bash import asked_by_bash, complete
from bandmaster.cli.commands import COMMANDS
from bandmaster.cli.exits import MEANINGS, Exit
from bandmaster.cli.lazy import lazy
from bandmaster.cli.named_group import NamedGroup, family_of
from bandmaster.cli.notes import note
from bandmaster.cli.streams import StreamLost, flush_streams, open_streams
from bandmaster.cli.typed import TYPED, Typed, command_at, take_command

if TYPE_CHECKING:
    from bandmaster.cli import expected
else:
    expected = lazy("bandmaster.cli.expected")

PROGRAM: Final = "bandmaster"
_CODES: Final = "\n".join(f"  {code:>3}  {meaning}" for code, meaning in MEANINGS.items())
_LIKE_AN_OPTION: Final = re.compile(r"no such option: -[\d.]", re.IGNORECASE)
_BELOW_ZERO: Final = re.compile(r"-\d*\.?\d+")
_HELP: Final = f"""Run scripts and commands in strict priority order, under limits that hold.

Start with `{PROGRAM} up`; then, in another terminal, `{PROGRAM} submit`.
Settings: BANDMASTER_SECTION__NAME or bandmaster.toml.

\b
Exit codes:
{_CODES}
"""


def show_version(asked: bool) -> None:
    """Print the version and end."""
    if asked:
        sys.stdout.write(f"{PROGRAM} {import_module('importlib.metadata').version('bandmaster')}\n")
        raise typer.Exit


def root(
    _version: Annotated[
        bool, typer.Option("--version", callback=show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
    url: Annotated[
        str | None, typer.Option(metavar="URL", help="Ask this admin API instead of Redis: https://…, before COMMAND.")
    ] = None,
    token: Annotated[
        str | None, typer.Option(metavar="TOKEN", help="For the API; others may see what you type.")
    ] = None,
    token_file: Annotated[Path | None, typer.Option(metavar="FILE", help="The file that holds the token.")] = None,
    shard: Annotated[
        str | None, typer.Option(metavar="NAME", help="Of several servers, work on this one only.")
    ] = None,
) -> None:
    """What all commands share: ``--version``, and where they find the queue."""
    TYPED.set(Typed(url, token, token_file, shard))


def build() -> NamedGroup:
    """Build the whole command line; what a command needs is imported when it is meant."""
    app = typer.Typer(
        name=PROGRAM,
        help=_HELP,
        callback=root,
        no_args_is_help=True,
        # Plain help: 80 columns are enough for it, and it reads the same in a pipe.
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    return family_of(app, COMMANDS)


def run(arguments: Sequence[str]) -> int:
    """Run one command line, and return the exit code."""
    ours, command = take_command(arguments)
    try:
        code = int(build()(args=ours, prog_name=PROGRAM, standalone_mode=False, obj=command) or Exit.OK)
        flush_streams()
    except typer.TyperException as error:
        # NoArgsIsHelpError shows the help as its message.
        text = error.format_message()
        if "\n" in text or not text:
            sys.stderr.write(f"{text}\n")
        elif below := _number_below_zero(ours, text):
            allowed = "0 or more, and none where there is no bound"
            note(f"{below} is not allowed: numbers are {allowed}. See `{PROGRAM} {_command_of(ours)}--help`.")
        else:
            end = "" if text.endswith((".", "?")) else "."
            note(f"{text[:1].lower()}{text[1:]}{end} See `{PROGRAM} {_command_of(ours)}--help`.")
        return Exit.USAGE
    except expected.EXPECTED as error:
        if not isinstance(error, StreamLost) or not error.unread:
            note(" ".join(expected.sentence_of(error).split()))
        return expected.exit_of(error)
    except (typer.Abort, KeyboardInterrupt):
        return Exit.INTERRUPTED
    return code


def _number_below_zero(arguments: Sequence[str], problem: str) -> str | None:
    """The argument that was taken for an option because of its sign, as in `limit action:x -1`."""
    if not _LIKE_AN_OPTION.match(problem):
        return None
    return next((each for each in arguments if _BELOW_ZERO.fullmatch(each)), None)


def _command_of(arguments: Sequence[str]) -> str:
    name = "".join(arguments[(at := command_at(list(arguments))) : at + 1])
    return f"{name} " if name in COMMANDS else ""


def main() -> int:
    """Run the command line of this process, and return its exit code."""
    open_streams()
    try:
        if asked_by_bash():
            return complete(lambda: run(sys.argv[1:]))
        return run(sys.argv[1:])
    except StreamLost as lost:
        # Not even the error message could be written.
        return lost.code
