"""Programs of local pods as another user than their worker: its rights and records are out of their reach."""

import os
import shutil
import signal
import stat
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from living_pods import ended, gone, living_pods, outcome_of, processes_under, running, spec, supervisor_of

from bandmaster.configs.local import LocalSettings
from bandmaster.k8s.backend import connect
from bandmaster.k8s.errors import BackendNotAvailable
from bandmaster.k8s.local.limits import LocalLimits, ProgramUser, limits_of
from bandmaster.k8s.local.pods import LocalPods
from bandmaster.k8s.pods import Reason
from waiting import wait_until

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or os.geteuid() != 0, reason="only root may start programs of another user"
)
NOBODY = LocalSettings(run_as="nobody", max_processes=20)


@pytest.fixture
def root() -> Iterator[Path]:
    # pytest's own folders are closed to others.
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o711)
    (folder / "var").mkdir()
    yield folder / "var"
    shutil.rmtree(folder)


@pytest.fixture
def pods(root: Path) -> Iterator[LocalPods]:
    with living_pods(root):
        yield LocalPods(root, limits_of(NOBODY, root))


def test_a_program_has_its_users_rights_alone_and_its_folders(pods: LocalPods) -> None:
    program = """
import os
print(os.getresuid() == os.getresgid() == (65534,) * 3, os.getgroups())
open("made", "w").close()
open(os.environ["TMPDIR"] + "/made", "w").close()
print(os.listdir(), os.stat("made").st_uid)
"""
    tail = outcome_of(pods, spec(python=program)).output_tail
    assert tail.splitlines()[0] == "True []"
    assert tail.splitlines()[1].endswith("] 65534")


def test_a_program_neither_reads_records_and_secrets_nor_writes_its_end(
    pods: LocalPods, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tries = f"""
cat ../spec.json; cat ../status.json; echo x > ../status.json; touch ../acknowledged; mv ../lock ../key
ls ..; ls ../..; cat /proc/{os.getpid()}/environ; kill -9 $PPID && echo killed; echo over
"""
    created = pods.create(spec(tries))
    outcome = ended(pods, created.name)
    refused = ("Permission denied", "Operation not permitted")
    said = [line for line in outcome.output_tail.splitlines() if line and not any(words in line for words in refused)]
    assert said == ["over"]
    assert outcome.reason is Reason.COMPLETED
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (root / "pods" / created.name).iterdir()}
    assert {name for name, mode in modes.items() if mode & 0o077} == set()


def test_a_program_reads_its_items_and_none_of_anothers(pods: LocalPods, root: Path) -> None:
    line = 'stat -c "%a %U" "$BANDMASTER_ITEMS_FILE"; cat "$BANDMASTER_ITEMS_FILE"'
    created = pods.create(spec(line, items_file="[]"))
    assert ended(pods, created.name).output_tail == "600 nobody\n[]"


def test_a_program_that_forks_without_end_meets_its_bound(pods: LocalPods) -> None:
    program = """
import os, sys, time
for number in range(100):
    try:
        if os.fork() == 0:
            time.sleep(600)
    except BlockingIOError:
        print(number)
        sys.exit()
"""
    assert outcome_of(pods, spec(python=program)).output_tail in ("19\n", "20\n")


def test_a_program_dies_with_its_supervisor(pods: LocalPods, root: Path) -> None:
    created = pods.create(spec(command=("sleep", "600")))
    status = running(pods, created.name)
    wait_until(lambda: {process.username() for process in processes_under(root)} == {"root", "nobody"}, what="both")
    supervisor_of(root, status).kill()
    wait_until(lambda: not processes_under(root), what="the end of the program")
    assert ended(pods, created.name).reason is Reason.NODE_LOST


def test_a_program_is_ended_and_its_folder_removed_like_any_other(pods: LocalPods, root: Path) -> None:
    created = pods.create(
        spec("mkdir closed; touch closed/file; chmod 0 closed; ln -s /etc/passwd link; sleep 600 & wait")
    )
    running(pods, created.name)
    before = os.stat("/etc/passwd").st_mode
    assert pods.delete(created.name)
    gone(pods, created.name)
    LocalPods(root, LocalLimits(keep_seconds=0.0)).list()
    assert list((root / "pods").iterdir()) == []
    assert os.stat("/etc/passwd").st_mode == before


def test_a_folder_that_the_user_may_not_enter_is_refused(root: Path) -> None:
    root.chmod(0o700)
    with pytest.raises(BackendNotAvailable, match=f"'nobody' may not enter {root}"):
        connect("local", root=root, local=NOBODY)


def test_an_interpreter_that_the_user_may_not_enter_is_not_used(pods: LocalPods, root: Path) -> None:
    own = Path(limits_of(LocalSettings(), root).python)
    closed = ProgramUser(65534, 65534).unreachable(own.parent)
    assert (limits_of(NOBODY, root).python == str(own)) is (closed is None)
    assert outcome_of(pods, spec(python="print('ran')")).output_tail == "ran\n"


def test_a_timeout_ends_all_that_a_program_started(pods: LocalPods, root: Path) -> None:
    line = "trap '' TERM; setsid sleep 600 & while :; do sleep 0.05; done"
    outcome = outcome_of(pods, spec(line, timeout_seconds=0.3))
    assert (outcome.signal, outcome.reason) == (signal.SIGKILL, Reason.DEADLINE_EXCEEDED)
    wait_until(lambda: not processes_under(root), what="the end of all")
