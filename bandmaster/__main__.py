"""``python -m bandmaster``: the command ``bandmaster``, where its script is not on the PATH.

Python puts the current folder before everything that it imports. The command imports nothing from there: what lies in
somebody's folder, a ``redis.py``, would run in the place of what is installed.
"""

import sys

if not sys.flags.safe_path:
    del sys.path[0]

from bandmaster.cli import main

if __name__ == "__main__":
    main()
