"""The admin API: what happened, and steering it, over HTTP.

In the flow: `python -m bandmaster.admin` serves it. Nothing waits for it: it calls the same transitions as the command
line does, and reads Redis and the ledger. If it is away, or its database is, work goes on.
"""
