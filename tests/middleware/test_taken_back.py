"""An interrupt that is taken back leaves nothing behind, for which a debugger or a coverage would wait."""

import subprocess
import sys

TRACED = """
import sys
from bandmaster.middleware.grants.cancellation import forget_interrupt

forget_interrupt()
sys.settrace(lambda *_: None)
(lambda: None)()
sys.settrace(None)
print("came back")
"""


def test_a_tracer_goes_on_afterwards() -> None:
    done = subprocess.run([sys.executable, "-c", TRACED], capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, "came back\n", "")
