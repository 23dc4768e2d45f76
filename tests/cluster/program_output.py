"""What a program in a pod says: how a test knows that it has come so far."""

from bandmaster.k8s.pods import Pods
from waiting import wait_until


def wait_until_it_says(pods: Pods, name: str, word: str) -> None:
    """Wait for a word in the output of a pod's program, as for ``begun`` behind a trap: then it hears the signal."""
    wait_until(lambda: word.encode() in b"".join(pods.logs(name)), what=f"{name} saying {word!r}")
