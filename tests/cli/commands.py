"""Runs commands one after the other, each in a process of its own that is forked when everything is imported.

Started by `driving.py`: reads a JSON line a command (arguments, environment, files for the three standard streams) and
answers with its exit code. A fresh interpreter would spend nine tenths of a command's time on importing.
"""

import gc
import json
import os
import sys
import traceback

from bandmaster.cli.app import main

WRITTEN = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
DEFECT = 99


def become(arguments: list[str], environment: dict[str, str], files: list[str]) -> int:
    """Make this process a command, to its end; its exit code."""
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
    except Exception:  # noqa: BLE001 - the edge of the process: what gets here is a defect, and is shown
        traceback.print_exc()
        return DEFECT


gc.freeze()
for line in sys.stdin:
    command = json.loads(line)
    process_id = os.fork()
    if process_id == 0:
        code = become(command["arguments"], command["environment"], command["files"])
        sys.stdout.flush()
        sys.stderr.flush()
        # Without taking the interpreter apart, which would touch, and so copy, all that was imported.
        os._exit(code)
    _, status = os.waitpid(process_id, 0)
    sys.stdout.write(f"{os.waitstatus_to_exitcode(status)}\n")
    sys.stdout.flush()
