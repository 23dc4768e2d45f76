"""The dashboards, in the order in which Grafana's links show them. What they are is in the modules of their names."""

from typing import Final

from . import gates, one_action, overview, pods, queues, workers
from .dashboards import Dashboard

DASHBOARDS: Final[tuple[Dashboard, ...]] = (
    overview.DASHBOARD,
    one_action.DASHBOARD,
    gates.DASHBOARD,
    pods.DASHBOARD,
    queues.DASHBOARD,
    workers.DASHBOARD,
)
