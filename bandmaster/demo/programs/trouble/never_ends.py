"""Wait for a partner's upload that never comes.

Looks for the file once a second and reports now and then. Nobody writes the file, and the program sets itself
no limit: only a timeout from outside, or a cancellation, ends it.
"""

import itertools
import time
from pathlib import Path

UPLOAD = Path("partner-orders.xml.done")
POLL_SECONDS = 1.0
REPORT_EVERY = 5  # polls


def main() -> None:
    print(f"waiting for {UPLOAD}", flush=True)
    started = time.monotonic()
    for poll in itertools.count(1):
        if UPLOAD.exists():
            break
        if poll % REPORT_EVERY == 0:
            print(f"still waiting for {UPLOAD} after {time.monotonic() - started:.0f} s", flush=True)
        time.sleep(POLL_SECONDS)
    print(f"{UPLOAD} arrived after {time.monotonic() - started:.0f} s")


if __name__ == "__main__":
    main()
