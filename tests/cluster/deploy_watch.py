"""``kubectl get --watch``, read by a thread: what the API server tells of objects of one kind, as it happens.

In the flow: the record of pods and the stand-ins for a node's agents are told by it. It ends when it is stopped.
"""

import subprocess
import threading
from collections.abc import Callable
from typing import Final

from deploy_kubectl import Kubectl

END_OF_LINE: Final = "{'\\n'}"


class Watch:
    """Calls a function with the words of each line."""

    def __init__(
        self,
        kubectl: Kubectl,
        namespace: str,
        kind: str,
        columns: str,
        tell: Callable[[list[str]], None],
        *options: str,
    ) -> None:
        """Begin.

        Args:
            kubectl: The cluster.
            namespace: Where.
            kind: Of what.
            columns: JSONPath expressions with spaces between them: the words.
            tell: Called in the thread of the watch.
            *options: Of ``kubectl get``.
        """
        command = ("get", kind, "-n", namespace, "--watch", "-o", f"jsonpath={columns}{END_OF_LINE}", *options)
        self._process = subprocess.Popen(kubectl.command(*command), stdout=subprocess.PIPE, text=True)
        self._tell = tell
        self._thread = threading.Thread(target=self._read, name=f"watch-{kind}", daemon=True)
        self._thread.start()

    def _read(self) -> None:
        with self._process:
            for line in self._process.stdout or ():
                self._tell(line.split())

    def stop(self) -> None:
        """End."""
        self._process.terminate()
        self._thread.join()
