"""The state machine of executions: typed wrappers around the scripts, and what they answer.

`engine.py` builds all of it once for one server.
"""
