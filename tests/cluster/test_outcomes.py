"""How real pods end, and what is told of it."""

import time

import pytest
from cluster_admin import Admin
from making import Connect, MakeSpec
from program_output import wait_until_it_says
from watcher import Watcher

from bandmaster.k8s.pods import PodPhase, Pods, PodScript, Reason
from waiting import wait_until


def test_a_success_tells_exit_code_output_and_times(pods: Pods, spec: MakeSpec) -> None:
    began = time.monotonic()
    created = pods.create(spec("echo to out; echo to err >&2; sleep 1"))
    with Watcher(pods) as watcher:
        outcome = watcher.end(created.name)
    assert (outcome.reason, outcome.exit_code, outcome.signal) == (Reason.COMPLETED, 0, None)
    assert sorted(outcome.output_tail.splitlines()) == ["to err", "to out"]
    assert not outcome.output_truncated
    assert outcome.started_at is not None
    assert 1 <= outcome.duration_seconds <= time.monotonic() - began + 1, "the cluster tells whole seconds"
    assert watcher.statuses(created.name)[-1].phase is PodPhase.SUCCEEDED


def test_a_failure_tells_its_exit_code(pods: Pods, spec: MakeSpec) -> None:
    created = pods.create(spec("echo why; exit 3"))
    with Watcher(pods) as watcher:
        outcome = watcher.end(created.name)
    assert (outcome.reason, outcome.exit_code, outcome.output_tail) == (Reason.ERROR, 3, "why\n")


def test_a_script_runs_under_its_own_name_and_in_its_home(pods: Pods, spec: MakeSpec) -> None:
    text = "import os, sys\nprint(sys.argv[0], os.getcwd(), os.environ['EXECUTION_ATTEMPT'])"
    first = pods.create(spec(python=text))
    second = pods.create(spec(script=PodScript("#!/bin/sh\necho $0; pwd", "grüße an alle.sh")))
    with Watcher(pods) as watcher:
        assert watcher.end(first.name).output_tail == "/bandmaster/script.py /output 1\n"
        assert watcher.end(second.name).output_tail == "/bandmaster/grüße an alle.sh\n/output\n"


def test_a_command_is_not_expanded_on_its_way(pods: Pods, spec: MakeSpec) -> None:
    created = pods.create(spec("echo $$ $(echo inner) '$(HOME)' '$$'"))
    with Watcher(pods) as watcher:
        assert watcher.end(created.name).output_tail == "1 inner $(HOME) $$\n"


def test_more_memory_than_the_limit_is_an_oom_kill(pods: Pods, spec: MakeSpec) -> None:
    created = pods.create(spec(python="print('x' * 500_000_000)", memory_limit="32Mi"))
    with Watcher(pods) as watcher:
        outcome = watcher.end(created.name)
    assert (outcome.reason, outcome.exit_code) == (Reason.OOM_KILLED, 137)


def test_a_program_that_runs_too_long_is_stopped_and_its_end_told_only_when_it_is_over(
    connect_with: Connect, spec: MakeSpec
) -> None:
    pods = connect_with(termination_grace_seconds=20)
    line = "trap 'echo asked to stop; sleep 1; echo stopped; exit 0' TERM; echo begun; while :; do sleep 0.1; done"
    created = pods.create(spec(line, timeout_seconds=8))
    with Watcher(pods) as watcher:
        outcome = watcher.end(created.name)
    assert outcome.reason is Reason.DEADLINE_EXCEEDED
    assert outcome.output_tail == "begun\nasked to stop\nstopped\n"


def test_a_missing_image_ends_at_the_pending_deadline(
    connect_with: Connect, spec: MakeSpec, admin: Admin, namespace: str
) -> None:
    pods = connect_with(pending_deadline_seconds=4)
    created = pods.create(spec("true", image="localhost/missing:1"))
    wait_until(lambda: "Image" in (admin.waiting(namespace, created.name) or ""), what="the pull's failure")
    with Watcher(pods, settle=True) as watcher:
        outcome = watcher.end(created.name, timeout_seconds=150)
        watcher.wait_gone(created.name)
    assert (outcome.reason, outcome.exit_code, outcome.started_at) == (Reason.IMAGE_PULL, None, None)
    assert "not started within 4 s" in outcome.output_tail
    assert not outcome.reason.infrastructure


def test_a_pod_that_fits_nowhere_ends_at_the_pending_deadline(
    connect_with: Connect, spec: MakeSpec, admin: Admin, namespace: str
) -> None:
    pods = connect_with(pending_deadline_seconds=2)
    created = pods.create(spec("true", cpu_request="1000"))
    wait_until(lambda: (admin.pod(namespace, created.name) or {})["status"].get("conditions"), what="the scheduler")
    with Watcher(pods, settle=True) as watcher:
        outcome = watcher.end(created.name)
        watcher.wait_gone(created.name)
    assert outcome.reason is Reason.UNSCHEDULABLE
    assert "Insufficient cpu" in outcome.output_tail
    assert pods.get(created.name) is None


def test_a_program_that_is_not_in_the_image_is_a_start_error(pods: Pods, spec: MakeSpec) -> None:
    created = pods.create(spec(command=("no-such-program",)))
    with Watcher(pods) as watcher:
        outcome = watcher.end(created.name)
    assert (outcome.reason, outcome.exit_code) == (Reason.START_ERROR, 127)
    assert "no-such-program" in outcome.output_tail


def test_a_pod_deleted_by_hand_is_told_as_deleted_with_its_last_words(
    connect_with: Connect, spec: MakeSpec, admin: Admin, namespace: str
) -> None:
    pods = connect_with(termination_grace_seconds=20)
    created = pods.create(spec("trap 'echo stopped; exit 1' TERM; echo begun; while :; do sleep 0.1; done"))
    with Watcher(pods, settle=True) as watcher:
        watcher.wait_running(created.name)
        wait_until_it_says(pods, created.name, "begun")
        admin.delete(namespace, created.name)
        outcome = watcher.end(created.name)
        watcher.wait_gone(created.name)
    assert outcome.reason is Reason.DELETED
    assert outcome.output_tail == "begun\nstopped\n"


def test_a_long_output_is_cut_to_its_end(pods: Pods, spec: MakeSpec) -> None:
    # Each lingers a little: some container runtimes drop what a program wrote at the very moment of its end.
    many_lines = pods.create(spec("seq 100000; sleep 1"))
    short_lines = pods.create(spec("yes '' | head -n 5000; echo end; sleep 1"))
    one_line = pods.create(spec("head -c 1000000 /dev/zero | tr '\\0' x; echo end; sleep 1"))
    with Watcher(pods) as watcher:
        tail = watcher.end(many_lines.name)
        assert tail.output_tail.endswith("99999\n100000\n")
        assert (len(tail.output_tail), tail.output_truncated) == (8 << 10, True)
        tail = watcher.end(short_lines.name)
        assert (tail.output_tail, tail.output_truncated) == ("\n" * 5000 + "end\n", False)
        tail = watcher.end(one_line.name)
        assert tail.output_tail.endswith("xend\n")
        assert (len(tail.output_tail), tail.output_truncated) == (8 << 10, True)


@pytest.mark.parametrize(("init_process", "exit_code"), [(False, 137), (True, 143)])
def test_term_ends_a_program_that_does_not_handle_it_only_where_an_init_is_before_it(
    connect_with: Connect, spec: MakeSpec, admin: Admin, namespace: str, init_process: bool, exit_code: int
) -> None:
    pods = connect_with(init_process=init_process)
    created = pods.create(spec("echo begun; exec sleep 1000"))
    with Watcher(pods) as watcher:
        watcher.wait_running(created.name)
        wait_until_it_says(pods, created.name, "begun")
        admin.delete(namespace, created.name)
        outcome = watcher.end(created.name)
    assert (outcome.exit_code, outcome.reason) == (exit_code, Reason.DELETED)
