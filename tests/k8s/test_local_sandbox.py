"""Programs of local pods in bubblewrap's sandbox: what they reach, and that they end as they do without."""

import os
import shutil
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from living_pods import ended, gone, living_pods, outcome_of, processes_under, running, spec, supervisor_of

from bandmaster.configs.local import LocalSettings
from bandmaster.k8s.local.limits import limits_of
from bandmaster.k8s.local.pods import LocalPods
from bandmaster.k8s.pods import PodOutcome, PodScript, Reason
from waiting import wait_until

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or (shutil.which("bwrap") is None and not os.environ.get("CI")),
    reason="needs bubblewrap",
)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "var"


@pytest.fixture
def pods(root: Path, tmp_path: Path) -> Iterator[LocalPods]:
    (tmp_path / "readable").mkdir()
    (tmp_path / "readable" / "file").write_text("may be read\n")
    settings = LocalSettings(sandbox="bubblewrap", sandbox_readable=(str(tmp_path / "readable"),), disk_limit="1Mi")
    with living_pods(root):
        yield LocalPods(root, limits_of(settings, root))


def test_a_program_sees_its_folders_the_system_and_what_it_may_read(
    pods: LocalPods, root: Path, tmp_path: Path
) -> None:
    line = f"""
pwd; echo $HOME $TMPDIR; touch made /tmp/made && ls /work /tmp; cat {tmp_path}/readable/file
for path in /usr/made /etc/made {tmp_path}/readable/made; do touch $path 2>/dev/null && echo wrote $path; done
for path in {root} /run /var /sys /boot; do [ -e $path ] && ls -A $path; done; echo over
"""
    created = pods.create(spec(line))
    tail = ended(pods, created.name).output_tail
    made, rest = tail.split("may be read\n")
    assert made.split() == ["/work", "/work", "/tmp", "/tmp:", "made", *tmp_path.parts[2:3], "/work:", "made"]
    assert rest == "over\n"
    assert (root / "pods" / created.name / "work" / "made").exists()


def test_a_program_finds_its_items_and_cannot_change_them(pods: LocalPods) -> None:
    line = 'echo "$BANDMASTER_ITEMS_FILE"; cat "$BANDMASTER_ITEMS_FILE"; echo x 2>/dev/null > "$BANDMASTER_ITEMS_FILE"'
    outcome = outcome_of(pods, spec(line, items_file="[]\n"))
    assert outcome.output_tail.splitlines()[:2] == ["/items.json", "[]"]
    assert outcome.exit_code != 0


def test_a_program_has_no_network_and_sees_no_other_process(pods: LocalPods) -> None:
    program = """
import os, socket
print([name for _, name in socket.if_nameindex()])
print(len([name for name in os.listdir("/proc") if name.isdigit()]), os.getppid())
"""
    assert outcome_of(pods, spec(python=program)).output_tail == "['lo']\n2 1\n"


def _told(outcome: PodOutcome) -> tuple[int | None, int | None, Reason]:
    return outcome.exit_code, outcome.signal, outcome.reason


def test_a_program_ends_in_its_sandbox_as_it_does_without(pods: LocalPods) -> None:
    assert _told(outcome_of(pods, spec("true"))) == (0, None, Reason.COMPLETED)
    assert _told(outcome_of(pods, spec("exit 42"))) == (42, None, Reason.ERROR)
    assert _told(outcome_of(pods, spec(command=("sh", "-c", "kill -SEGV $$")))) == (None, signal.SIGSEGV, Reason.ERROR)
    assert _told(outcome_of(pods, spec(command=("no-such-program",)))) == (127, None, Reason.START_ERROR)
    assert _told(outcome_of(pods, spec(command=("/etc/passwd",)))) == (126, None, Reason.START_ERROR)
    assert outcome_of(pods, spec(script=PodScript("print('ran')"))).output_tail == "ran\n"


def test_a_timeout_leaves_a_program_its_grace(pods: LocalPods, root: Path) -> None:
    line = "trap 'echo saved; exit 0' TERM; while :; do sleep 0.01; done"
    outcome = outcome_of(pods, spec(line, timeout_seconds=0.5))
    assert _told(outcome) == (0, None, Reason.DEADLINE_EXCEEDED)
    assert outcome.output_tail.endswith("saved\n")
    outcome = outcome_of(
        pods, spec("trap '' TERM; setsid sleep 600 & while :; do sleep 0.05; done", timeout_seconds=0.5)
    )
    assert _told(outcome) == (None, signal.SIGKILL, Reason.DEADLINE_EXCEEDED)
    wait_until(lambda: not processes_under(root), what="the end of all")


def test_bounds_hold_in_a_sandbox(pods: LocalPods) -> None:
    hungry = "x = []\nfor _ in range(500): x.append(bytes(range(250)) * 4000)"
    assert outcome_of(pods, spec(python=hungry, memory_limit="64Mi")).reason is Reason.OOM_KILLED
    outcome = outcome_of(pods, spec("for i in 1 2 3; do head -c 500000 /dev/zero > /tmp/$i; done; sleep 600"))
    assert _told(outcome) == (None, signal.SIGKILL, Reason.ERROR)
    assert "its folders held more than the limit" in outcome.output_tail


def test_what_cleared_its_environment_and_left_its_session_ends_with_a_killed_supervisor(
    pods: LocalPods, root: Path
) -> None:
    seconds = 1_000_000 + time.time_ns() % 1_000_000
    created = pods.create(spec(f"setsid env -i sleep {seconds} & echo up; sleep 600"))
    status = running(pods, created.name, printed=b"up")
    wait_until(lambda: _sleeping(seconds), what="the daemon")
    supervisor_of(root, status).kill()
    wait_until(lambda: not _sleeping(seconds), what="the end of the daemon")
    assert ended(pods, created.name).reason is Reason.NODE_LOST


def _sleeping(seconds: int) -> bool:
    wanted = f"sleep\0{seconds}\0".encode()
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if path.read_bytes() == wanted:
                return True
        except OSError:
            continue
    return False


def test_a_pod_in_a_sandbox_is_deleted_like_any_other(pods: LocalPods, root: Path) -> None:
    created = pods.create(spec("sleep 600 & wait"))
    supervisor = supervisor_of(root, running(pods, created.name))
    assert pods.delete(created.name)
    gone(pods, created.name)
    # That the pod is gone is the last that its supervisor does, which may not have ended itself.
    assert [each for each in processes_under(root) if each != supervisor] == []
    wait_until(lambda: not processes_under(root), what="the end of the supervisor")
