"""Who misspells a filter or forgets a slash is told so, and gets neither everything nor what looks like success."""

from typing import Final

import pytest
from calling import V1, Api

MISSPELT: Final[list[tuple[str, str, str]]] = [
    ("/executions/?user_id=bob&limit=3", "user_id", "did you mean user?"),
    ("/executions/?statsu=PENDING", "statsu", "did you mean status?"),
    ("/admin/executions/?bogus=1", "bogus", "allowed: "),
    ("/executions/living?sort=x", "sort", "there is no such parameter"),
    ("/whoami?x=1", "x", "allowed: none"),
]


def test_a_parameter_that_no_route_knows_is_refused(api: Api, subtests: pytest.Subtests) -> None:
    for path, field, said in MISSPELT:
        with subtests.test(path=path, field=field, said=said), api.client(api.token("ann", "admin")) as client:
            answer = client.get(f"{V1}{path}")
            assert (answer.status_code, answer.json()["code"], answer.json()["field"]) == (422, "invalid", field)
            assert said in answer.json()["detail"]


def test_a_field_that_the_body_does_not_have_is_refused_with_those_that_it_has(api: Api) -> None:
    with api.client(api.token("ann", "admin")) as client:
        for path, sent, field, said in (
            (
                "limits/tenant:1",
                {"limti": 2},
                "limti",
                "there is no such field; allowed: auto, limit; did you mean limit?",
            ),
            (
                "executions/x/priority",
                {"zzz": 2, "priority": "LOW"},
                "zzz",
                "there is no such field; allowed: priority",
            ),
        ):
            answer = client.put(f"{V1}/{path}", json=sent)
            (wrong,) = [each for each in answer.json()["errors"] if each["field"] == field]
            assert (answer.status_code, wrong["problem"]) == (422, said)


def test_a_method_that_a_path_has_not_is_refused_with_those_that_it_has(api: Api) -> None:
    with api.client(api.token("ann", "admin")) as client:
        answer = client.post(f"{V1}/limits/tenant:1")
        assert (answer.status_code, answer.json()["code"]) == (405, "method_not_allowed")
        assert answer.headers["Allow"] == "GET, PUT, DELETE"
        assert answer.json()["detail"] == "POST is not possible here; allowed: GET, PUT, DELETE"


def test_a_name_of_a_parameter_is_shown_without_harm(api: Api) -> None:
    with api.client(api.token("ann", "admin")) as client:
        answer = client.get(f"{V1}/whoami", params={"<img>\0\n" * 100: "1"})
        assert answer.status_code == 422
        assert len(answer.text) < 1_000
        assert "\0" not in answer.json()["detail"]


def test_who_may_not_ask_is_told_that_first(api: Api) -> None:
    with api.client(None) as client:
        assert client.get(f"{V1}/executions/?bogus=1").status_code == 401


SLASHES: Final[list[tuple[str, str]]] = [("/executions", "/executions/"), ("/users/", "/users")]


def test_a_slash_too_few_or_too_many_is_an_error_that_names_the_right_path(api: Api, subtests: pytest.Subtests) -> None:
    for path, right in SLASHES:
        with subtests.test(path=path, right=right):
            with api.client(api.token("ann", "admin")) as client:
                answer = client.post(f"{V1}{path}", json={"command": ["true"]})
                assert (answer.status_code, answer.json()["code"]) == (404, "not_found")
                assert answer.json()["detail"] == f"there is no '{V1}{path}' here; did you mean '{V1}{right}'?"
                assert api.queue.views.pending() == []
            with api.client(api.token("ann", "admin")) as client:
                assert "did you mean" not in client.get(f"{V1}/nothing").json()["detail"]
