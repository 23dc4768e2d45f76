"""The jobs on Dramatiq's own Redis broker."""

import os

from ..bare_jobs import BareJobs
from ..records import SERVER_VARIABLE

broker = BareJobs(os.environ[SERVER_VARIABLE]).broker
