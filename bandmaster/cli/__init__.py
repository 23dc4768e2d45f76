"""The command line ``bandmaster``: one file for each command or family of commands.

::

    app.py        the command line, and how any command ends
    commands.py   the commands by name     named_group.py  imports the one that is meant   lazy.py  modules at first use
    exits.py      exit codes, own errors   expected.py  all errors that may come
    typed.py      what stands before a command          notes.py  one line on standard error   screen.py  results
    opening.py    settings and server      times.py    times as typed and shown
    diagnosis.py  why no server answers    streams.py  standard streams that may be closed or full
    selecting.py  filters, confirmation    failures.py arguments, exception, traceback
    naming.py     misspelt names           completing.py, bash.py  shell completion

    up.py ─ folder.py ─ processes.py    submit.py ─ requests.py ─ waiting.py    status.py  listing.py  show.py  logs.py
    cancel.py (priority)      controls.py (pause, resume, setting)   limits.py ─ occupancy.py (gates, workers)
    dead.py    actions.py    changes.py    demo.py

Commands read and change the queue only through ``ExecutionQueueService``, which itself needs nothing of this package.
"""

# Import nothing slow before Ctrl-C is handled, not even `typing`: until then Ctrl-C would print a traceback.
import signal
import sys
from importlib import import_module

USAGE = 2
INTERRUPTED = 130
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn


def main() -> "NoReturn":
    """Run the command ``bandmaster``. Before it has begun and after it is done, Ctrl-C ends it without a message."""
    interrupted = signal.getsignal(signal.SIGINT)
    quiet = signal.SIG_DFL if interrupted is signal.default_int_handler else interrupted
    signal.signal(signal.SIGINT, quiet)
    extras = import_module("bandmaster.configs.extras")
    try:
        app = extras.import_extra("bandmaster.cli.app", "cli")
    except extras.ExtraMissing as error:
        sys.stderr.write(f"bandmaster: {error}\n")
        sys.exit(USAGE)
    try:
        signal.signal(signal.SIGINT, interrupted)
        code = app.main()
        signal.signal(signal.SIGINT, quiet)
    except KeyboardInterrupt:
        code = INTERRUPTED
    sys.exit(code)
