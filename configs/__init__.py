"""Settings and logging: what every process reads first, and what every module says something with.

`areas` holds the classes and defaults, `sources` the environment and the file, `settings` puts them together; `logger`
is what modules log with, `logging` how our own processes show it; `extras` imports what need not be installed. This is
the lowest layer: it imports nothing of Bandmaster.
"""
