"""The way in: from an actor's options and a message to a candidate that the engine can park."""
