"""The engine: events, states, keys, scripts and their typed wrappers, the queue service, and the scheduler process.

From here the flow goes on to `middleware` (Dramatiq's side) and `k8s` (pods), and from there to `actors`.
"""
