"""A stream of the served API as a test follows it with a token."""

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from calling import V1, Api
from event_stream import Stream, followed


@contextmanager
def following(api: Api, token: str, last: str | None = None, path: str = "/events", **query: Any) -> Generator[Stream]:
    with api.client(token) as client, followed(client, f"{V1}{path}", last, **query) as stream:
        yield stream
