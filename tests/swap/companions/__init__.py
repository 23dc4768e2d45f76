"""What applications add to their brokers, in its real form, on gated and ungated actors: a program each.

Sentry patches Dramatiq for the whole process, dramatiq-abort leaves a thread that never ends, Django has one set of
settings: none of that is for the process of the tests. ``python -m swap.companions.with_sentry URL FOLDER`` fails, or
is silent.
"""
