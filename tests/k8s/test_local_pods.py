"""Local pods from create to collected: outcomes, what a program sees, one pod per attempt."""

import json
import signal
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from subprocess import PIPE, Popen

import pytest
from living_pods import CREATE, ended, gone, outcome_of, processes_under, running, spec

from bandmaster.k8s.errors import PodConflict, PodNotFound
from bandmaster.k8s.local.launching import launch
from bandmaster.k8s.local.limits import LocalLimits
from bandmaster.k8s.local.pods import LocalPods
from bandmaster.k8s.local.records import Folder
from bandmaster.k8s.pods import PodPhase, PodScript, PodSpec, Reason
from bandmaster.scheduler.model.trace_context import TraceContext
from waiting import wait_until


def test_a_program_that_ends_well_completes_with_its_output_and_times(pods: LocalPods) -> None:
    before = time.time()
    created = pods.create(spec("echo out; echo err >&2"))
    assert created.phase in (PodPhase.PENDING, PodPhase.RUNNING, PodPhase.SUCCEEDED)
    outcome = ended(pods, created.name)
    assert (outcome.exit_code, outcome.signal, outcome.reason) == (0, None, Reason.COMPLETED)
    assert (outcome.output_tail, outcome.output_truncated) == ("out\nerr\n", False)
    assert outcome.started_at is not None
    assert before <= outcome.started_at <= outcome.ended_at <= time.time()
    assert 0 <= outcome.duration_seconds < 30
    status = pods.get(created.name)
    assert status is not None
    assert (status.phase, status.uid) == (PodPhase.SUCCEEDED, created.uid)


def test_a_program_finds_its_items_in_a_file_that_is_its_own(pods: LocalPods, root: Path) -> None:
    text = '{"token": "bm_items.1_secret", "items": []}'
    created = pods.create(spec('stat -c %a "$BANDMASTER_ITEMS_FILE"; cat "$BANDMASTER_ITEMS_FILE"', items_file=text))
    assert ended(pods, created.name).output_tail == f"600\n{text}"
    folder = root / "pods" / created.name
    with_it = [path.name for path in folder.rglob("*") if path.is_file() and b"bm_items" in path.read_bytes()]
    # What the program printed is its own matter.
    assert set(with_it) - {"items.json", "status.json"} == {path.name for path in (folder / "output").iterdir()}
    assert "BANDMASTER_ITEMS_FILE" not in outcome_of(pods, spec("env")).output_tail
    assert "bm_items" not in repr(spec("true", items_file=text))


def test_the_attempts_of_an_execution_are_found_and_no_others(pods: LocalPods) -> None:
    names = [
        pods.create(spec("true", execution_id=name, attempt=attempt)).name
        for name, attempt in (("job", 1), ("job", 12), ("job-1", 1), ("JOB", 1))
    ]
    assert sorted(pod.name for pod in pods.attempts("job")) == sorted(names[:2])
    assert {pod.attempt for pod in pods.attempts("job")} == {1, 12}
    assert pods.attempts("unheard-of") == []


def test_an_exit_code_is_reported(pods: LocalPods) -> None:
    outcome = outcome_of(pods, spec("exit 42"))
    assert (outcome.exit_code, outcome.signal, outcome.reason) == (42, None, Reason.ERROR)


def test_a_signal_is_reported(pods: LocalPods) -> None:
    outcome = outcome_of(pods, spec("kill -SEGV $$"))
    assert (outcome.exit_code, outcome.signal, outcome.reason) == (None, signal.SIGSEGV, Reason.ERROR)


@pytest.mark.parametrize(("program", "code"), [("no-such-program", 127), ("/etc/passwd", 126), ("/", 126)])
def test_a_program_that_cannot_be_started_ends_as_in_a_shell(pods: LocalPods, program: str, code: int) -> None:
    outcome = outcome_of(pods, spec(command=(program,)))
    assert (outcome.exit_code, outcome.signal, outcome.reason) == (code, None, Reason.START_ERROR)
    assert program in outcome.output_tail


@pytest.mark.parametrize(
    "script",
    [
        PodScript("import sys; print('ran', sys.version_info >= (3, 11))"),
        PodScript("echo ran $((1 == 1)) | sed s/1/True/", runtime="sh"),
        PodScript("[[ a == a ]] && echo ran True", file_name="it.bash"),
        PodScript("#!/usr/bin/env bash\n[[ a == a ]] && echo ran True", file_name="-it.sh"),
    ],
)
def test_a_script_runs_in_the_runtime_that_it_wants(pods: LocalPods, script: PodScript) -> None:
    outcome = outcome_of(pods, spec(script=script))
    assert (outcome.exit_code, outcome.output_tail) == (0, "ran True\n")


def test_a_runtime_that_this_machine_has_not_got_ends_as_not_found(pods: LocalPods) -> None:
    outcome = outcome_of(pods, spec(script=PodScript("BEGIN { print 1 }", runtime="/no/such/awk")))
    assert (outcome.exit_code, outcome.reason) == (127, Reason.START_ERROR)


def test_a_program_sees_nothing_of_its_worker(pods: LocalPods, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BANDMASTER_REDIS__URL", "redis://:secret@example")
    program = """
import os, signal, sys
print(sorted(os.environ))
print(os.getcwd() == os.environ["HOME"], os.environ["TMPDIR"] != os.environ["HOME"], os.access(os.environ["TMPDIR"], 7))
print(sorted(os.listdir("/proc/self/fd"), key=int)[:-1], sys.stdin.read() == "")
print(os.getpgrp() == os.getpid() == os.getsid(0), signal.getsignal(signal.SIGHUP) is signal.SIG_DFL)
"""
    created = pods.create(spec(python=program))
    lines = ended(pods, created.name).output_tail.splitlines()
    names = ["HOME", "LANG", "PATH", "PYTHONUNBUFFERED", "TMPDIR"]
    assert lines[0] == str(sorted(["EXECUTION_ATTEMPT", "EXECUTION_ID", "EXECUTION_POD_UID", *names]))
    assert lines[1:] == ["True True True", "['0', '1', '2'] True", "True True"]
    folder = root / "pods" / created.name
    assert "secret" not in "".join(path.read_text() for path in folder.rglob("*") if path.is_file())


def test_creating_twice_adopts_the_pod(pods: LocalPods) -> None:
    wanted = spec("sleep 600")
    first = pods.create(wanted)
    assert pods.create(wanted).uid == first.uid
    assert [status.uid for status in pods.list()] == [first.uid]
    second = pods.create(spec("true", execution_id=wanted.execution_id, attempt=2))
    assert second.uid != first.uid


def test_an_ended_pod_is_adopted_and_not_run_again(pods: LocalPods, tmp_path: Path) -> None:
    wanted = spec(f"echo ran >> {tmp_path}/runs")
    first = pods.create(wanted)
    ended(pods, first.name)
    again = pods.create(wanted)
    assert (again.uid, again.phase) == (first.uid, PodPhase.SUCCEEDED)
    assert (tmp_path / "runs").read_text() == "ran\n"


def test_two_processes_and_many_threads_at_once_make_one_pod(pods: LocalPods, root: Path, tmp_path: Path) -> None:
    line = f"echo ran >> {tmp_path}/runs; sleep 600"
    wanted = spec(line)
    command = [sys.executable, "-c", CREATE, str(root), wanted.execution_id, line]
    with ThreadPoolExecutor(4) as threads, Popen(command, stdin=PIPE, stdout=PIPE) as other:
        assert other.stdin is not None
        assert other.stdout is not None
        assert other.stdout.readline() == b"ready\n"
        other.stdin.write(b"go\n")
        other.stdin.flush()
        uids = {status.uid for status in threads.map(pods.create, [wanted] * 4)}
        uids.add(other.stdout.readline().decode().strip())
        other.communicate(b"end\n")
    assert len(uids) == 1
    running(pods, wanted.name)
    wait_until((tmp_path / "runs").exists, what="the run")
    assert (tmp_path / "runs").read_text() == "ran\n"
    # One supervisor, the shell and its sleep; what lost the claim leaves no folder either.
    wait_until(lambda: len(processes_under(root)) == 3, what="the end of the others")
    wait_until(lambda: [path.name for path in (root / "pods").iterdir()] == [wanted.name], what="one folder")


def test_a_name_that_something_else_has_is_a_conflict(pods: LocalPods, root: Path) -> None:
    wanted = spec("true")
    pods.list()
    taken = root / "pods" / wanted.name
    taken.mkdir()
    (taken / "spec.json").write_text("not a pod")
    with pytest.raises(PodConflict, match=wanted.name):
        pods.create(wanted)
    assert pods.list() == []
    assert list((root / "pods").iterdir()) == [taken]


@pytest.mark.parametrize("name", ["", "..", "exec-/../x", ".gone-1", "exec-nothing-1", "exec-\n"])
def test_a_name_that_no_pod_has_is_answered_and_touches_nothing(pods: LocalPods, name: str) -> None:
    assert pods.get(name) is None
    assert not pods.delete(name)
    assert not pods.acknowledge(name, "uid")
    with pytest.raises(PodNotFound):
        pods.logs(name)


def test_a_creator_that_slept_until_its_pod_was_gone_makes_no_second_one(
    pods: LocalPods, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def launch_and_sleep(wanted: PodSpec, folder: Folder, limits: LocalLimits) -> bool:
        launched = launch(wanted, folder, limits)
        # Meanwhile another worker waits for its end and deletes it.
        other = LocalPods(root)
        ended(other, wanted.name)
        other.delete(wanted.name)
        gone(other, wanted.name)
        return launched

    monkeypatch.setattr("bandmaster.k8s.local.pods.launch", launch_and_sleep)
    with pytest.raises(PodConflict, match="deleted meanwhile"):
        pods.create(spec(f"echo ran >> {tmp_path}/runs"))
    assert (tmp_path / "runs").read_text() == "ran\n"


def test_a_pod_that_a_newer_release_made_is_one_all_the_same(pods: LocalPods, root: Path) -> None:
    name = pods.create(spec("echo once")).name
    ended(pods, name)
    folder = Folder(str(root / "pods" / name))
    for path in (folder.spec, folder.status):
        written = json.loads(Path(path).read_text())
        Path(path).write_text(json.dumps(written | {"of_a_newer_release": 1}))
    status = pods.get(name)
    assert status is not None
    assert status.outcome is not None
    assert status.outcome.output_tail == "once\n"
    assert [each.name for each in pods.attempts(status.execution_id)] == [name]


def test_a_program_learns_of_the_span_of_its_attempt_and_the_pod_says_it_to_the_last(pods: LocalPods) -> None:
    trace = TraceContext("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "a=$(HOME)")
    created = pods.create(replace(spec('echo "$TRACEPARENT $TRACESTATE"'), trace=trace))
    assert created.trace == trace
    assert ended(pods, created.name).output_tail == f"{trace.traceparent} a=$(HOME)\n"
    pods.delete(created.name)
    wait_until(lambda: pods.get(created.name) is None, what="the deletion")
    last = pods.last_words(created.name, created.uid)
    assert last is not None
    assert last.trace == trace


def test_a_program_without_a_trace_has_no_variables_of_one(pods: LocalPods) -> None:
    assert "TRACE" not in outcome_of(pods, spec("env")).output_tail
