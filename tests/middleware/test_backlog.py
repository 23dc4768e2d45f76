"""The messages that were fetched from a list and have no thread yet are kept until the list has them back."""

import itertools
import threading
from collections.abc import Iterable
from typing import Any

import pytest
from dramatiq import Message, MessageProxy
from dramatiq.broker import Consumer
from dramatiq.brokers.stub import StubBroker
from dramatiq.errors import ConnectionClosed

from bandmaster.middleware.worker.backlog import Backlog


class Unreachable(Consumer):
    """A consumer whose list cannot be reached at first."""

    def __init__(self) -> None:
        self.failures = 1
        self.requeued: list[str] = []

    def requeue(self, messages: Iterable[MessageProxy]) -> None:
        """Fail, and take them the next time."""
        if self.failures:
            self.failures -= 1
            raise ConnectionClosed("away")
        self.requeued = [message.message_id for message in messages]


def test_what_could_not_be_put_back_is_put_back_the_next_time() -> None:
    backlog = Backlog("default", threading.Lock(), itertools.count())
    messages: list[Message[Any]] = [Message("default", "work", (), {}, {}) for _ in range(3)]
    backlog.sort(messages, (), StubBroker())
    consumer = Unreachable()
    with pytest.raises(ConnectionClosed):
        backlog.put_back(consumer)
    assert backlog.waiting == len(backlog.outstanding) == 3
    backlog.put_back(consumer)
    assert consumer.requeued == [message.message_id for message in messages]
    assert backlog.waiting == len(backlog.outstanding) == 0
