"""Settings and logging, which every process and every module uses.

`areas` holds the classes and defaults of settings, `sources` reads the environment and the file, and `settings` merges
them. Modules log with `logger`; `logging` formats the logs of Bandmaster's own processes. `extras` imports optional
packages. This is the lowest layer: it imports no other package of Bandmaster.
"""
