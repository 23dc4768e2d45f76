"""What keeps a local program from its own records, from what is not its own, and from using up the machine."""

import json
import os
import stat
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from living_pods import ended, living_pods, outcome_of, running, spec

from bandmaster.configs.local import LocalSettings
from bandmaster.k8s.backend import connect
from bandmaster.k8s.errors import BackendNotAvailable
from bandmaster.k8s.local.limits import LocalLimits
from bandmaster.k8s.local.pods import LocalPods
from bandmaster.k8s.pods import PodPhase, Reason

LINUX = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the kernel has no such means")
#: Writes what a supervisor writes at a good end, over the pod's own status.
FORGE = """
import json, os, time
path = os.path.join(os.environ["HOME"], "..", "status.json")
status = json.load(open(path))
status |= {"phase": "Succeeded", "reason": "Completed", "exit_code": 0, "ended_at": time.time()}
with open(path + ".forged", "w") as file:
    json.dump(status, file)
os.rename(path + ".forged", path)
os.utime(os.path.join(os.environ["HOME"], "..", ".."))
print("forged", flush=True)
while not os.path.exists("go"):
    time.sleep(0.01)
raise SystemExit(3)
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "var"


@pytest.fixture
def pods(root: Path) -> Iterator[LocalPods]:
    with living_pods(root) as pods:
        yield pods


@pytest.mark.parametrize("garbage", [False, True])
def test_an_end_that_a_program_writes_itself_is_not_believed(pods: LocalPods, root: Path, garbage: bool) -> None:
    forge = FORGE.replace('"Succeeded"', '"Nonsense"') if garbage else FORGE
    created = pods.create(spec(python=forge))
    status = running(pods, created.name, printed=b"forged")
    seen = next(change.status for change in pods.watch(0))
    assert (status.phase, seen.phase, seen.outcome) == (PodPhase.RUNNING, PodPhase.RUNNING, None)
    assert not pods.acknowledge(created.name, created.uid)
    (root / "pods" / created.name / "work" / "go").touch()
    outcome = ended(pods, created.name)
    assert (outcome.exit_code, outcome.reason) == (3, Reason.ERROR)


def test_the_folders_and_records_of_a_pod_are_their_owners_alone(pods: LocalPods, root: Path) -> None:
    created = pods.create(spec("touch made; echo said"))
    ended(pods, created.name)
    folder = root / "pods" / created.name
    theirs = [folder.parent, folder, *folder.iterdir(), *(folder / "output").iterdir()]
    assert {path.name for path in theirs} >= {"spec.json", "status.json", "lock", "control", "output", "work", "tmp"}
    assert {
        path.name: stat.S_IMODE(path.stat().st_mode) & 0o077 for path in theirs if path.stat().st_mode & 0o077
    } == {}


@LINUX
def test_a_program_inherits_the_bounds_of_its_settings(root: Path, pods: LocalPods) -> None:
    bounded = LocalPods(root, LocalLimits(max_open_files=123, disk_limit_bytes=5 << 20))
    program = "import resource as r; print(r.getrlimit(r.RLIMIT_NOFILE), r.getrlimit(r.RLIMIT_FSIZE))"
    assert outcome_of(bounded, spec(python=program)).output_tail == f"(123, 123) ({5 << 20}, {5 << 20})\n"


@LINUX
def test_a_program_gains_no_rights_by_programs_that_have_them(pods: LocalPods) -> None:
    assert outcome_of(pods, spec("grep NoNewPrivs /proc/self/status")).output_tail.split() == ["NoNewPrivs:", "1"]


def test_a_file_that_grows_beyond_the_disk_limit_ends_its_program(root: Path, pods: LocalPods) -> None:
    small = LocalPods(root, LocalLimits(disk_limit_bytes=1 << 20))
    outcome = outcome_of(small, spec("exec head -c 5000000 /dev/zero > file"))
    assert outcome.reason is Reason.ERROR
    assert outcome.exit_code != 0
    (pod,) = pods.list()
    assert (root / "pods" / pod.name / "work" / "file").stat().st_size == 1 << 20


def test_files_that_together_are_beyond_the_disk_limit_end_their_program(root: Path, pods: LocalPods) -> None:
    small = LocalPods(root, LocalLimits(disk_limit_bytes=1 << 20))
    write = "mkdir deep; for i in 1 2 3; do head -c 500000 /dev/zero > deep/$i; done"
    outcome = outcome_of(small, spec(f"{write}; ln deep/1 deep/one; sleep 600"))
    assert (outcome.signal, outcome.reason) == (9, Reason.ERROR)
    assert outcome.output_tail == f"bandmaster: its folders held more than the limit of {1 << 20} bytes\n"


def test_a_file_of_many_names_and_one_that_is_gone_count_once_and_not(root: Path, pods: LocalPods) -> None:
    small = LocalPods(root, LocalLimits(disk_limit_bytes=1 << 20))
    line = "head -c 600000 /dev/zero > a; ln a b; ln a c; sleep 1.5; rm a b c; head -c 600000 /dev/zero > d; sleep 2"
    assert outcome_of(small, spec(line)).reason is Reason.COMPLETED


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"disk_limit": "much"}, "disk_limit"),
        ({"run_as": "no-such-user"}, "no user 'no-such-user'" if os.geteuid() == 0 else "runs as root"),
        ({"run_as": "root"}, "'root' is root" if os.geteuid() == 0 else "runs as root"),
    ],
)
def test_what_this_machine_cannot_give_is_refused_before_anything_runs(
    root: Path, settings: dict[str, str], said: str
) -> None:
    with pytest.raises(BackendNotAvailable, match=said):
        connect("local", root=root, local=LocalSettings.model_validate(settings))


def test_a_sandbox_that_is_not_installed_is_refused(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(root))
    with pytest.raises(BackendNotAvailable, match="install bubblewrap"):
        connect("local", root=root, local=LocalSettings(sandbox="bubblewrap"))


def test_the_limits_of_pods_without_settings_are_those_of_the_settings(root: Path) -> None:
    settings, limits = LocalSettings(), LocalLimits()
    assert (settings.max_processes, settings.max_open_files) == (limits.max_processes, limits.max_open_files)
    assert (settings.disk_limit, settings.sandbox, settings.run_as) == ("10Gi", "none", "")
    assert (limits.disk_limit_bytes, limits.sandbox, limits.user) == (10 << 30, None, None)


def test_a_pod_that_an_earlier_release_made_is_known(pods: LocalPods, root: Path) -> None:
    created = pods.create(spec("true"))
    ended(pods, created.name)
    path = root / "pods" / created.name / "spec.json"
    later = ("user", "sandboxed", "max_processes", "max_open_files", "disk_limit_bytes")
    path.write_text(json.dumps({key: value for key, value in json.loads(path.read_text()).items() if key not in later}))
    assert pods.get(created.name) is not None
