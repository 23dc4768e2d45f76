"""The demo: runs 60 real programs and more for three users in five bands under a limit of 4, and checks its claims."""
