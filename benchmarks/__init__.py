"""Benchmarks of Bandmaster's speed and cost, compared with bare Dramatiq and a simple script on the same machine.

Each question has one file. `rig.py` gives each question the same server, real worker processes and the records of their
jobs; `runner.py` runs the compared sides alternately; `table.py`, `results.py` and `chart.py` show the medians. They
are run by `make bench` and `make bench-quick`. No test depends on the figures.
"""
