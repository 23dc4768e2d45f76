"""How a script is called: one round trip, safe to repeat, over within one deadline.

`scripts.py` is what the engine calls; the other modules are what it needs for that.
"""
