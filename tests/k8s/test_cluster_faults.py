"""What the API server's refusals and silences are taken for, and how long one of them is waited for."""

import time

import pytest

from bandmaster.k8s.cluster.faults import ApiError, Fault, api_error, watch_error
from bandmaster.k8s.cluster.objects import ApiStatus, ErrorEvent, PodEvent, read_event
from bandmaster.k8s.cluster.patience import Patience
from bandmaster.k8s.errors import PodsUnavailable
from waiting import GENEROUS_SECONDS


def body(message: str) -> bytes:
    return ApiStatus(message=message).model_dump_json().encode()


ANSWERS = (
    (400, "bad", Fault.REJECTED),
    (401, "Unauthorized", Fault.DENIED),
    (403, 'pods "x" is forbidden: violates PodSecurity "restricted:latest"', Fault.REJECTED),
    (403, 'pods "x" is forbidden: exceeded quota: pods, requested: pods=1', Fault.DENIED),
    (403, 'User "u" cannot create resource "pods"', Fault.DENIED),
    (403, 'User "u" cannot get resource "pods/log"', Fault.DENIED),
    (403, 'pods "x" is forbidden: error looking up service account n/default', Fault.DENIED),
    (403, "unable to create new content in namespace n because it is being terminated", Fault.DENIED),
    (404, "not found", Fault.NOT_FOUND),
    (409, "already exists", Fault.CONFLICT),
    (410, "too old resource version", Fault.EXPIRED),
    (413, "too large", Fault.REJECTED),
    (422, "invalid", Fault.REJECTED),
    (429, "slow down", Fault.BUSY),
    (500, "etcdserver: request timed out", Fault.FAILED),
    (500, "etcdserver: request is too large", Fault.REJECTED),
    (503, "", Fault.FAILED),
)


def test_an_answer_is_taken_for_what_can_be_done_about_it(subtests: pytest.Subtests) -> None:
    for status, message, fault in ANSWERS:
        with subtests.test(status=status, message=message, fault=fault):
            error = api_error(status, body(message))
            assert error.fault is fault
            assert str(status) in str(error)
            assert message in str(error)


EFFECTS = (
    (Fault.BUSY, True, False),
    (Fault.UNREACHABLE, True, False),
    (Fault.FAILED, True, True),
    (Fault.SILENT, True, True),
    (Fault.DENIED, False, False),
    (Fault.REJECTED, False, False),
)


def test_only_what_was_surely_without_effect_says_that_no_pod_can_exist(subtests: pytest.Subtests) -> None:
    for fault, passing, may_exist in EFFECTS:
        with subtests.test(fault=fault, passing=passing, may_exist=may_exist):
            error = ApiError(fault, "so")
            assert (error.passing, error.pod_may_exist) == (passing, may_exist)
            assert isinstance(error, PodsUnavailable)


def test_a_page_that_is_no_status_is_shown_in_one_bounded_line() -> None:
    error = api_error(502, b"<html>\n<body>\x1b[31mBad\ngateway" + b"x" * 10_000)
    assert "\n" not in str(error)
    assert len(str(error)) < 600


@pytest.mark.parametrize(("value", "seconds"), [("3", 3), ("0", 0), ("", None), ("soon", None)])
def test_retry_after_is_read_in_seconds(value: str, seconds: float | None) -> None:
    assert api_error(429, b"", {"Retry-After": value}).retry_after_seconds == seconds


def test_retry_after_is_read_as_a_date() -> None:
    error = api_error(503, b"", {"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"})
    assert error.retry_after_seconds == 0


def test_a_watch_that_ends_with_an_old_version_says_so() -> None:
    event = read_event(b'{"type":"ERROR","object":{"kind":"Status","code":410,"reason":"Expired","message":"old"}}')
    assert isinstance(event, ErrorEvent)
    assert watch_error(event.object).fault is Fault.EXPIRED
    assert watch_error(ApiStatus(code=500, message="internal")).fault is Fault.FAILED


def test_an_event_needs_only_what_is_read_of_it() -> None:
    event = read_event(
        b'{"type":"ADDED","object":{"metadata":{"name":"x","uid":"1","creationTimestamp":"2026-01-01T00:00:00Z"},'
        b'"spec":{"containers":[]},"status":{}}}'
    )
    assert isinstance(event, PodEvent)
    assert event.object.name == "x"


def test_patience_waits_at_least_as_long_as_the_server_asks_for() -> None:
    assert Patience(10).delay(ApiError(Fault.BUSY, "", retry_after_seconds=7)) == 7


def test_patience_does_not_begin_a_wait_that_would_end_too_late() -> None:
    began = time.monotonic()
    assert not Patience(1_800).wait(ApiError(Fault.BUSY, "", retry_after_seconds=3_600))
    assert time.monotonic() - began < GENEROUS_SECONDS


def test_patience_is_over_at_once_for_what_no_repetition_helps() -> None:
    assert not Patience(10).wait(ApiError(Fault.REJECTED, ""))


def test_delays_grow_up_to_a_bound() -> None:
    patience = Patience(10)
    delays = [patience.delay(None) for _ in range(12)]
    assert delays[0] <= 0.1
    assert 2.5 <= delays[-1] <= 5
    patience.reset()
    assert patience.delay(None) <= 0.1
