"""The API as it describes itself: what stands in the repository is what it says, and version 1 only grows."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import jsonschema_rs
import pytest
from openapi_growth import committed_before, resolved, taken_away

from bandmaster.admin.describing import described

ROOT: Final = Path(__file__).parents[2]
FILE: Final = ROOT / "docs" / "reference" / "openapi.json"
DOCUMENT: Final = described()
OPERATIONS: Final = [
    (f"{method} {path}", operation) for path, item in DOCUMENT["paths"].items() for method, operation in item.items()
]


def test_the_reference_is_what_the_api_says() -> None:
    made = subprocess.run(
        [sys.executable, "-m", "bandmaster.admin.describing"], capture_output=True, text=True, check=True
    )
    assert made.stdout == FILE.read_text(), "python -m bandmaster.admin.describing > docs/reference/openapi.json"


def test_what_is_read_says_from_where_and_of_when_it_is() -> None:
    schemas = DOCUMENT["components"]["schemas"]
    silent = set[str]()
    for path, item in DOCUMENT["paths"].items():
        answer = item.get("get", {}).get("responses", {}).get("200", {}).get("content", {}).get("application/json")
        if answer is not None:
            told = schemas[answer["schema"]["$ref"].rpartition("/")[2]]["properties"]
            if not {"source", "as_of"} <= set(told):
                silent.add(path.rpartition("/")[2])
    # Of the caller and the process itself, and of output, which is that of a pod or of its end.
    of_items = {
        "{queue}",
        "{item_id}",
        "{trigger}",
        "{notification}",
        "next",
        "held",
    }  # of the database at that moment, with a revision or a fence
    assert silent == {"whoami", "session", "tokens", "healthz", "readyz", "logs"} | of_items


def test_it_is_openapi_3_1() -> None:
    assert DOCUMENT["openapi"].startswith("3.1.")
    names = [operation["operationId"] for _, operation in OPERATIONS]
    assert len(names) == len(set(names))


def test_bounds_are_said_in_the_words_of_json_schema() -> None:
    """Pydantic leaves its own where something reads the value before it is checked."""
    text = json.dumps(DOCUMENT)
    assert [word for word in ("ge", "gt", "le", "lt", "min_length", "max_length") if f'"{word}": ' in text] == []


def test_each_operation_says_what_it_is_for_and_how_it_refuses() -> None:
    wrong = list[str]()
    for name, operation in OPERATIONS:
        wrong += [f"{name}: {word}" for word in ("summary", "description") if not operation.get(word)]
        for status in ("401", "403", "404", "422", "503"):
            content = resolved(DOCUMENT, operation["responses"].get(status, {})).get("content", {})
            if not {"application/problem+json", "application/json"} & set(content):
                wrong.append(f"{name}: {status}")
    assert wrong == []


def examples_that_are_none(operation: dict[str, Any]) -> list[str]:
    """What is wrong with the example of each body and each answer of an operation."""
    answers = [each for status, each in operation["responses"].items() if status.startswith("2")]
    parts = [*answers, *([operation["requestBody"]] if "requestBody" in operation else [])]
    wrong = list[str]()
    for content in [content for part in parts for content in part.get("content", {}).values()]:
        if len(content.get("examples", {})) != 1:
            wrong.append("it has not one example")
            continue
        (example,) = content["examples"].values()
        validator = jsonschema_rs.Draft202012Validator(content["schema"] | {"components": DOCUMENT["components"]})
        wrong += [problem.message for problem in validator.iter_errors(example["value"])]
    return wrong


def test_each_body_and_each_answer_has_an_example_that_is_one() -> None:
    assert {name: wrong for name, each in OPERATIONS if (wrong := examples_that_are_none(each))} == {}
    planted = json.loads(json.dumps(dict(OPERATIONS)["get /healthz"]))
    (example,) = planted["responses"]["200"]["content"]["application/json"]["examples"].values()
    example["value"] = "another"
    assert examples_that_are_none(planted) != []


def test_each_operation_tells_of_every_refusal() -> None:
    every = {"400", "401", "403", "404", "408", "409", "412", "413", "421", "422", "428", "429"}
    assert {name: left for name, each in OPERATIONS if (left := every - set(each["responses"]))} == {}


def test_version_1_only_grows() -> None:
    before = committed_before(FILE, DOCUMENT)
    assert taken_away(before or json.loads(FILE.read_text()), DOCUMENT) == []
    if before is None:
        pytest.skip("no earlier version of the document is at hand: no repository, or one without its history")


def test_what_is_taken_away_is_found() -> None:
    smaller = json.loads(json.dumps(DOCUMENT))
    schemas = smaller["components"]["schemas"]
    del smaller["paths"]["/healthz"]
    del schemas["Whoami"]["properties"]["owner"]
    schemas["State"]["enum"].remove("PENDING")
    schemas["Submission"]["required"] = ["script"]
    listing = smaller["paths"]["/api/v1/executions/"]["get"]
    listing["parameters"] = [each for each in listing["parameters"] if each["name"] != "text"]
    planted = {
        "/paths//healthz",
        "/paths//api/v1/whoami/get/responses/200/content/application/json/schema/properties/owner",
        "/paths//api/v1/executions/{execution_id}/get/responses/200/content/application/json/schema/properties/state/enum"
        " PENDING",
        "/paths//api/v1/executions//post/requestBody/content/application/json/schema/required script",
        "/paths//api/v1/executions//get/parameters/query text",
    }
    found = taken_away(DOCUMENT, smaller)
    assert planted <= set(found)
    # The others are the same ones where they are used, too.
    ends = ("PENDING", "/required script", *planted)
    assert [one for one in found if not one.endswith(ends)] == []
    assert taken_away(smaller, DOCUMENT) == []


def test_what_is_newly_demanded_is_found() -> None:
    stricter = json.loads(json.dumps(DOCUMENT))
    added = {"in": "query", "name": "why", "required": True, "schema": {"type": "string"}}
    stricter["paths"]["/healthz"]["get"]["parameters"] = [added]
    stricter["paths"]["/api/v1/executions/{execution_id}/cancel"]["post"]["requestBody"]["required"] = True
    assert taken_away(DOCUMENT, stricter) == [
        "/paths//api/v1/executions/{execution_id}/cancel/post/requestBody/required",
        "/paths//healthz/get/parameters/query why required",
    ]


def test_a_part_that_moves_to_the_components_is_not_taken_away() -> None:
    moved = json.loads(json.dumps(DOCUMENT))
    answer = moved["paths"]["/healthz"]["get"]["responses"]["200"]["content"]["application/json"]
    answer["schema"] = moved["components"]["schemas"].pop("Health")
    assert taken_away(DOCUMENT, moved) == taken_away(moved, DOCUMENT) == []


def test_a_document_is_compared_with_the_last_version_that_was_another(tmp_path: Path) -> None:
    file = tmp_path / "document.json"
    assert committed_before(file, {"version": 3}) is None

    def git(*arguments: str) -> None:
        named = ("-c", "user.name=a test", "-c", "user.email=test@example.org", "-c", "commit.gpgsign=false")
        subprocess.run(["git", *named, *arguments], cwd=tmp_path, check=True, capture_output=True)

    git("init")
    for version in (1, 2, 3):
        file.write_text(json.dumps({"version": version}))
        git("add", file.name)
        git("commit", "--message", str(version))
    assert committed_before(file, {"version": 3}) == {"version": 2}
    assert committed_before(file, {"version": 4}) == {"version": 3}
