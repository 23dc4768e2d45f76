"""Pack Python sources into a tar archive, mail it as base64, unpack and compare.

The archive is reproducible: with owners and times set, the same sources always give the same bytes.
"""

import base64
import gzip
import hashlib
import io
import sysconfig
import tarfile
from pathlib import Path

STDLIB = Path(sysconfig.get_path("stdlib"))


def pack(files: dict[str, bytes]) -> bytes:
    """Return a gzipped tar archive that depends on nothing but ``files``."""
    tar = io.BytesIO()
    with tarfile.open(fileobj=tar, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name, content in sorted(files.items()):
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            entry.mode = 0o644
            archive.addfile(entry, io.BytesIO(content))
    return gzip.compress(tar.getvalue(), mtime=0)


def unpack(data: bytes) -> dict[str, bytes]:
    """Return name -> content of every regular file in the archive."""
    with tarfile.open(fileobj=io.BytesIO(data), mode="r:gz") as archive:
        return {entry.name: archive.extractfile(entry).read() for entry in archive if entry.isfile()}


def main() -> None:
    files = {
        path.relative_to(STDLIB).as_posix(): path.read_bytes()
        for package in ("json", "http", "logging")
        for path in (STDLIB / package).glob("*.py")
    }
    data = pack(files)
    mail = base64.encodebytes(data)
    received = unpack(base64.decodebytes(mail))

    for name, content in sorted(received.items()):
        print(f"{len(content):>8,}  {name}")
    print(f"\n{len(files)} files, {sum(map(len, files.values())):,} bytes")
    print(f"archive {len(data):,} bytes, as mail {len(mail):,} bytes in {mail.count(b'%c' % 10):,} lines")
    print(f"sha256 {hashlib.sha256(data).hexdigest()}")
    if not files or received != files:
        raise SystemExit("what was received is not what was sent")
    if pack(dict(reversed(files.items()))) != data:
        raise SystemExit("the archive is not reproducible")


if __name__ == "__main__":
    main()
