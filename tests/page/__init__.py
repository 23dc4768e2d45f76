"""The page, in a real browser, before an installation as one has it on a machine.

A package, since only then the fixtures of its scope end with the folder's last test.
"""
