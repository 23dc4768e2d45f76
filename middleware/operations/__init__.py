"""Operators' actions on executions that take more than one transition, for the command line and any other caller."""
