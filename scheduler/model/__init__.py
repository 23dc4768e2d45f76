"""The engine's basic types: states, priorities, identifiers, quantities, limits, and the errors that callers see.

This is the lowest package of the engine: it imports none of the others.
"""
