"""Runs commands one after the other, each in a process of its own that is forked when everything is imported.

Started by `driving.py`: reads a JSON line a command (arguments, environment, folder, files for the three standard
streams) and answers with its exit code. A fresh interpreter would spend nine tenths of the time on importing.
"""

import contextlib
import gc
import json
import os
import sys
import traceback
from collections.abc import Iterable, Mapping
from importlib import import_module
from typing import Any

from bandmaster.cli.app import main
from bandmaster.cli.commands import COMMANDS, Named
from bandmaster.cli.named_group import function_of

WRITTEN = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
DEFECT = 99


def become(arguments: list[str], environment: dict[str, str], folder: str, files: list[str]) -> int:
    """Make this process a command, to its end; its exit code."""
    os.chdir(folder)
    for number, (path, flags) in enumerate(zip(files, (os.O_RDONLY, WRITTEN, WRITTEN), strict=True)):
        opened = os.open(path, flags, 0o600)
        os.dup2(opened, number)
        os.close(opened)
    os.environ.clear()
    os.environ.update(environment)
    sys.stdin = open(0, closefd=False)  # noqa: SIM115 - it lives as long as the process
    sys.argv = ["bandmaster", *arguments]
    try:
        return main()
    except SystemExit as ended:
        # Typer ends so when it has completed a word.
        return ended.code if isinstance(ended.code, int) else 0
    except Exception:  # noqa: BLE001 - the edge of the process: what gets here is a defect, and is shown
        traceback.print_exc()
        return DEFECT


def import_all(table: Mapping[str, Named]) -> None:
    """Import every command."""
    for each in table.values():
        function_of(each)
        import_all(each.family)


def learn(names: Iterable[str]) -> None:
    """Import what a command imported when it ran, so that the next one finds it."""
    for name in names:
        # What a migration's tool loads from a file has a name that cannot be imported.
        with contextlib.suppress(ImportError):
            import_module(name)
    gc.freeze()


def run(command: Any) -> int:
    """Run one command in a process of its own; its exit code."""
    told, telling = os.pipe()
    process_id = os.fork()
    if process_id == 0:
        known = set(sys.modules)
        code = become(**command)
        sys.stdout.flush()
        sys.stderr.flush()
        os.write(telling, " ".join(name for name in sys.modules if name not in known).encode())
        # Without taking the interpreter apart, which would touch, and so copy, all that was imported.
        os._exit(code)
    os.close(telling)
    with open(told) as read:
        learn(read.read().split())
    _, status = os.waitpid(process_id, 0)
    return os.waitstatus_to_exitcode(status)


import_all(COMMANDS)
gc.freeze()
for line in sys.stdin:
    sys.stdout.write(f"{run(json.loads(line))}\n")
    sys.stdout.flush()
