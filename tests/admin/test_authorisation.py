"""Every route that the OpenAPI document has, with every scope, on one's own, another's and nobody's execution.

A route that is new is asked like all others; one whose rule ``needed_scopes.py`` does not know fails. A case tells
every answer that is wrong. What a request may have changed is put back before the next one.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import pytest
import redis
from calling import V1, SharedServer, served, signed_in
from databases import MadeFor
from matrix import (
    ASKED,
    OF_ONE,
    OPEN,
    PAYLOADS,
    ROUTES,
    STREAMS,
    Answer,
    Filled,
    asked,
    changes_one,
    filled,
    needed_of,
    operation_of,
    sent_to,
)
from needed_scopes import NEEDED

from bandmaster.admin.api import cookies
from bandmaster.admin.auth.scopes import INCLUDED, Scope


def may(scope: Scope, way: str, method: str, path: str, needed: Scope) -> bool:
    """Whether a route lets a scope in, if it is this one that it needs."""
    if needed not in INCLUDED[scope]:
        return False
    if scope is Scope.READ and (changes_one(method, path) or path.endswith("/bulk/plan")):
        return False
    if path.endswith("/queue-items/next"):
        # Of old, and it changes something: whoever is signed in by a cookie may not.
        return method == "post" or way == "token"
    return True


@pytest.fixture(scope="module")
def one_api(
    redis_url: str, tmp_path_factory: pytest.TempPathFactory, shared: SharedServer, made_ledger: MadeFor
) -> Iterator[Filled]:
    folder = tmp_path_factory.mktemp("api")
    with redis.Redis.from_url(redis_url) as client:
        client.flushdb()
        for api in served(client, made_ledger("sqlite", folder), folder, shared.working_with):
            made = Filled(api, client)
            yield made
            for each in made.clients.values():
                each.close()
        client.flushdb()


@pytest.fixture
def filled_api(one_api: Filled) -> Filled:
    """The same for each test, as it was filled."""
    one_api.kept.put_back()
    return one_api


def test_each_route_says_what_it_needs() -> None:
    wrong = list[str]()
    for method, path in ROUTES:
        security: Any = operation_of(method, path).get("security")
        if (method, path) in OPEN:
            is_right = security is None
        else:
            needed = sorted(needed_of(method, path))
            is_right = [{name: sorted(scopes) for name, scopes in each.items()} for each in security or ()] == [
                {"token": needed},
                {"session": needed},
            ]
        if not is_right:
            wrong.append(f"{method} {path}: {security}")
    assert wrong == []


def test_no_rule_is_left_of_a_route_that_is_gone() -> None:
    operations = {operation_of(*route)["operationId"].removeprefix("admin_") for route in ASKED}
    assert set(NEEDED) == operations


def test_nobody_gets_in_without_a_token_or_a_session_that_is_valid(filled_api: Filled) -> None:
    before = filled_api.now()
    token = filled_api.api.token("ann", "admin")
    texts = ("x", "bm_x_y", token[:-1] + ("A" if token[-1] != "A" else "B"), token.upper())
    headers: list[dict[str, str]] = [{}, *({"Authorization": f"Bearer {text}"} for text in texts)]
    headers += [{"Cookie": f"{cookies.NAME}={cookie}"} for cookie in ("", "x", "A" * 43, token)]
    wrong = list[str]()
    with filled_api.api.client(None) as client:
        for method, path in ASKED:
            for each in headers:
                answer = asked(client, method, filled(path), **sent_to(method, path), headers=each)
                told = (answer.status_code, answer.json()["code"], answer.headers.get("WWW-Authenticate", "")[:6])
                if told != (401, "unauthorized", "Bearer"):
                    wrong.append(f"{method} {path} with {each}: {answer.status_code} {answer.text}")
    assert wrong == []
    assert filled_api.now() == before


def test_nothing_is_changed_by_a_cookie_alone(filled_api: Filled) -> None:
    wrong = list[str]()
    with (
        signed_in(filled_api.api, filled_api.api.token("ann", "admin")) as client,
        signed_in(filled_api.api, filled_api.api.token("ann", "admin")) as another,
    ):
        before = filled_api.now()
        told = client.headers.pop(cookies.CSRF_HEADER)
        for method, path in ASKED:
            for given in ("", "x", told + "x", another.headers[cookies.CSRF_HEADER]) if method != "get" else ():
                headers = {cookies.CSRF_HEADER: given} if given else {}
                answer = Answer.of(client, method, filled(path), **sent_to(method, path), headers=headers)
                if (answer.status, answer.code) != (403, "csrf_token_needed"):
                    wrong.append(f"{method} {path} with {given!r}: {answer}")
        assert client.get(f"{V1}/session").status_code == 200
    assert wrong == []
    assert filled_api.now() == before


def unlike(needed: Scope, answers: Mapping[tuple[Scope, str], Answer], method: str, path: str) -> list[str]:
    """The answers that a route does not give which needs this scope."""
    return [
        f"{scope} by {way}: {answer}"
        for (scope, way), answer in answers.items()
        if not (answer.is_right if may(scope, way, method, path, needed) else answer.is_forbidden)
    ]


@pytest.mark.parametrize(("method", "path"), ASKED)
def test_a_scope_opens_what_it_includes_and_nothing_else(filled_api: Filled, method: str, path: str) -> None:
    execution_id = "own-dead" if path.endswith(("/retry", "/dead")) and changes_one(method, path) else "own"
    before = filled_api.now()
    needs = needed_of(method, path)
    # An admin has all scopes.
    needed = Scope.ADMIN if Scope.ADMIN in needs else needs.pop()
    callers = [(scope, way) for scope in Scope for way in ("token", "session")]
    # Who is let in comes first: what they change is put back, and would take with it what a refused one changed.
    callers.sort(key=lambda caller: not may(*caller, method, path, needed))
    answers = {caller: filled_api.answer(*caller, method, path, execution_id) for caller in callers}
    assert unlike(needed, answers, method, path) == []
    # The answers tell what the route needs: no other rule fits them.
    assert [each for each in Scope if not unlike(each, answers, method, path)] == [needed]
    # Those who were not let in changed nothing.
    assert filled_api.now() == before


@pytest.mark.parametrize(("method", "path"), OF_ONE)
def test_an_execution_of_another_is_there_for_operators_only(filled_api: Filled, method: str, path: str) -> None:
    before = filled_api.now()
    wrong = list[str]()
    # Who is let in comes first, as above.
    for scope in sorted(Scope, key=lambda each: each not in (Scope.OPERATE, Scope.ADMIN)):
        for whose in ("bobs", "nobodys"):
            execution_id = f"{whose}-dead" if path.endswith(("/retry", "/dead", "/result")) else whose
            answer = filled_api.answer(scope, "token", method, path, execution_id)
            if not needed_of(method, path) <= INCLUDED[scope]:
                is_right = answer.is_forbidden
            elif scope is Scope.ADMIN:
                is_right = answer.status < 300
            elif scope is Scope.OPERATE:
                is_right = answer.is_forbidden if path.endswith(PAYLOADS) else answer.status < 300
            else:
                # As if it did not exist.
                unknown = filled_api.answer(scope, "token", method, path, f"{execution_id}x")
                is_right = (answer.status, answer.code) == (404, "not_found")
                is_right &= answer.text.replace(execution_id, f"{execution_id}x") == unknown.text
            if not is_right:
                wrong.append(f"{scope}, of {execution_id}: {answer}")
    assert wrong == []
    assert filled_api.now() == before


@pytest.mark.parametrize("scope", [Scope.READ, Scope.SUBMIT])
def test_lists_and_counts_show_no_other_user(filled_api: Filled, scope: Scope) -> None:
    filled_api.queue.controls.set_limit("user:bob", 0)
    with filled_api.api.client(filled_api.api.token("ann", scope)) as client:
        for method, path in ROUTES:
            if method != "get" or (method, path) in OPEN or not needed_of(method, path) <= INCLUDED[scope]:
                continue
            if path in STREAMS:
                continue  # tests/admin/test_api_events.py and test_following_output.py
            text = client.get(filled(path)).text
            assert "bob" not in text, path
            assert "nobodys" not in text, path
        assert client.get(f"{V1}/executions/", params={"user": "bob"}).status_code == 403
        listed = client.get(f"{V1}/executions/", params={"text": "o", "total": True}).json()
        assert {each["execution_id"] for each in listed["executions"]} == {"own", "own-dead"}
        assert listed["total"] == 2
