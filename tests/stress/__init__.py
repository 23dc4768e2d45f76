"""Many processes and threads at once, and the history of what they did."""
