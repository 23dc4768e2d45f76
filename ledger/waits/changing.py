"""Reads the changes of limits, rates, pauses and settings that tell what was in force during a wait.

In the flow: `hindrances.py` asks for each name that could have held an execution up; `limits.py` makes values of them.
Changes are rare, so mostly all of these names are read at once. Nothing here writes.
"""

from collections.abc import Sequence
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, select

from ...scheduler.engine.journal import Verb
from ..schema.tables import changes
from .limits import Changed
from .spans import Span

READ_AT_ONCE: Final = 200
"""If these names have more changes, those of each are sought by themselves."""
CHANGES: Final = 20
"""So many of one name are read then, the earliest of the wait."""
LIMITS: Final = (Verb.LIMIT,)
RATES: Final = (Verb.RATE,)
PAUSES: Final = (Verb.PAUSE, Verb.RESUME)
SETTINGS: Final = (Verb.SET,)
_KINDS: Final = (*LIMITS, *RATES, *PAUSES, *SETTINGS)
_ORDER: Final = (changes.c.at_ms, changes.c.journal_id, changes.c.entry_ms, changes.c.entry_number)
_COLUMNS: Final = (changes.c.at_ms, changes.c.verb, changes.c.value_before, changes.c.value_after)


class Changes:
    """Those of some names around one wait."""

    def __init__(self, connection: Connection, names: Sequence[str], wait: Span) -> None:
        """Reads what can be read at once.

        Args:
            connection: Of `Asking.reading`.
            names: Of gates, kinds, lanes and settings.
            wait: From when to when.
        """
        self._connection, self._names, self._wait = connection, list(names), wait
        self.rows = 0
        """How many were read."""
        self.are_all = True
        """Whether all that were made during the wait were read."""
        self._later = self._at_once(changes.c.at_ms >= wait.since_ms)
        self._earlier = self._at_once(changes.c.at_ms < wait.since_ms)

    def of(self, name: str, verbs: Sequence[Verb]) -> list[Changed]:
        """Return those of one name within the wait, in order; if there are none, the next one, else the last before.

        Args:
            name: Of a gate, a kind, a lane or a setting.
            verbs: Of one kind of changes: `LIMITS`, `RATES`, `PAUSES` or `SETTINGS`.
        """
        at_ms, since_ms, until_ms = changes.c.at_ms, self._wait.since_ms, self._wait.until_ms
        found = self._known(self._later, name, verbs)
        if found is None:
            found = self._sought(name, verbs, (at_ms >= since_ms) & (at_ms < until_ms), CHANGES)
            found = found or self._sought(name, verbs, at_ms >= until_ms, 1)
        if found:
            return [each for each in found if each.at_ms < until_ms] or found[:1]
        found = self._known(self._earlier, name, verbs)
        if found is None:
            found = self._sought(name, verbs, at_ms < since_ms, 1, backwards=True)
        return found[-1:]

    def _at_once(self, condition: ColumnElement[bool]) -> list[Any] | None:
        of = changes.c
        query = select(of.name, *_ORDER[1:], *_COLUMNS).where(of.name.in_(self._names), of.verb.in_(_KINDS), condition)
        # Not sorted by the database: it would look at all of them, however many there are.
        rows = self._connection.execute(query.limit(READ_AT_ONCE + 1)).all()
        self.rows += len(rows)
        if len(rows) > READ_AT_ONCE:
            return None
        return sorted(rows, key=lambda row: (row.at_ms, row.journal_id, row.entry_ms, row.entry_number))

    def _known(self, rows: list[Any] | None, name: str, verbs: Sequence[Verb]) -> list[Changed] | None:
        if rows is None:
            return None
        return [Changed(*row[-4:]) for row in rows if row.name == name and row.verb in verbs]

    def _sought(
        self, name: str, verbs: Sequence[Verb], condition: Any, most: int, *, backwards: bool = False
    ) -> list[Changed]:
        order = [each.desc() for each in _ORDER] if backwards else _ORDER
        query = select(*_COLUMNS).where(changes.c.name == name, changes.c.verb.in_(verbs), condition)
        found = [Changed(*row) for row in self._connection.execute(query.order_by(*order).limit(most))]
        self.rows += len(found)
        self.are_all = self.are_all and len(found) < max(most, 2)
        return found
