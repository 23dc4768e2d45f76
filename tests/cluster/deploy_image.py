"""The image of the deployment tests: BANDMASTER_TEST_IMAGE, or one built from the Dockerfile and put on the node.

In the flow: made once a test run, before anything is installed. Where the cluster's containerd is on this machine (its
socket beside the kubeconfig, or named by BANDMASTER_TEST_CONTAINERD), the Dockerfile is built by buildah without any
network: on a base image of Debian's own Python packages, with wheels that pip has fetched. The processes of a test run
share it; the last one that uses it removes it.
"""

import contextlib
import fcntl
import os
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from deploy_kubectl import need, skip_or_fail

ROOT: Final = Path(__file__).parents[2]
NAME: Final = "localhost/bandmaster"
BASE: Final = "localhost/bandmaster-base:test"
BUILD_SECONDS: Final = 900.0
#: Python 3.11 with venv, and what of it is compiled; the shell and the tools are busybox's.
DEBIAN_PACKAGES: Final = (
    *("busybox-static", "libbz2-1.0", "libc6", "libcom-err2", "libcrypt1", "libdb5.3"),
    *("libexpat1", "libffi8", "libgcc-s1", "libgssapi-krb5-2", "libk5crypto3", "libkeyutils1"),
    *("libkrb5-3", "libkrb5support0", "liblzma5", "libncursesw6", "libnsl2", "libpython3.11-minimal"),
    *("libpython3.11-stdlib", "libreadline8", "libsqlite3-0", "libssl3", "libtinfo6", "libtirpc3"),
    *("libuuid1", "media-types", "python3-pip-whl", "python3-setuptools-whl", "python3.11", "python3.11-minimal"),
    *("python3.11-venv", "tzdata", "zlib1g"),
)
#: Beside the project's own: what builds it, and what redis needs on a Python before 3.11.3, as Debian's is.
MORE_WHEELS: Final = ("setuptools", "async-timeout")
BASE_DOCKERFILE: Final = """
FROM scratch
COPY base /
ENV PATH=/usr/local/bin:/usr/bin:/bin
"""


@dataclass(frozen=True, slots=True)
class Image:
    """What the chart's values name."""

    repository: str
    tag: str

    @property
    def reference(self) -> str:
        """As in a pod."""
        return f"{self.repository}:{self.tag}"


@contextlib.contextmanager
def usable_image(kubeconfig: Path) -> Generator[Image]:
    """An image that the cluster can run."""
    named = os.environ.get("BANDMASTER_TEST_IMAGE")
    if named:
        repository, _, tag = named.rpartition(":")
        yield Image(repository, tag)
        return
    socket = Path(os.environ.get("BANDMASTER_TEST_CONTAINERD", kubeconfig.parent / "containerd.sock"))
    if not socket.is_socket():
        skip_or_fail("BANDMASTER_TEST_IMAGE names no image, and the node's containerd is not here to be given one")
    if os.geteuid() != 0:
        skip_or_fail("only root can build an image here; BANDMASTER_TEST_IMAGE may name one")
    for program in ("buildah", "ctr", "apt-get", "dpkg"):
        need(program)
    # pytest-xdist gives all processes of a run this id.
    image = Image(NAME, f"test-{os.environ.get('PYTEST_XDIST_TESTRUNUID', os.getpid())}")
    with _on_the_node(socket, image):
        yield image


@contextlib.contextmanager
def _on_the_node(socket: Path, image: Image) -> Generator[None]:
    """Put the image there, unless another process of this run has done so; remove it, unless another one uses it."""
    images = ("ctr", "-a", socket, "-n", "k8s.io", "images")
    used = Path(tempfile.gettempdir(), f"bandmaster-image-{image.tag}.lock")
    with contextlib.ExitStack() as ends:
        with _one_at_a_time():
            users = ends.enter_context(used.open("w"))
            fcntl.flock(users, fcntl.LOCK_SH)
            if image.reference not in _run(*images, "ls", "-q").split():
                with tempfile.TemporaryDirectory(prefix="bm-image-") as folder:
                    _run(*images, "import", _build(Path(folder), image))
        try:
            yield
        finally:
            with _one_at_a_time(), contextlib.suppress(BlockingIOError):
                fcntl.flock(users, fcntl.LOCK_EX | fcntl.LOCK_NB)
                used.unlink()
                _run(*images, "rm", image.reference)


@contextlib.contextmanager
def _one_at_a_time() -> Generator[None]:
    with Path(tempfile.gettempdir(), "bandmaster-image.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _build(folder: Path, image: Image) -> Path:
    wheels, archive = folder / "wheels", folder / "image.tar"
    _fetch_wheels(wheels)
    _unpack_base(folder / "base")
    (folder / "Dockerfile").write_text(BASE_DOCKERFILE)
    _buildah(folder, "bud", "--quiet", "--tag", BASE, "--file", folder / "Dockerfile", folder)
    _buildah(
        folder,
        *("bud", "--quiet", "--tag", image.reference, "--file", ROOT / "configs/deploy/Dockerfile"),
        *("--volume", f"{wheels}:/wheels:ro"),
        *(
            "--build-arg",
            f"BASE_IMAGE={BASE}",
            "--build-arg",
            "PIP_NO_INDEX=1",
            "--build-arg",
            "PIP_FIND_LINKS=/wheels",
        ),
        ROOT,
    )
    _buildah(folder, "push", "--quiet", image.reference, f"oci-archive:{archive}:{image.reference}")
    return archive


def _fetch_wheels(folder: Path) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = [each for extra in project["optional-dependencies"].values() for each in extra]
    _run(
        *(sys.executable, "-m", "pip", "download", "--quiet", "--dest", folder),
        *("--only-binary=:all:", "--python-version=3.11", "--constraint", ROOT / "requirements.lock"),
        *MORE_WHEELS,
        *project["dependencies"],
        *(each for each in extras if not each.startswith(f"{project['name']}[")),
    )


def _unpack_base(folder: Path) -> None:
    packages = folder.with_name("packages")
    packages.mkdir()
    _run("apt-get", "download", "--quiet", *DEBIAN_PACKAGES, cwd=packages)
    for package in sorted(packages.glob("*.deb")):
        _run("dpkg", "-x", package, folder)
    for name in ("dev", "proc", "sys", "root", "tmp"):
        (folder / name).mkdir(exist_ok=True)
    (folder / "tmp").chmod(0o1777)
    _run("chroot", folder, "/bin/busybox", "--install", "-s", "/bin")
    for name in ("python3", "python"):
        (folder / "usr/bin" / name).symlink_to("python3.11")


def _buildah(folder: Path, command: str, *arguments: str | Path) -> None:
    # Its own store, copied and not mounted, so that it goes with the folder.
    store = ("--root", folder / "store", "--runroot", folder / "run", "--storage-driver", "vfs")
    isolation = ("--isolation", "chroot") if command == "bud" else ()
    _run("buildah", *store, command, *isolation, *arguments)


def _run(*command: str | Path, cwd: Path | None = None) -> str:
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False, timeout=BUILD_SECONDS)
    assert done.returncode == 0, f"{' '.join(map(str, command[:4]))}…: {done.stderr[-4000:] or done.stdout[-4000:]}"
    return done.stdout
