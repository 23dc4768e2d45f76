"""Fires triggers beside a served API, and reads what a worker gives to the program of an execution."""

import json
from typing import Any

from calling import ITEM_KEYS, Api
from sqlalchemy import select

from bandmaster.actors.program_items import ProgramItems
from bandmaster.admin.api.item_requests import NewQueue
from bandmaster.items.trigger import TriggerType
from bandmaster.items.trigger_rounds import Rounds
from bandmaster.ledger.schema.tables import queue_items
from bandmaster.scheduler.events import ExecutionRequestedEvent
from bandmaster.scheduler.model.states import State


class Firing:
    """A queue of items with its trigger."""

    def __init__(self, api: Api, queue: str = "invoices", **trigger: Any) -> None:
        self.api = api
        items = api.services.items
        self.queue = items.queues.create(by="a test", **NewQueue(name=queue).model_dump())
        made: dict[str, Any] = {"batch_size": 2, "max_jobs": 5, "command": ("true",), **trigger}
        items.triggers.create(queue, type=TriggerType.QUEUE, by="a test", queue_id=self.queue.queue_id, **made)

    def fire(self, *payloads: Any) -> dict[str, Any]:
        """Add items, and let the trigger fire for them once; what the program of the execution finds."""
        for payload in payloads:
            self.api.services.items.adding.add(self.queue, by="a test", payload=payload)
        before = set(self.executions())
        rounds = Rounds(
            self.api.services.items.store,
            self.api.queue,
            leads=lambda _: True,
            consumes=lambda: True,
            has_read_all=lambda: True,
        )
        assert rounds.round() == 1
        (execution_id,) = set(self.executions()) - before
        return self.handed(execution_id)

    def handed(self, execution_id: str) -> dict[str, Any]:
        """What the program of an execution finds, made anew of what Redis has."""
        event = self.api.queue.views.event(execution_id)
        assert event is not None
        text = ProgramItems(lambda: ITEM_KEYS, lambda: self.api.url).file_of(ExecutionRequestedEvent.from_json(event))
        assert text is not None
        found: dict[str, Any] = json.loads(text)
        return found

    def executions(self) -> list[str]:
        with self.api.database.reading() as connection:
            return list(
                connection.execute(select(queue_items.c.job_id).where(queue_items.c.job_id.is_not(None))).scalars()
            )

    def end(self, execution_id: str, state: State = State.COMPLETED) -> None:
        """Run all that waits, and end it; the ledger reads it."""
        while (granted := self.api.queue.try_schedule()) is not None:
            self.api.queue.transitions.release(granted[0], 1, state if granted[0] == execution_id else State.CANCELLED)
        self.api.catch_up()
