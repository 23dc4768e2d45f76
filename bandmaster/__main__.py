"""Runs ``python -m bandmaster``: the command ``bandmaster``, for when its script is not on the PATH.

Python puts the current folder first on its import path. The command removes it: otherwise a file of that folder, such
as a ``redis.py``, would be imported instead of the installed package.
"""

import sys

if not sys.flags.safe_path:
    del sys.path[0]

from bandmaster.cli import main

if __name__ == "__main__":
    main()
