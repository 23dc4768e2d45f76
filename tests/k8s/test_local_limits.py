"""Limits of local pods: time, memory, CPU, output. Nothing of a program outlives it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from living_pods import ended, outcome_of, processes_under, running, spec

from bandmaster.k8s.local.limits import LocalLimits
from bandmaster.k8s.local.memory import proportional_bytes
from bandmaster.k8s.local.pods import LocalPods
from bandmaster.k8s.pods import Reason
from waiting import wait_until

IGNORE_TERM = "trap '' TERM; (trap '' TERM; while :; do sleep 0.05; done) & echo up; while :; do sleep 0.05; done"


def test_a_program_that_runs_too_long_is_ended(pods: LocalPods) -> None:
    outcome = outcome_of(pods, spec("echo before; sleep 600", timeout_seconds=0.3))
    assert outcome.reason is Reason.DEADLINE_EXCEEDED
    assert outcome.output_tail == "before\n"
    assert 0.3 <= outcome.duration_seconds < 10


def test_a_timeout_kills_a_program_and_grandchild_that_ignore_term(pods: LocalPods, root: Path) -> None:
    outcome = outcome_of(pods, spec(IGNORE_TERM, timeout_seconds=0.3))
    assert (outcome.signal, outcome.reason) == (9, Reason.DEADLINE_EXCEEDED)
    assert outcome.duration_seconds >= 0.5  # the grace period was granted
    wait_until(lambda: not processes_under(root), what="the end of all")


def test_a_timeout_ends_a_storm_of_processes(pods: LocalPods, root: Path) -> None:
    program = """
import os, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
for _ in range(6):
    if os.fork() == 0 and os.getpid() % 8 == 0:
        os.setsid()
while True:
    time.sleep(1)
"""
    outcome = outcome_of(pods, spec(python=program, timeout_seconds=0.5, memory_limit="2Gi"))
    assert (outcome.signal, outcome.reason) == (9, Reason.DEADLINE_EXCEEDED)
    wait_until(lambda: not processes_under(root), what="the end of all")


def test_a_timeout_leaves_a_program_its_grace_to_end_by_itself(pods: LocalPods) -> None:
    line = "trap 'echo saved; exit 0' TERM; while :; do sleep 0.01; done"
    outcome = outcome_of(pods, spec(line, timeout_seconds=0.3))
    assert (outcome.exit_code, outcome.reason) == (0, Reason.DEADLINE_EXCEEDED)
    assert outcome.output_tail.endswith("saved\n")


def test_a_stopped_program_is_ended_too(pods: LocalPods) -> None:
    assert outcome_of(pods, spec("kill -STOP $$", timeout_seconds=0.3)).reason is Reason.DEADLINE_EXCEEDED


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere nothing adopts what leaves its session")
def test_what_a_program_leaves_behind_is_killed_even_in_a_session_of_its_own(pods: LocalPods, root: Path) -> None:
    outcome = outcome_of(
        pods, spec("sleep 600 & setsid sleep 601 & (setsid env -i sleep 602 &) ; sleep 0.1; echo done")
    )
    assert (outcome.reason, outcome.output_tail) == (Reason.COMPLETED, "done\n")
    wait_until(lambda: not processes_under(root), what="the end of all")


def test_a_program_over_its_memory_limit_is_killed_at_once(pods: LocalPods) -> None:
    program = "x = []\nfor _ in range(500): x.append(bytes(range(250)) * 4000)\nprint('had it all')"
    outcome = outcome_of(pods, spec(python=program, memory_limit="64Mi"))
    assert (outcome.signal, outcome.reason) == (9, Reason.OOM_KILLED)
    assert "had it all" not in outcome.output_tail


def test_the_memory_limit_is_one_for_all_processes_of_a_pod(pods: LocalPods) -> None:
    program = """
import os, time
for _ in range(4):
    if os.fork() == 0:
        own = bytes(range(250)) * 120_000
        time.sleep(600)
time.sleep(600)
"""
    outcome = outcome_of(pods, spec(python=program, memory_limit="100Mi"))
    assert outcome.reason is Reason.OOM_KILLED


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere shared pages are counted for each process")
def test_memory_that_forked_processes_share_counts_once(pods: LocalPods) -> None:
    program = """
import os, time
shared = bytes(range(250)) * 160_000
for _ in range(4):
    if os.fork() == 0:
        time.sleep(0.4)
        os._exit(0)
for _ in range(4):
    os.wait()
print("shared")
"""
    outcome = outcome_of(pods, spec(python=program, memory_limit="100Mi"))
    assert (outcome.reason, outcome.output_tail) == (Reason.COMPLETED, "shared\n")


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere shared pages are counted for each process")
def test_a_process_that_has_ended_uses_no_memory() -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        wait_until(lambda: "Z" in Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1], what="its end")
        assert proportional_bytes(process.pid, 1 << 30) == 0, "though nobody has reaped it yet"
    assert proportional_bytes(process.pid, 1 << 30) == 0
    assert 0 < proportional_bytes(os.getpid(), 1 << 50) < 1 << 40


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the address space is not limited")
def test_a_program_that_is_refused_memory_is_told_apart_from_one_that_fails(pods: LocalPods) -> None:
    outcome = outcome_of(pods, spec(python="bytearray(64 << 30)", memory_limit="64Mi"))
    assert (outcome.exit_code, outcome.reason) == (1, Reason.OOM_KILLED)
    outcome = outcome_of(pods, spec(python="raise ValueError('MemoryErro')", memory_limit="64Mi"))
    assert (outcome.exit_code, outcome.reason) == (1, Reason.ERROR)


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere there is no affinity")
def test_a_cpu_limit_is_kept_by_affinity_and_niceness(pods: LocalPods) -> None:
    program = "import os; print(len(os.sched_getaffinity(0)), os.nice(0))"

    def nice(more: int) -> int:
        return min(19, os.nice(0) + more)

    assert outcome_of(pods, spec(python=program, cpu_limit="1")).output_tail == f"1 {nice(5)}\n"
    assert outcome_of(pods, spec(python=program, cpu_limit="500m")).output_tail == f"1 {nice(10)}\n"
    every = len(os.sched_getaffinity(0))
    assert outcome_of(pods, spec(python=program, cpu_limit="1000")).output_tail == f"{every} {nice(5)}\n"


def test_huge_output_keeps_its_beginning_and_end_on_a_bounded_disk(pods: LocalPods, root: Path) -> None:
    created = pods.create(spec("echo first; yes | head -c 50000000; echo last"))
    outcome = ended(pods, created.name)
    assert (outcome.reason, outcome.output_truncated) == (Reason.COMPLETED, True)
    assert outcome.output_tail.endswith("y\nlast\n")
    assert len(outcome.output_tail) <= 8192
    assert sum(path.stat().st_size for path in (root / "pods" / created.name / "output").iterdir()) <= 1 << 20
    log = b"".join(pods.logs(created.name))
    assert log.startswith(b"first\ny\n")
    assert log.endswith(b"y\nlast\n")
    total = len("first\nlast\n") + 50_000_000
    (notice,) = [line for line in log.splitlines() if line.startswith(b"[bandmaster: ")]
    dropped = int(notice.split()[1])
    assert len(log) - len(notice) - 2 + dropped == total
    assert b"".join(pods.logs(created.name, tail_bytes=7)) == b"y\nlast\n"


def test_a_program_is_never_held_up_by_an_output_that_nobody_reads(root: Path, pods: LocalPods) -> None:
    small = LocalPods(root, LocalLimits(output_limit_bytes=4000, tail_bytes=100))
    outcome = outcome_of(small, spec("seq 100000"))
    assert (outcome.exit_code, outcome.output_truncated) == (0, True)
    assert outcome.output_tail.endswith("\n99999\n100000\n")


def test_output_that_is_no_text_is_kept_as_it_is(pods: LocalPods) -> None:
    program = r"import sys; sys.stdout.buffer.write(b'\x1b[31mred\x1b[0m\x00\xff\xfe\xc3\xa4' + bytes(range(256)))"
    created = pods.create(spec(python=program))
    outcome = ended(pods, created.name)
    raw = b"\x1b[31mred\x1b[0m\x00\xff\xfe\xc3\xa4" + bytes(range(256))
    assert b"".join(pods.logs(created.name)) == raw
    assert outcome.output_tail == raw.decode(errors="replace")
    assert not outcome.output_truncated


def test_the_tail_is_not_cut_through_a_character(root: Path, pods: LocalPods) -> None:
    small = LocalPods(root, LocalLimits(tail_bytes=10))
    outcome = outcome_of(small, spec("printf 'ääääääääää€€€'"))
    assert outcome.output_tail == "€€€"


def test_a_program_that_closes_its_output_goes_on(pods: LocalPods) -> None:
    created = pods.create(spec("echo closing; exec >&- 2>&-; sleep 0.3; exit 5"))
    running(pods, created.name, printed=b"closing")
    assert ended(pods, created.name).exit_code == 5
