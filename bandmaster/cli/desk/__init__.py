"""The desk: where commands see and steer the queue, beside Redis or through the admin API.

::

    port.py      Desk: Executions, Figures, Controls, Letters, Output, and what they answer with; commands know no more
    opening.py   which of the two desks a command gets
    queue_*.py   one for each of them, by ExecutionQueueService, beside Redis
    api_*.py     one for each of them, by `bandmaster.client`, over HTTP
    answers.py   documents of the API in the engine's types

Both answer with the engine's types, so that what a command prints does not depend on where it comes from. Of queues of
items, which need no Redis, the same::

    item_port.py      ItemDesk: ItemQueues, Items, Triggers, Notifications
    item_opening.py   which of the two a command gets
    ledger_*.py       one for each of them, beside the ledger's database
    api_items.py, api_triggers.py

Both answer with the API's documents.
"""
