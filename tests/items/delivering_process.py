"""A leader that is killed at a step of its first delivery.

Run as ``python delivering_process.py DATABASE STEP``.
"""

import os
import signal
import sys
from typing import Any

from receiver import ALLOWED

from bandmaster.items.notifying.delivering import Delivering
from bandmaster.items.notifying.posting import Posting
from bandmaster.items.store import Store
from bandmaster.ledger.database import Database
from bandmaster.ledger.queries.asking import Asking

url, step = sys.argv[1:]


def die(*_: Any) -> Any:
    os.kill(os.getpid(), signal.SIGKILL)


store = Store(Asking(Database(url), queue="exec_queue"))
posting = Posting(ALLOWED)
if step == "before it is sent":
    posting.post = die  # type: ignore[method-assign]
else:
    store.write = die  # type: ignore[method-assign]
Delivering(store, posting, leads=lambda: True).deliver_due()
