"""``Schedules``: adds, changes and reads schedules; how far each is planned is kept beside it.

In the flow: operators and applications call these, and `planning.py`, which parks the occurrences. Redis holds the
truth; the journal has operators' changes, so the ledger has them too, and a rebuild makes them again. A declared
schedule is declared again by its application. Repeating a call does no harm.
"""

from collections.abc import Sequence
from contextlib import suppress
from enum import StrEnum
from typing import Any, Final

from ..events.schedule import Schedule
from ..events.schedule_fields import Overlap, check_schedule_name
from ..model.errors import InvalidRequest, ScheduleExists, UnknownSchedule
from ..model.operators import check_by
from ..transport.reading import Reader, repeated
from ..transport.scripts import Argument, Scripts
from .held_schedule import Held, read_held

MOST_SCHEDULES: Final = 10_000
"""So many may be kept; `schedule.lua` has the same number."""
READ_A_PAGE: Final = 200


class Change(StrEnum):
    """What came of a change."""

    OK = "OK"
    SAME = "SAME"
    """It was so before."""
    OWN = "OWN"
    """An operator's schedule has this name: it stays, and the declared one is not used."""


class Schedules(Reader):
    """The schedules on one server. Each method raises QueueUnavailable if Redis does not answer."""

    def __init__(self, scripts: Scripts, *, by: str | None = None) -> None:
        """Makes no call. `by`: the name for calls that give none; None: user, host and program of this process."""
        super().__init__(scripts)
        self._by = None if by is None else check_by(by)
        self._schedule = scripts.script("schedule", "name act overlap definition by")
        self._plan = scripts.script(
            "plan",
            "epoch name revision cursor look missed problem instant id lane band action user gates timeout_ms due_ms "
            "max_age_ms event message lasting parent key",
        )

    def put(self, schedule: Schedule, *, paused: bool = False, only_new: bool = False, by: str | None = None) -> Change:
        """Add a schedule, or put it in the place of the one of its name; occurrences follow the new rule from now on.

        Args:
            schedule: The schedule.
            paused: Whether it is paused at first.
            only_new: Do not replace another one.
            by: Who asks, for the journal.

        Raises:
            ScheduleExists: With `only_new`, if there is one of this name.
            InvalidRequest: If there are as many as are kept.
        """
        code = self._change(
            schedule, "add" if only_new and not paused else "put_paused" if paused else "put", self._name(by)
        )
        return Change(code)

    def declare(self, schedule: Schedule) -> Change:
        """Add or change a schedule that an application declares. It stays paused if it was; an operator's stays."""
        return Change(self._change(schedule, "declare", ""))

    def withdraw(self, name: str) -> Change:
        """Remove a schedule that an application declares elsewhere, and what is planned of it and not due.

        What was let go stays, and an operator's does. SAME: there is none.
        """
        code, _ = self._scripts.call(self._schedule, check_schedule_name(name), "withdraw", "", "", "")
        return Change.SAME if code == b"UNKNOWN" else Change(code.decode())

    def pause(self, name: str, *, by: str | None = None) -> bool:
        """Let no occurrence start until it is resumed; return whether it was active.

        Raises:
            UnknownSchedule: If there is none.
        """
        return self._act(name, "pause", by)

    def resume(self, name: str, *, by: str | None = None) -> bool:
        """End a pause; occurrences of the time of the pause are not missed. Return whether it was paused.

        Raises:
            UnknownSchedule: If there is none.
        """
        return self._act(name, "resume", by)

    def remove(self, name: str, *, by: str | None = None) -> Held:
        """Remove a schedule; what was let go already stays. Return it as it was.

        Raises:
            UnknownSchedule: If there is none.
        """
        name = check_schedule_name(name)
        code, before = self._scripts.call(self._schedule, name, "remove", "", "", self._name(by))
        if code == b"UNKNOWN":
            raise UnknownSchedule(name)
        return read_held(name, before, None)

    def set_again(self, name: str, kept: str | None, *, by: str) -> None:
        """Let a schedule be as the journal has it; None: let there be none.

        Raises:
            InvalidRequest: If another release wrote it.
        """
        if kept is None:
            with suppress(UnknownSchedule):
                self.remove(name, by=by)
            return
        held = read_held(name, kept.encode(), None)
        if not held.is_declared:
            self.put(held.schedule, paused=held.is_paused, by=by)
        elif held.is_paused:
            # Whether it is declared still, a worker says.
            self.declare(held.schedule)
            self.pause(name, by=by)

    def _name(self, by: str | None) -> str:
        return check_by(self._by if by is None else by)

    def _act(self, name: str, act: str, by: str | None) -> bool:
        code, _ = self._scripts.call(self._schedule, check_schedule_name(name), act, "", "", self._name(by))
        if code == b"UNKNOWN":
            raise UnknownSchedule(name)
        return code == b"OK"

    def _change(self, schedule: Schedule, act: str, by: str) -> str:
        overlap = str(Overlap(schedule.overlap))
        code, _ = self._scripts.call(self._schedule, schedule.name, act, overlap, schedule.to_json(), by)
        if code == b"EXISTS":
            raise ScheduleExists(schedule.name)
        if code == b"FULL":
            allowed = f"at most {MOST_SCHEDULES}; remove some first"
            raise InvalidRequest("schedule", f"there are {MOST_SCHEDULES} schedules already", allowed=allowed)
        return code.decode()

    def get(self, name: str) -> Held:
        """Return one.

        Raises:
            UnknownSchedule: If there is none.
        """
        found = self.some([check_schedule_name(name)])
        if not found:
            raise UnknownSchedule(name)
        return found[0]

    @repeated
    def some(self, names: Sequence[str]) -> list[Held]:
        """Return those of these names that there are."""
        if not names:
            return []
        fields = [field for name in names for field in (name, f"{name}\n")]
        values = self._client.hmget(self._scripts.keys.named("schedules"), fields)
        pairs = zip(names, values[::2], values[1::2], strict=True)
        return [read_held(name, value, state) for name, value, state in pairs if value is not None]

    def page(self, after: str = "", most: int = READ_A_PAGE) -> list[Held]:
        """Return the next by name, after a name."""
        return self.some(self.names(after, most))

    @repeated
    def names(self, after: str = "", most: int = READ_A_PAGE) -> list[str]:
        """Return the next names, in order, after one."""
        key = self._scripts.keys.named("schedule_names")
        found = self._client.zrangebylex(key, f"({after}" if after else "-", "+", start=0, num=most)
        return [name.decode() for name in found]

    @repeated
    def to_plan(self, now_ms: int, most: int = READ_A_PAGE) -> list[str]:
        """Return the names of those that are to be planned now, the longest due first."""
        key = self._scripts.keys.named("schedule_times")
        found = self._client.zrangebyscore(key, "-inf", now_ms, start=0, num=most)
        return [name.decode() for name in found]

    @repeated
    def looks_ms(self, names: Sequence[str]) -> dict[str, int | None]:
        """Return when those of these names are to be planned again; None: never."""
        times = self._client.zmscore(self._scripts.keys.named("schedule_times"), list(names)) if names else ()
        return {name: None if at_ms is None else int(at_ms) for name, at_ms in zip(names, times, strict=True)}

    @repeated
    def next_look_ms(self) -> int | None:
        """Return when the next one is to be planned; None: none is."""
        found = self._client.zrange(self._scripts.keys.named("schedule_times"), 0, 0, withscores=True)
        return int(found[0][1]) if found else None

    def plan(
        self,
        held: Held,
        occurrences: Sequence[tuple[str, Sequence[Argument]]],
        *,
        epoch: int | None,
        cursor_ms: int,
        look_ms: int | None,
        missed: int = 0,
        problem: str = "",
    ) -> list[Any]:
        """Park occurrences and note how far the schedule is planned, in one step.

        Args:
            held: The schedule, as it was read: a change since then refuses this.
            occurrences: As `ms/INSTANT` and the arguments of park.lua.
            epoch: The leader's; None: nobody leads.
            cursor_ms: Each occurrence up to this is dealt with.
            look_ms: When it is to be planned again; None: never.
            missed: How many are left out.
            problem: Why there is nothing to plan, a word.

        Returns:
            The answer of plan.lua.
        """
        given = [argument for instant, arguments in occurrences for argument in (instant, *arguments)]
        looked = "" if look_ms is None else look_ms
        led = "" if epoch is None else epoch
        return self._scripts.call(self._plan, led, held.name, held.revision, cursor_ms, looked, missed, problem, *given)

    def drop_time(self, name: str, *, epoch: int | None) -> None:
        """Plan a name no more, unless there is a schedule of it by now. `epoch` as for `plan`."""
        never_kept = Held(name, "", is_declared=False, is_paused=False, revision="none")
        self.plan(never_kept, [], epoch=epoch, cursor_ms=0, look_ms=None)

    def run_now(self, name: str, arguments: Sequence[Argument]) -> list[Any]:
        """Park one execution of a schedule now; return the answer of plan.lua."""
        return self._scripts.call(self._plan, "", name, "", "", "", 0, "", "0/", *arguments)
