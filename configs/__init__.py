"""Settings and logging: what every process reads first, and what nothing below the entry points needs.

`areas` holds the classes and defaults, `sources` the environment and the file, `settings` puts them together. This is
the lowest layer: it imports nothing of Bandmaster.
"""
