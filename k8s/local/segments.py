"""Stores a program's output on disk within a limit: keeps its beginning and its end, drops the middle.

Output is cut into numbered segments of equal size. The first two and the last two are kept, so at most four exist. A
reader's position counts the bytes of the whole output, which makes following simple: a missing segment was dropped.
Only the supervisor writes; if it dies, ``logs`` shows the output that is on disk.
"""

import os

KEPT_AT_EACH_END = 2
#: At most this many segments are kept.
SEGMENTS = 2 * KEPT_AT_EACH_END
#: At most so much is read at once: a reader's memory does not grow with the limit of the output.
_READ_BYTES = 1 << 16


class OutputWriter:
    """Writes a program's output, and never delays the program by more than a buffered write to disk."""

    def __init__(self, directory: str, segment_bytes: int) -> None:
        self.total_bytes = 0
        #: Whether bytes were lost to a full or broken disk, which never stops the program.
        self.lossy = False
        self._directory = directory
        self._segment_bytes = segment_bytes
        self._index = -1
        self._file: int | None = None

    def write(self, data: bytes) -> None:
        """Append output, and drop the middle of what exceeds the limit."""
        view = memoryview(data)
        while view:
            try:
                written = self._write_some(view)
            except OSError:
                # Disk full: the run matters more than its output, so go on reading and report the loss at the end.
                self.lossy = True
                return
            self.total_bytes += written
            view = view[written:]

    def close(self) -> None:
        """Close the file that is being written."""
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def discard(self) -> None:
        """Delete the output to free its disk space."""
        self.close()
        for name in os.listdir(self._directory):
            os.unlink(os.path.join(self._directory, name))

    def _write_some(self, view: memoryview) -> int:
        index, position = divmod(self.total_bytes, self._segment_bytes)
        if index != self._index or self._file is None:
            self.close()
            flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
            self._file = os.open(_path(self._directory, index), flags, 0o600)
            self._index = index
            outdated = index - KEPT_AT_EACH_END
            if outdated >= KEPT_AT_EACH_END:
                os.unlink(_path(self._directory, outdated))
        return os.write(self._file, view[: self._segment_bytes - position])


class OutputReader:
    """Reads output, finished or still growing."""

    def __init__(self, directory: str, segment_bytes: int) -> None:
        self._directory = directory
        self._segment_bytes = segment_bytes

    def total_bytes(self) -> int:
        """The number of bytes written so far, including dropped ones."""
        indexes = self._indexes()
        if not indexes:
            return 0
        try:
            last = os.stat(_path(self._directory, indexes[-1])).st_size
        except FileNotFoundError:
            last = 0
        return indexes[-1] * self._segment_bytes + last

    def read(self, position: int) -> tuple[bytes, int]:
        """Read from a position, to the end of its segment at most.

        Returns:
            The bytes (empty: nothing more yet) and where they begin: after ``position`` if bytes were dropped.
        """
        index, offset = divmod(position, self._segment_bytes)
        while True:
            try:
                with open(_path(self._directory, index), "rb") as file:
                    file.seek(offset)
                    data = file.read(min(_READ_BYTES, self._segment_bytes - offset))
                return data, index * self._segment_bytes + offset
            except FileNotFoundError:
                later = [candidate for candidate in self._indexes() if candidate > index]
                if not later:
                    return b"", position
                index, offset = later[0], 0

    def tail(self, size: int) -> bytes:
        """Read at most ``size`` bytes from the end, without a character that the cut splits."""
        start = max(0, self.total_bytes() - size)
        position, pieces = start, list[bytes]()
        while True:
            data, begins = self.read(position)
            if not data:
                break
            pieces = [data] if begins > position else [*pieces, data]
            position = begins + len(data)
        tail = b"".join(pieces)
        if start > 0:
            # Leading UTF-8 continuation bytes, at most three, belong to a character that begins before the cut.
            broken = 0
            while broken < min(3, len(tail)) and tail[broken] & 0xC0 == 0x80:
                broken += 1
            tail = tail[broken:]
        return tail

    def _indexes(self) -> list[int]:
        try:
            return sorted(int(name) for name in os.listdir(self._directory))
        except FileNotFoundError:
            return []


def _path(directory: str, index: int) -> str:
    return os.path.join(directory, f"{index:08d}")
