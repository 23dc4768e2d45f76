"""What executions print, sent to those who follow it."""
