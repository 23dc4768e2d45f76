"""Lists what is wrong in the Lua files, and ends with 1 if something is."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from . import groups, headers, names
from .lua_files import read_files

LUA: Final = Path("scheduler/lua")


def main(given: Sequence[str] | None = None) -> int:
    """Print each failure as `file:line: what to do`.

    Args:
        given: The arguments of the command line.

    Returns:
        The exit code.
    """
    parser = argparse.ArgumentParser(
        prog="python -m tools.lint",
        description="Hold the Lua scripts to their headers, to each other and to their length. Each line of the output "
        "is FILE:LINE: WHAT TO DO; the exit code is 1 if there is one.",
    )
    parser.add_argument("folder", nargs="?", type=Path, default=LUA, help=f"with the scripts; by default {LUA}")
    files = read_files(parser.parse_args(given).folder)
    found = [failure for check in (headers, groups, names) for failure in check.failures(files)]
    for failure in sorted(found, key=lambda each: (each.path, each.line)):
        print(failure)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
