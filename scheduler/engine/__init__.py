"""The state machine of executions: typed wrappers around the Lua scripts, and the types of their answers.

`Engine` (`engine.py`) builds all of them once for one server.
"""
