"""Pods on a machine without a cluster: child processes under a small supervisor that outlives the worker.

::

    create ── launching.py ──▶ claiming.py ──▶ supervisor.py ──▶ program.py (the program itself)
     limits.py (settings)                           │   bounds.py (rlimits)  segments.py (output)
     sandbox.py (bwrap)                             │   memory.py, disk.py (limits)  verdict.py (reason)
                                                    ▼ recording.py
    root/pods/{name}/ ◀── records.py: spec.json, status.json, lock, control, output/, work/, tmp/
                                                    ▲
    get, list ── settling.py                        │ processes.py (processes of a lost pod)
    watch ────── watching.py                        │ logs ── segments.py

``claiming.py`` and what it imports (``supervisor``, ``program``, ``bounds``, ``memory``, ``disk``, ``verdict``,
``recording``, ``segments``, ``records``, ``processes`` and the package's ``phases``) use the standard library only and
avoid its slow modules, ``dataclasses``, ``typing`` and ``subprocess``, so that a pod starts in a few tens of
milliseconds. This file stays free of imports too.
"""
