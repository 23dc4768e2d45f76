"""The engine against a naive model, after every step of random games."""
