"""The applications of `examples/`, run as their first lines say, on a real server: each shows what it is meant to."""
