"""What must hold when a run is over, by the journal and by what programs noted. Pure: a test plants what must not be.

What a server forgot that came back with an older copy is forgiven by name: grants that it no longer knows may be given
again, and messages of that time need not be known.
"""

from collections import Counter
from collections.abc import Mapping

from bandmaster.scheduler.engine.journal import Verb
from bandmaster.scheduler.model.states import TERMINAL, State
from chaos.found import Found, Kind
from chaos.occurrences import OVERLAP, Occurrences, instant_of_id
from chaos.recorded import ACCEPTED, REFUSED, Recorded
from chaos.replay import Followed, Replay

Grant = tuple[str, int]


def message_of(execution_id: str) -> str:
    """The message that an execution was sent as: a plain producer's is known by that, a dot and its delivery."""
    return execution_id.partition(".")[0]


def judge(recorded: Recorded, found: Found, fair: Mapping[str, str], weights: Mapping[str, int]) -> Replay:
    """Tell `found` what was not allowed; returns the replayed journal."""
    replay = Replay(found, fair, weights).read(recorded.entries)
    for name in replay.living():
        found.add(Kind.NOT_ENDED, f"{name} is {replay.executions[name].state}")
    _sends(recorded, replay, found)
    lost = Counter(
        (entry.execution_id, int(entry.fields["attempt"]))
        for each in recorded.forgotten
        for entry in each.lost
        if entry.verb == Verb.ADMIT
    )
    _runs(recorded, replay, lost, found)
    Occurrences(found).read(recorded)
    _ends(recorded, replay, found)
    return replay


def _sends(recorded: Recorded, replay: Replay, found: Found) -> None:
    known = Counter(message_of(name) for name in replay.executions)
    for name, sent in recorded.sent.items():
        is_known = name in known
        found.unless(known[name] <= 1, Kind.ACCEPTED_TWICE, f"{name}: it became {known[name]} executions")
        if sent.outcome == ACCEPTED and not is_known:
            forgiven = any(each.may_have(sent) for each in recorded.forgotten)
            found.unless(forgiven, Kind.LOST, f"{name}, sent to {sent.planned.lane}")
        found.unless(not (sent.outcome == REFUSED and is_known), Kind.KEPT, f"{name}, sent to {sent.planned.lane}")
    for name in known.keys() - recorded.sent.keys():
        if instant_of_id(name) is None:
            found.add(Kind.NEVER_SENT, name)


def _runs(recorded: Recorded, replay: Replay, lost: Counter[Grant], found: Found) -> None:
    times = Counter((run.execution_id, run.attempt) for run in recorded.runs)
    for (name, attempt), count in times.items():
        followed = replay.executions.get(name)
        granted = lost[name, attempt] + (followed is not None and attempt in followed.granted)
        found.unless(granted > 0, Kind.NO_GRANT, f"{name}, attempt {attempt}")
        found.unless(not granted or count <= granted, Kind.RAN_TWICE, f"{name}, attempt {attempt}: {count} runs")


def _ends(recorded: Recorded, replay: Replay, found: Found) -> None:
    ended = {(run.execution_id, run.attempt) for run in recorded.runs if run.over == "ended"}
    failed = {run.execution_id for run in recorded.runs if run.over == "failed"}
    for name, followed in replay.executions.items():
        is_known = message_of(name) in recorded.sent or instant_of_id(name) is not None
        if followed.state not in TERMINAL or not is_known:
            continue
        if followed.state is State.COMPLETED:
            ran = (name, followed.completed) in ended
            found.unless(ran, Kind.DID_NOT_RUN, f"{name}, under attempt {followed.completed}")
        elif not _may_end_so(name, followed, recorded, has_failed=name in failed):
            found.add(Kind.WRONG_END, f"{name} is {followed.state} ({followed.reason or 'no reason'})")


def _may_end_so(name: str, followed: Followed, recorded: Recorded, *, has_failed: bool) -> bool:
    sent = recorded.sent.get(message_of(name))
    if sent is None:
        is_left_out = followed.taken_back or (followed.reason == OVERLAP and not followed.granted)
        return followed.state is State.CANCELLED and (is_left_out or name in recorded.cancelled)
    planned = sent.planned
    match followed.state:
        case State.FAILED:
            return planned.gives_up and has_failed
        case State.CANCELLED:
            return name in recorded.cancelled
        case State.EXPIRED:
            return "max_age" in planned.options
        case _:
            return False
