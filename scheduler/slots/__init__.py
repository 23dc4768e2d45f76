"""Slots that code takes, without an actor: ``with slot("core.http.get", limit=2):``.

`slot.py` is what users write; `attendant.py` the thread of a process that makes all calls; `desk.py` its list of who
waits and who holds; `rounds.py` the calls of one round; `listening.py` hears wake tokens; `errors.py` what is raised.
"""
