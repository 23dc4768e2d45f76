"""What the engine talks about: states, priorities, identifiers, quantities, limits, and the errors that callers see.

The lowest room: it imports nothing of the others.
"""
