"""Makes the dashboards in `configs/grafana`: ``python -m tools.grafana`` writes them, a test compares.

From the words of the dashboards (`overview.py`, `one_action.py`, `gates.py`, `pods.py`, `workers.py`) to expressions of
Prometheus (`expressions.py`), panels (`panels.py`) and what Grafana reads (`dashboards.py`). No part of the package.
"""
