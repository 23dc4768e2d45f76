"""Dramatiq's own tests, from its source distribution, against `BandedRedisBroker`."""
