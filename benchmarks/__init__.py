"""What Bandmaster costs and how fast it is, beside bare Dramatiq and a simple script, on one machine in one run.

One file a question; `rig.py` gives each the same server, real worker processes and the records of their jobs,
`runner.py` runs the sides interleaved, `table.py`, `results.py` and `chart.py` show the medians. Run by `make bench`
and `make bench-quick`; figures never gate a test.
"""
