"""Items against a model, by random steps of robots, operators and the clock: all that is kept of them agrees."""

from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from databases import MadeFor
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test
from work_items import add, end_lease, end_postponing, make, rows, take

from bandmaster.items.errors import LeaseLost, WrongStatus
from bandmaster.items.opened import open_items
from bandmaster.items.outcome import Said
from bandmaster.items.states import CHANGES, By, Failure, Status
from bandmaster.ledger.database import Database
from bandmaster.ledger.queries.asking import Asking

RETRIES = 2
LATER_MS = 4_000_000_000_000
ROBOTS = ("a", "b")


@dataclass
class Kept:
    """What the model knows of an item."""

    priority: int
    number: int
    status: Status = Status.NEW
    retries: int = 0
    abandoned: int = 0
    fence: int = 0
    robot: str | None = None


class ItemRules(RuleBasedStateMachine):
    """One queue of items, and what it should be."""

    def __init__(self, made_ledger: MadeFor) -> None:
        super().__init__()
        self.folder = TemporaryDirectory(prefix="bm-items-")
        self.database = Database(made_ledger("sqlite", Path(self.folder.name)))
        self.items = open_items(Asking(self.database, queue="exec_queue"))
        self.queue = make(self.items, max_retries=RETRIES)
        self.model: dict[str, Kept] = {}

    def teardown(self) -> None:
        self.database.close()
        self.folder.cleanup()

    def of(self, *statuses: Status) -> list[str]:
        return [item_id for item_id, each in self.model.items() if each.status in statuses]

    @rule(priority=st.integers(-2, 2))
    def add(self, priority: int) -> None:
        added = add(self.items, self.queue, priority=priority)
        self.model[added.item_id] = Kept(priority, len(self.model))

    @rule(robot=st.sampled_from(ROBOTS), count=st.integers(1, 3))
    def claim(self, robot: str, count: int) -> None:
        order = sorted(self.of(Status.NEW), key=lambda one: (-self.model[one].priority, self.model[one].number))
        found = take(self.items, robot, count=count)
        assert [item.item_id for item in found] == order[:count]
        for item in found:
            kept = self.model[item.item_id]
            kept.status, kept.robot, kept.fence = Status.IN_PROGRESS, robot, kept.fence + 1
            assert item.fence == kept.fence

    @precondition(lambda self: self.model)
    @rule(data=st.data(), robot=st.sampled_from(ROBOTS), behind=st.integers(0, 1))
    def settle(self, data: Any, robot: str, behind: int) -> None:
        item_id = data.draw(st.sampled_from(sorted(self.model)))
        kept = self.model[item_id]
        status = data.draw(st.sampled_from([Status.DONE, Status.FAILED, Status.NEW, Status.POSTPONED]))
        failure = data.draw(st.sampled_from(list(Failure))) if status is Status.FAILED else None
        # Each is another one, so that none is taken for one that was sent before.
        said = Said(
            status,
            failure=failure,
            result=data.draw(st.integers(0, 10**9)),
            available_ms=LATER_MS if status is Status.POSTPONED else None,
        )
        try:
            self.items.outcome.say(item_id, said, robot_id=robot, fence=kept.fence - behind)
            was_taken = True
        except LeaseLost:
            was_taken = False
        assert was_taken == (kept.status is Status.IN_PROGRESS and kept.robot == robot and behind == 0)
        if was_taken:
            kept.status = status
            if failure is Failure.APPLICATION and kept.retries < RETRIES:
                kept.status, kept.retries = Status.NEW, kept.retries + 1

    @precondition(lambda self: self.of(Status.IN_PROGRESS))
    @rule(data=st.data())
    def lease_ends(self, data: Any) -> None:
        item_id = data.draw(st.sampled_from(self.of(Status.IN_PROGRESS)))
        end_lease(self.database, item_id)
        kept = self.model[item_id]
        kept.abandoned += 1
        kept.status = Status.ABANDONED if kept.abandoned == 3 else Status.NEW
        assert self.items.listing.one(item_id).status is kept.status

    @precondition(lambda self: self.of(Status.POSTPONED))
    @rule(data=st.data())
    def comes_due(self, data: Any) -> None:
        item_id = data.draw(st.sampled_from(self.of(Status.POSTPONED)))
        end_postponing(self.database, item_id)
        assert self.items.listing.one(item_id).status is Status.NEW
        self.model[item_id].status = Status.NEW

    @precondition(lambda self: self.model)
    @rule(data=st.data(), deletes=st.booleans())
    def operate(self, data: Any, deletes: bool) -> None:
        item_id = data.draw(st.sampled_from(sorted(self.model)))
        kept = self.model[item_id]
        if deletes:
            self.items.editing.delete(item_id, by="a test", revision=None)
            kept.status = Status.DELETED
            return
        may = kept.status is Status.NEW or (kept.status, Status.NEW) in CHANGES[By.OPERATOR]
        try:
            self.items.editing.edit(item_id, {"status": Status.NEW}, by="a test", revision=None)
        except WrongStatus:
            assert not may
            return
        assert may
        if kept.status is not Status.NEW:
            kept.status, kept.retries, kept.abandoned = Status.NEW, 0, 0

    @invariant()
    def both_agree(self) -> None:
        found = {row["item_id"]: row for row in rows(self.database)}
        assert set(found) == set(self.model)
        for item_id, kept in self.model.items():
            row = found[item_id]
            seen = (row["status"], row["retries"], row["abandoned"], row["fence"])
            assert seen == (kept.status, kept.retries, kept.abandoned, kept.fence), item_id
            assert (row["ended_ms"] is not None) == (
                kept.status in (Status.DONE, Status.FAILED, Status.ABANDONED, Status.DELETED)
            )


def test_items_are_what_the_model_says_whatever_happens(made_ledger: MadeFor) -> None:
    class Rules(ItemRules):
        def __init__(self) -> None:
            super().__init__(made_ledger)

    run_state_machine_as_test(Rules, settings=settings(max_examples=25, stateful_step_count=30))
