"""The command line: ``bandmaster``, one file a command or a family of them.

::

    app.py        the commands by name, and how any of them ends
    exits.py      exit codes               screen.py   what reaches the terminal
    opening.py    settings and server      times.py    times as typed and shown
    diagnosis.py  why no server answers    streams.py  standard streams that may be closed or full
    finding.py    ids and their beginnings records.py  an execution as it is shown
    selecting.py  filters, asking first    failures.py arguments, exception, traceback
    naming.py     slips in what is paused  completing.py, bash.py  what a shell completes

    up.py ─ folder.py ─ processes.py    submit.py ─ requests.py ─ waiting.py    status.py  listing.py  show.py  logs.py
    cancel.py (priority)      controls.py (pause, resume, setting)   limits.py ─ occupancy.py (gates, workers)
    dead.py ─ again.py        demo.py

Commands read and change the queue through ``ExecutionQueueService`` only; nothing here is needed for it to run.
"""

# Nothing that takes a while is imported before Ctrl-C is seen to, `typing` included: Python would show a traceback.
import signal
import sys
from importlib import import_module

USAGE = 2
INTERRUPTED = 130
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn


def main() -> "NoReturn":
    """The command ``bandmaster``. Before it has begun and once it is done, Ctrl-C ends it, and says nothing."""
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
