"""The three images of the node, made without any registry: busybox, Python, and the sandbox's pause.

Each is an archive in the format of the Open Container Initiative (its image specification, version 1.0) with one layer,
which ``ctr images import`` takes. Python's layer is Debian's packages of it, unpacked.
"""

import hashlib
import io
import json
import shutil
import subprocess
import tarfile
from pathlib import Path

from .processes import run, say

_MEDIA = "application/vnd.oci.image.{}.v1+json"
_LAYER = "application/vnd.oci.image.layer.v1.tar"
_PYTHON_PACKAGES = (
    *("libc6", "libgcc-s1", "zlib1g", "libexpat1", "libbz2-1.0", "liblzma5", "libffi8", "libuuid1", "libssl3"),
    *("libcrypt1", "libsqlite3-0", "libpython3.11-minimal", "libpython3.11-stdlib", "python3.11-minimal"),
    *("tzdata", "media-types"),
)


class Images:
    """The archives in the cache."""

    def __init__(self, cache: Path, binaries: Path) -> None:
        self.folder = cache / "images"
        self._roots = cache / "roots"
        self._packages = cache / "packages"
        self._logs = cache / "logs"
        self._pause = binaries / "pause"

    def make(self) -> list[Path]:
        """Make what is missing.

        Returns:
            All archives.

        Raises:
            ClusterError: A package could not be fetched or unpacked.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        made = {
            "localhost/pause:test": (self._pause_root, "/pause"),
            "localhost/busybox:test": (self._busybox_root, "sh"),
            "localhost/python:test": (self._python_root, "python3"),
        }
        archives: list[Path] = []
        for name, (fill, command) in made.items():
            archive = self.folder / f"{name.split('/')[1].replace(':', '-')}.tar"
            if not archive.exists():
                say(f"making the image {name}")
                root = self._roots / archive.stem
                shutil.rmtree(root, ignore_errors=True)
                root.mkdir(parents=True)
                fill(root)
                part = archive.with_suffix(".part")
                part.write_bytes(archived(name, root, command))
                part.rename(archive)
            archives.append(archive)
        return archives

    def _pause_root(self, root: Path) -> None:
        shutil.copy2(self._pause, root / "pause")

    def _busybox_root(self, root: Path) -> None:
        for folder in ("bin", "tmp", "etc"):
            (root / folder).mkdir()
        shutil.copy2("/bin/busybox", root / "bin" / "busybox")
        run("chroot", root, "/bin/busybox", "--install", "-s", "/bin", log=self._logs / "busybox.log")

    def _python_root(self, root: Path) -> None:
        self._packages.mkdir(parents=True, exist_ok=True)
        run("apt-get", "download", *_PYTHON_PACKAGES, log=self._logs / "download.log", folder=self._packages)
        for folder in ("usr/bin", "usr/lib", "usr/lib64", "tmp", "etc"):
            (root / folder).mkdir(parents=True)
        for folder in ("bin", "lib", "lib64"):  # one tree, as in a Debian that is installed
            (root / folder).symlink_to(f"usr/{folder}")
        for package in self._packages.glob("*.deb"):
            contents = subprocess.run(["dpkg-deb", "--fsys-tarfile", package], check=True, capture_output=True).stdout
            run_tar = ("tar", "--extract", "--keep-directory-symlink", "--directory", str(root))
            subprocess.run(run_tar, check=True, input=contents)
        shutil.copy2("/bin/busybox", root / "usr/bin/busybox")
        run("chroot", root, "/usr/bin/busybox", "--install", "-s", "/usr/bin", log=self._logs / "python.log")
        for name in ("python", "python3"):
            (root / "usr/bin" / name).unlink(missing_ok=True)
            (root / "usr/bin" / name).symlink_to("python3.11")


def archived(name: str, root: Path, command: str) -> bytes:
    """An image of one layer, as an archive.

    Args:
        name: The image's name, with its tag.
        root: The folder that is the container's root.
        command: What runs in it unless something else is asked for, in words.
    """
    layer = io.BytesIO()
    with tarfile.open(fileobj=layer, mode="w") as packed:
        packed.add(root, arcname=".")
    blobs: dict[str, bytes] = {}

    def blob(data: bytes, media_type: str) -> dict[str, object]:
        digest = hashlib.sha256(data).hexdigest()
        blobs[f"blobs/sha256/{digest}"] = data
        return {"mediaType": media_type, "digest": f"sha256:{digest}", "size": len(data)}

    def described(text: dict[str, object], kind: str) -> dict[str, object]:
        return blob(json.dumps(text).encode(), _MEDIA.format(kind))

    packed_layer = blob(layer.getvalue(), _LAYER)
    config = described(
        {
            "architecture": "amd64",
            "os": "linux",
            "config": {"Cmd": command.split(), "Env": ["PATH=/usr/local/bin:/usr/bin:/bin"]},
            "rootfs": {"type": "layers", "diff_ids": [packed_layer["digest"]]},
        },
        "config",
    )
    manifest = described(
        {"schemaVersion": 2, "mediaType": _MEDIA.format("manifest"), "config": config, "layers": [packed_layer]},
        "manifest",
    )
    manifest["annotations"] = {
        "io.containerd.image.name": name,
        "org.opencontainers.image.ref.name": name.rpartition(":")[2],
    }
    blobs["index.json"] = json.dumps({"schemaVersion": 2, "manifests": [manifest]}).encode()
    blobs["oci-layout"] = b'{"imageLayoutVersion": "1.0.0"}'
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as packed:
        for path, data in blobs.items():
            entry = tarfile.TarInfo(path)
            entry.size = len(data)
            packed.addfile(entry, io.BytesIO(data))
    return archive.getvalue()
