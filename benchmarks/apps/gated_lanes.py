"""The jobs as gated actors on Bandmaster's broker, including those in many queues."""

import os

from ..gated_jobs import GatedJobs
from ..records import SERVER_VARIABLE

jobs = GatedJobs(os.environ[SERVER_VARIABLE])
jobs.declare_lanes()
broker = jobs.broker
