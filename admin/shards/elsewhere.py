"""``told_elsewhere``: an execution that the API's own server does not know may be on another shard.

In the flow: where `UnknownExecution` becomes a problem, and nowhere else, so every route about one execution says it.
The others are asked all at once, for a second at most. Only who may see an execution is told where it is. An end whose
record is forgotten, and what only another shard's ledger knows, are not found.
"""

from typing import Any

from starlette.requests import Request

from ...scheduler.model.errors import UnknownExecution
from ..auth.tokens import CALLER, Caller
from ..errors import Refused
from .shards import Shards


async def told_elsewhere(request: Request, error: UnknownExecution) -> tuple[str, dict[str, Any]]:
    """Return what is to be said beyond that an execution is unknown, and further members of the problem.

    Args:
        request: The one that is answered.
        error: Says which execution.
    """
    shards: Shards = request.app.state.services.shards
    caller: Caller | None = getattr(request.state, CALLER, None)
    if caller is None or not shards.others:
        return "", {}
    here = f"; this API is that of shard {shards.own}, and"
    try:
        answers = await shards.records(error.execution_id)
    except Refused:
        return f"{here} the others could not be asked now", {}
    for name, meta in answers.found.items():
        if meta and caller.sees(meta.get("user")):
            return f"{here} the execution is on shard {name}: ask the API of that one", {"shard": name}
    silent = list(answers.away)
    if silent:
        return f"{here} {', '.join(silent)} did not answer and may know it", {"shards_away": silent}
    return "", {}
