"""The command line: ``bandmaster``, one file a command or a family of them.

::

    app.py        the commands by name, and how any of them ends
    exits.py      exit codes               screen.py   what reaches the terminal
    opening.py    settings and server      times.py    times as typed and shown
    finding.py    ids and their beginnings records.py  an execution as it is shown

    up.py ─ processes.py      submit.py ─ requests.py ─ waiting.py      status.py  listing.py  show.py  logs.py
    cancel.py                 controls.py (pause, resume, limit, setting)          dead.py

Commands read and change the queue through ``ExecutionQueueService`` only; nothing here is needed for it to run.
"""

from bandmaster.cli.app import main

__all__ = ["main"]
