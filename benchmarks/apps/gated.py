"""The jobs as gated actors on Bandmaster's broker."""

import os

from ..gated_jobs import GatedJobs
from ..records import SERVER_VARIABLE

broker = GatedJobs(os.environ[SERVER_VARIABLE]).broker
