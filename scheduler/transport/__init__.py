"""Calls of Lua scripts: one round trip each, safe to repeat, over within one deadline.

The engine calls `scripts.py`; the other modules support it.
"""
