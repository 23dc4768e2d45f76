"""What operators do to executions, beyond one transition: the command line calls these, and so may any other caller."""
