"""A program's output on disk, bounded: its beginning and its end are kept, what lies between is dropped.

Output is cut into numbered segments of equal size. The first two stay, of the others only the last two, so that
at most four exist. A reader counts in bytes of the whole output, which makes following simple: a segment that is
missing was dropped. Written by the supervisor alone; whatever is on disk when it dies is what ``logs`` shows.
"""

import os

KEPT_AT_EACH_END = 2
#: The bound on all output is this many segments.
SEGMENTS = 2 * KEPT_AT_EACH_END


class OutputWriter:
    """Takes all that a program writes, and never makes it wait for more than the disk's own buffers."""

    def __init__(self, directory: str, segment_bytes: int) -> None:
        self.total_bytes = 0
        #: Whether bytes were lost to a full or broken disk, which never stops the program.
        self.lossy = False
        self._directory = directory
        self._segment_bytes = segment_bytes
        self._index = -1
        self._file: int | None = None

    def write(self, data: bytes) -> None:
        """Append output, dropping what the bound leaves no room for."""
        view = memoryview(data)
        while view:
            try:
                written = self._write_some(view)
            except OSError:
                # Disk full: the program's output is worth less than its run, so go on reading and say so at the end.
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
        """Give back the disk that the output takes."""
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
        """How much was written so far, dropped bytes included."""
        indexes = self._indexes()
        if not indexes:
            return 0
        try:
            last = os.stat(_path(self._directory, indexes[-1])).st_size
        except FileNotFoundError:
            last = 0
        return indexes[-1] * self._segment_bytes + last

    def read(self, position: int) -> tuple[bytes, int]:
        """Read what follows a position, as far as the end of its segment.

        Returns:
            The bytes (empty: nothing more yet) and where they begin: behind ``position`` if bytes were dropped.
        """
        index, offset = divmod(position, self._segment_bytes)
        while True:
            try:
                with open(_path(self._directory, index), "rb") as file:
                    file.seek(offset)
                    data = file.read(self._segment_bytes - offset)
                return data, index * self._segment_bytes + offset
            except FileNotFoundError:
                later = [candidate for candidate in self._indexes() if candidate > index]
                if not later:
                    return b"", position
                index, offset = later[0], 0

    def tail(self, size: int) -> bytes:
        """Read the last bytes, as many as there are up to ``size``, without a character that the cut goes through."""
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
            # UTF-8 continuation bytes, at most three, belong to a character that begins before the cut.
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
