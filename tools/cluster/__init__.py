"""A Kubernetes cluster for the tests, from nothing: ``python3 -m tools.cluster up``.

It runs before anything is installed, so it uses Python's standard library alone. ``__main__`` chooses: ``hosted`` asks
kind, k3d or minikube for a cluster; without them ``debian`` starts one node from ``binaries`` and ``images`` that are
built from Debian's packages, and keeps its ``processes``.
"""
