"""Pods: one per attempt of an execution, on a cluster or, without one, as child processes of this machine.

``pods.py`` is the interface that actors use, ``backend.py`` chooses its implementation. This file stays free of
imports: the local supervisor imports this package under the bare name ``k8s``, without the rest of Bandmaster.
"""
