"""The cluster for the tests: what its program says, and the images that it makes. That it runs, `.ci/run` shows."""

import contextlib
import hashlib
import io
import json
import os
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from tools.cluster.images import archived
from tools.cluster.processes import ClusterError, run, start, stop

ROOT = Path(__file__).parents[2]


def cluster(*arguments: str, folder: Path) -> "subprocess.CompletedProcess[str]":
    """Run the program, for a node whose data would be in that folder, on a machine without kind."""
    own = {
        "BANDMASTER_TEST_CLUSTER_FOLDER": str(folder / "node"),
        "BANDMASTER_TEST_CLUSTER_CACHE": str(folder / "cache"),
        "HOME": str(folder),
        "PATH": str(folder),
    }
    command = [sys.executable, "-m", "tools.cluster", *arguments]
    return subprocess.run(command, cwd=ROOT, env=os.environ | own, capture_output=True, text=True, check=False)


def test_it_says_where_its_kubeconfig_is_and_ends_what_does_not_run(tmp_path: Path) -> None:
    told = cluster("kubeconfig", "--provider", "debian", folder=tmp_path)
    assert (told.returncode, told.stdout) == (0, f"{tmp_path}/node/kubeconfig\n")
    assert cluster("down", "--provider", "debian", folder=tmp_path).returncode == 0
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("up", "--provider", "kind"), "kind is not installed; without --provider, one that is gets chosen"),
        (("up",), "there is no Docker with kind, k3d or minikube here, and no apt-get to build one"),
        (("prepare", "--provider", "k3d"), "k3d is not installed; without --provider, one that is gets chosen"),
        (("prepare",), "there is no Docker with kind, k3d or minikube here, and no apt-get to build one"),
    ],
)
def test_what_is_missing_is_said(arguments: tuple[str, ...], said: str, tmp_path: Path) -> None:
    done = cluster(*arguments, folder=tmp_path)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == f"cluster: {said}"


def test_a_command_that_fails_is_told_with_the_end_of_what_it_said(tmp_path: Path) -> None:
    with pytest.raises(ClusterError, match=r"failed with 3; the end of .*\n  no such mirror$"):
        run("sh", "-c", "echo no such mirror; exit 3", log=tmp_path / "log")


def test_what_takes_long_says_how_far_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("tools.cluster.processes.TELL_SECONDS", 0.05)

    def half() -> str:
        (tmp_path / "told").touch()
        return "half of it"

    waiting = f"until [ -e {tmp_path}/told ]; do sleep 0.05; done"
    run("sh", "-c", waiting, log=tmp_path / "log", progress=half)
    assert "s  half of it\n" in capsys.readouterr().err


def test_who_is_interrupted_leaves_no_command_running(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tools.cluster.processes.TELL_SECONDS", 0.05)

    def interrupted() -> str:
        if (tmp_path / "pid").exists():
            raise KeyboardInterrupt
        return "not yet"

    waiting = f"echo $$ > {tmp_path}/made; mv {tmp_path}/made {tmp_path}/pid; exec sleep 600"
    with pytest.raises(KeyboardInterrupt):
        run("sh", "-c", waiting, log=tmp_path / "log", progress=interrupted)
    assert not Path("/proc", (tmp_path / "pid").read_text().strip()).exists()


def test_a_component_outlives_who_starts_it_and_is_stopped_by_its_folder(tmp_path: Path) -> None:
    start(tmp_path, "sleep", ("sleep", "600"))
    pid = int((tmp_path / "sleep.pid").read_text())
    assert os.getsid(pid) == pid
    stop(tmp_path, "sleep")
    with contextlib.suppress(ChildProcessError):  # it has been waited for
        assert os.waitpid(pid, 0)[0] == pid


def test_a_number_that_went_to_another_program_is_let_be(tmp_path: Path) -> None:
    (tmp_path / "etcd.pid").write_text(f"{os.getpid()}\n")
    stop(tmp_path, "etcd")


def test_an_image_is_an_archive_whose_parts_are_named_by_what_they_are(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "program").write_text("#!/bin/sh\n")
    with tarfile.open(fileobj=io.BytesIO(archived("localhost/some:test", tmp_path, "program -x"))) as archive:
        files = {entry.name: archive.extractfile(entry).read() for entry in archive.getmembers()}  # type: ignore[union-attr]
    blobs = {name.split("/")[-1]: data for name, data in files.items() if name.startswith("blobs/sha256/")}
    assert all(hashlib.sha256(data).hexdigest() == digest for digest, data in blobs.items())
    (described,) = json.loads(files["index.json"])["manifests"]
    assert described["annotations"]["io.containerd.image.name"] == "localhost/some:test"
    manifest = json.loads(blobs[described["digest"].removeprefix("sha256:")])
    config = json.loads(blobs[manifest["config"]["digest"].removeprefix("sha256:")])
    assert config["config"]["Cmd"] == ["program", "-x"]
    (layer,) = manifest["layers"]
    assert config["rootfs"]["diff_ids"] == [layer["digest"]]
    with tarfile.open(fileobj=io.BytesIO(blobs[layer["digest"].removeprefix("sha256:")])) as packed:
        assert "./bin/program" in packed.getnames()
