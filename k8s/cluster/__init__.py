"""Pods on a Kubernetes cluster: one real pod per attempt, in one namespace.

::

    create ── create.py ── manifest.py (what it is) ──▶ API server ──▶ kubelet
                                                            │ list, watch
    watch ─── watching.py ◀── stream.py (list→watch, 410, half-open) ◀┘
                  │  outcome.py, reasons.py (why it ended)   logs.py (its log's tail)
                  │  overdue.py (never starts, node lost)    cleanup.py (TTL, orphans)
    acknowledge, delete ── deleting.py

``pods.py`` combines these modules. Only ``client.py`` imports the ``kubernetes`` package; all others use the typed
objects of ``objects.py`` and the one error of ``faults.py``. All state is in the cluster: a finalizer keeps each pod
until its result is stored, so if any process dies, the next watch finds every exit. This file stays free of imports.
"""
