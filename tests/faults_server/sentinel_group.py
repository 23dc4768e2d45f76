"""A primary, a replica and a sentinel that watches both: real processes of one test, on ports of this machine."""

import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import redis
from become_server import BECOME_SERVER
from redis.backoff import NoBackoff
from redis.retry import Retry

from waiting import GENEROUS_SECONDS, wait_until

SERVICE: Final = "queue"
DOWN_AFTER_MS: Final = 1_000


class SentinelGroup:
    """Started when made; `end` ends what is left of it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._processes: dict[int, subprocess.Popen[bytes]] = {}
        self.ports = [_free_port(), _free_port()]
        self._sentinel_port = _free_port()
        primary, replica = self.ports
        self._server(primary)
        self._server(replica, "--replicaof", f"127.0.0.1 {primary}")
        with _client(replica) as client:
            wait_until(lambda: client.info("replication")["master_link_status"] == "up", what="the replica")
        configuration = folder / "sentinel.conf"
        configuration.write_text(
            f"port {self._sentinel_port}\ndir {folder}\nlogfile {folder}/sentinel.log\n"
            f"sentinel monitor {SERVICE} 127.0.0.1 {primary} 1\n"
            f"sentinel down-after-milliseconds {SERVICE} {DOWN_AFTER_MS}\n"
            f"sentinel failover-timeout {SERVICE} 10000\n"
        )
        self._start(self._sentinel_port, str(configuration), "--sentinel")
        with _client(self._sentinel_port) as sentinel:
            wait_until(lambda: self._replicas(sentinel) == 1, what="the sentinel knows the replica")

    @property
    def url(self) -> str:
        """As the settings take it; the first of its sentinels is not there."""
        return f"redis+sentinel://127.0.0.1:{_free_port()},127.0.0.1:{self._sentinel_port}/{SERVICE}/0"

    def kill_primary(self) -> None:
        """Nothing of it gets to do anything more."""
        process = self._processes.pop(self.ports[0])
        process.send_signal(signal.SIGKILL)
        process.wait(timeout=GENEROUS_SECONDS)

    def fail_over(self) -> None:
        """Have the replica promoted; the old primary lives on, as a replica."""
        with _client(self._sentinel_port) as sentinel:
            wait_until(lambda: _promotes(sentinel), what="a replica that the sentinel has heard of lately")

    def is_over(self) -> bool:
        """Whether the sentinel names the replica as the primary now, and the old one, if it lives, takes no writes."""
        old, _ = self.ports
        if old in self._processes:
            with _client(old) as client:
                try:
                    role = client.info("replication")["role"]
                except redis.ConnectionError:
                    return False  # it ends all connections as it becomes a replica
                if role == "master":
                    return False
        with _client(self._sentinel_port) as sentinel:
            found = sentinel.execute_command("SENTINEL GET-MASTER-ADDR-BY-NAME", SERVICE)
        return bool(found) and int(found[1]) == self.ports[1]

    def keys_of(self, port: int) -> int:
        """How many keys a server has."""
        with _client(port) as client:
            return int(client.dbsize())

    def end(self) -> None:
        """Whatever state it is in."""
        for process in self._processes.values():
            process.kill()
            process.wait(timeout=GENEROUS_SECONDS)

    def _server(self, port: int, *options: str) -> None:
        folder = self._folder / str(port)
        folder.mkdir()
        self._start(
            port,
            *("--port", str(port), "--bind", "127.0.0.1", "--dir", str(folder), "--save", ""),
            *("--logfile", str(folder / "log"), "--repl-diskless-sync-delay", "0"),
            *options,
        )

    def _start(self, port: int, *arguments: str) -> None:
        self._processes[port] = subprocess.Popen([sys.executable, "-c", BECOME_SERVER, *arguments])
        with _client(port) as client:
            wait_until(lambda: self._answers(client, port), what="the server")

    def _answers(self, client: Any, port: int) -> bool:
        assert self._processes[port].poll() is None, "it ended"
        try:
            return bool(client.ping())
        except redis.ConnectionError:
            return False

    @staticmethod
    def _replicas(sentinel: Any) -> int:
        return len(sentinel.execute_command("SENTINEL REPLICAS", SERVICE))


def _promotes(sentinel: Any) -> bool:
    try:
        sentinel.execute_command("SENTINEL FAILOVER", SERVICE)
    except redis.ResponseError as error:
        if not str(error).startswith("NOGOODSLAVE"):
            raise
        return False
    return True


def _client(port: int) -> Any:  # redis-py types every reply as a union with its async twin
    return redis.Redis(port=port, retry=Retry(NoBackoff(), 0), protocol=2)


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port
