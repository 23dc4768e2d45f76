"""What all documents of the API have in common."""

from typing import Literal

from pydantic import BaseModel, ConfigDict

Source = Literal["redis", "ledger"]


class Answer(BaseModel):
    """A document."""

    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True)


class Nothing(Answer):
    """No document: it was done, and there is nothing more to tell."""


class Read(Answer):
    """A document that was read."""

    source: Source
    """`redis`: what is so now; `ledger`: the history, which follows within a second."""
    as_of: str
    """Of when it is, by the clock of the Redis server; RFC 3339."""
