"""From an event to what its pod runs, and from a pod's outcome to what is reported and kept. Pure."""

import json
from typing import Any

import pytest

from bandmaster.actors.outcome import absent_event, event_of, rejection_json, result_json
from bandmaster.actors.pod_spec import pod_spec
from bandmaster.configs.areas import KubernetesSettings
from bandmaster.k8s.errors import PodRejected
from bandmaster.k8s.pods import PodOutcome, PodPhase, PodStatus, Reason
from bandmaster.scheduler.events import (
    OUTPUT_TAIL_MAX_CHARS,
    ExecutionCompletedEvent,
    ExecutionFailedEvent,
    ExecutionRequestedEvent,
    ExecutionTimeoutEvent,
)

DEFAULTS = KubernetesSettings()


def requested(**fields: Any) -> ExecutionRequestedEvent:
    return ExecutionRequestedEvent.from_any({"execution_id": "x", "script": "1", **fields})


def test_a_profile_that_a_request_names_gives_the_defaults() -> None:
    gpu = {"default_image": "cuda:12", "memory_limit": "16Gi"}
    settings = KubernetesSettings.model_validate({"profiles": {"gpu": gpu}})
    spec = pod_spec(requested(metadata={"profile": "gpu"}), 1, settings)
    assert (spec.profile, spec.image, spec.memory_limit) == ("gpu", "cuda:12", "16Gi")
    with pytest.raises(PodRejected, match="'huge' is not configured"):
        pod_spec(requested(metadata={"profile": "huge"}), 1, settings)


def ended(reason: Reason, **facts: Any) -> PodStatus:
    outcome: dict[str, Any] = {
        "exit_code": None,
        "signal": None,
        "reason": reason,
        "started_at": 1_000.0,
        "ended_at": 1_002.5,
        "duration_seconds": 2.5,
        "output_tail": "",
        "output_truncated": False,
    }
    return PodStatus(
        name="exec-x-1",
        uid="uid",
        execution_id="x",
        attempt=1,
        phase=PodPhase.FAILED,
        outcome=PodOutcome(**{**outcome, **facts}),
        created_at=999.0,
    )


def test_what_a_request_leaves_out_comes_from_the_settings() -> None:
    spec = pod_spec(requested(), 3, DEFAULTS)
    assert (spec.execution_id, spec.attempt, spec.action, spec.timeout_seconds) == ("x", 3, "pod", 300)
    assert spec.image == DEFAULTS.default_image
    assert (spec.cpu_request, spec.cpu_limit) == (DEFAULTS.cpu_request, DEFAULTS.cpu_limit)
    assert (spec.memory_request, spec.memory_limit) == (DEFAULTS.memory_request, DEFAULTS.memory_limit)
    assert spec.script is not None
    assert spec.script.text == "1"
    assert spec.user_id is None


def test_what_a_request_says_is_taken() -> None:
    spec = pod_spec(
        requested(
            script=None,
            command=["a", "b"],
            image="own:1",
            cpu_limit="2",
            memory_limit="64Mi",
            metadata={"user_id": "ann"},
            timeout_seconds=7,
        ),
        1,
        DEFAULTS,
    )
    assert (spec.command, spec.script, spec.image) == (("a", "b"), None, "own:1")
    assert (spec.cpu_limit, spec.memory_limit, spec.user_id, spec.timeout_seconds) == ("2", "64Mi", "ann", 7)


@pytest.mark.parametrize(
    ("given", "limit", "request_"),
    [({"memory_limit": "1Mi"}, "1Mi", None), ({"memory_request": "8Gi"}, None, "8Gi")],
)
def test_a_default_never_contradicts_the_one_that_was_given(
    given: dict[str, str], limit: str | None, request_: str | None
) -> None:
    spec = pod_spec(requested(**given), 1, DEFAULTS)
    assert (spec.memory_limit, spec.memory_request) == (limit, request_)


@pytest.mark.parametrize("image", ["evil/miner", "good", "good/x/../../evil"])
def test_an_image_that_is_not_allowed_is_refused_by_name(image: str) -> None:
    settings = KubernetesSettings(allowed_images=("good/a:*", "python:3.11-slim"))
    with pytest.raises(PodRejected, match=image):
        pod_spec(requested(image=image), 1, settings)
    assert pod_spec(requested(image="good/a:2"), 1, settings).image == "good/a:2"
    assert pod_spec(requested(), 1, settings).image == "python:3.11-slim"


@pytest.mark.parametrize(
    ("reason", "event", "infrastructure"),
    [
        (Reason.COMPLETED, ExecutionCompletedEvent, None),
        (Reason.ERROR, ExecutionFailedEvent, False),
        (Reason.START_ERROR, ExecutionFailedEvent, False),
        (Reason.OOM_KILLED, ExecutionFailedEvent, False),
        (Reason.DEADLINE_EXCEEDED, ExecutionTimeoutEvent, None),
        (Reason.DELETED, ExecutionFailedEvent, False),
        (Reason.EVICTED, ExecutionFailedEvent, True),
        (Reason.PREEMPTED, ExecutionFailedEvent, True),
        (Reason.NODE_LOST, ExecutionFailedEvent, True),
        (Reason.IMAGE_PULL, ExecutionFailedEvent, False),
        (Reason.UNSCHEDULABLE, ExecutionFailedEvent, False),
        (Reason.CREATE_CONTAINER_CONFIG_ERROR, ExecutionFailedEvent, False),
    ],
)
def test_each_reason_becomes_its_event(reason: Reason, event: type, infrastructure: bool | None) -> None:
    made = event_of(ended(reason))
    assert type(made) is event
    assert (made.execution_id, made.attempt, made.at, made.duration_seconds) == ("x", 1, 1_002_500, 2.5)
    assert made.reason == reason
    assert getattr(made, "infrastructure", None) is infrastructure


def test_every_reason_has_an_event() -> None:
    for reason in Reason:
        event_of(ended(reason))


@pytest.mark.parametrize(
    ("exit_code", "signal", "shown"), [(0, None, 0), (3, None, 3), (None, 9, 137), (None, 15, 143), (None, None, None)]
)
def test_a_signal_shows_as_the_exit_code_that_a_shell_gives_it(
    exit_code: int | None, signal: int | None, shown: int | None
) -> None:
    assert event_of(ended(Reason.ERROR, exit_code=exit_code, signal=signal)).exit_code == shown


def test_output_that_cannot_be_stored_is_replaced_and_cut() -> None:
    made = event_of(ended(Reason.ERROR, output_tail="\ud800\0\x1b[31m" + "x" * OUTPUT_TAIL_MAX_CHARS))
    assert len(made.output_tail) == OUTPUT_TAIL_MAX_CHARS
    assert made.output_truncated
    assert type(made).from_json(made.to_json()) == made
    assert "\0" not in event_of(ended(Reason.ERROR, output_tail="a\0b")).output_tail


def test_a_pod_that_has_not_ended_has_no_event() -> None:
    alive = PodStatus(
        name="n", uid="u", execution_id="x", attempt=1, phase=PodPhase.RUNNING, outcome=None, created_at=1.0
    )
    with pytest.raises(ValueError, match="has not ended"):
        event_of(alive)


def test_a_pod_that_is_absent_is_an_infrastructure_failure_of_its_attempt() -> None:
    made = absent_event("x", 4, "uid")
    assert isinstance(made, ExecutionFailedEvent)
    assert (made.attempt, made.infrastructure, made.reason) == (4, True, "PodAbsent")


@pytest.mark.parametrize(
    ("reason", "event", "infrastructure"),
    [
        (Reason.DELETED, ExecutionFailedEvent, True),
        (Reason.ERROR, ExecutionFailedEvent, False),
        (Reason.COMPLETED, ExecutionCompletedEvent, None),
    ],
)
def test_a_pod_that_is_absent_ends_as_its_last_words_say(
    reason: Reason, event: type, infrastructure: bool | None
) -> None:
    made = absent_event("x", 4, "uid", ended(reason, output_tail="bye"))
    assert isinstance(made, event)
    assert made.output_tail == "bye"
    assert getattr(made, "infrastructure", None) is infrastructure


def test_results_are_json_with_what_is_known() -> None:
    assert json.loads(result_json(event_of(ended(Reason.ERROR, exit_code=3, output_tail="oops")))) == {
        "exit_code": 3,
        "reason": "Error",
        "duration_seconds": 2.5,
        "output_tail": "oops",
        "output_truncated": False,
    }
    assert json.loads(rejection_json(PodRejected("why not"))) == {
        "reason": "PodRejected",
        "output_tail": "why not",
        "output_truncated": False,
    }
