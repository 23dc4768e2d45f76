"""The jobs on Dramatiq's own Redis broker, including those in many queues."""

import os

from ..bare_jobs import BareJobs
from ..records import SERVER_VARIABLE

jobs = BareJobs(os.environ[SERVER_VARIABLE])
jobs.declare_lanes()
broker = jobs.broker
