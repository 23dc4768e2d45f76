"""Who has the cluster: many tests at once, or one alone that stops a part of it."""

import fcntl
import hashlib
import os
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def cluster_of_ones_own(*, alone: bool) -> Generator[None]:
    """The cluster that KUBECONFIG names, while the block runs: shared with others, or not."""
    name = hashlib.sha256(os.environ.get("KUBECONFIG", "").encode()).hexdigest()[:16]
    cluster = Path(tempfile.gettempdir(), f"bandmaster-cluster-{name}.lock")
    with open(cluster, "w") as lock:
        # Whoever waits for the whole cluster keeps later comers from it, or it would never be free.
        with open(cluster.with_suffix(".gate"), "w") as gate:
            fcntl.flock(gate, fcntl.LOCK_EX)
            fcntl.flock(lock, fcntl.LOCK_EX if alone else fcntl.LOCK_SH)
        yield
