"""The intake: turns an actor's options and a message into a candidate that the engine can park."""
