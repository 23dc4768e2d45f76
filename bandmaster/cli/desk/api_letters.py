"""``ApiLetters``: dead letters through the admin API, as far as the token sees them.

In the flow: one side of `port.Letters`. A retry is not sent again if its answer is lost, since it would run the work
twice: `dead` tells whether the letter is still there.
"""

from collections.abc import Sequence
from typing import Any, ClassVar, Final

from bandmaster.admin.client import calls
from bandmaster.admin.client.errors import ApiProblem
from bandmaster.cli.desk.answers import record_of
from bandmaster.cli.desk.port import Executions
from bandmaster.cli.desk.told import Letter, LetterRefused
from bandmaster.cli.exits import WrongUsage
from bandmaster.cli.expected import exit_of
from bandmaster.middleware.operations.dead_letters import Again
from bandmaster.scheduler.finding import meant
from bandmaster.scheduler.model.identifiers import check_execution_id

A_PAGE: Final = 200
_REFUSALS: Final = frozenset({"not_runnable", "not_dead", "queue_full", "user_limit", "duplicate", "invalid"})


class ApiLetters:
    """Dead letters that an API tells of. Every method raises ApiProblem and ApiUnavailable."""

    untold: ClassVar[frozenset[str]] = frozenset({"failure"})

    def __init__(self, client: Any, executions: Executions) -> None:
        """Args: `client`, a `bandmaster.client.Client`, which another extra brings; `executions`, of the same API."""
        self._send = client.send
        self._executions = executions

    def listed(self, most: int) -> list[Letter]:
        """The latest."""
        if most > A_PAGE:
            raise WrongUsage(f"--limit: the API lists {A_PAGE} dead letters at most")
        records = [record_of(each) for each in self._send(calls.dead(most)).executions]
        return [Letter(each, self._executions.result(each.execution_id), None) for each in records]

    def ids(self) -> list[str]:
        """The ids of the latest."""
        return [each.execution_id for each in self._send(calls.dead(A_PAGE)).executions]

    def find(self, typed: str) -> str:
        """The id that was meant, by itself or, among the latest, by its beginning."""
        check_execution_id(typed)
        try:
            if self._send(calls.show(typed)).dead:
                return typed
        except ApiProblem as problem:
            if problem.code != "not_found":
                raise
        return meant(typed, self.ids())

    def retry(self, execution_id: str) -> Again:
        """Run one again, under a new id; the API drops it."""
        lane = self._send(calls.show(execution_id)).lane or ""
        try:
            retried = self._send(calls.retry(execution_id))
        except ApiProblem as problem:
            if problem.code not in _REFUSALS:
                raise
            raise LetterRefused(problem.detail, exit_of(problem)) from problem
        return Again(execution_id, retried.new_execution_id, lane, retried.position)

    def refused_again(self, retried: Sequence[Again]) -> dict[str, str]:
        """The API does not tell what a worker refused; `dead` lists it."""
        return {}

    def drop(self, execution_id: str) -> bool:
        """Forget one; whether there was one."""
        try:
            self._send(calls.drop(execution_id))
        except ApiProblem as problem:
            if problem.code not in ("not_found", "not_dead"):
                raise
            return False
        return True
