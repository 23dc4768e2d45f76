"""The engine: events, states, keys, scripts and their typed wrappers, the queue service, and the scheduler process.

`middleware` (Dramatiq's side) and `k8s` (pods) build on this package; `actors` builds on both.
"""
