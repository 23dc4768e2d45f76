"""The demo: runs real programs of three users in five bands under a limit of 4, and checks its claims."""
