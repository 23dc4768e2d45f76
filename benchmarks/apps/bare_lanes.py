"""The jobs on Dramatiq's own Redis broker, those in many queues too."""

import os

from ..bare_jobs import BareJobs
from ..records import SERVER_VARIABLE

jobs = BareJobs(os.environ[SERVER_VARIABLE])
jobs.declare_lanes()
broker = jobs.broker
