"""``python -m bandmaster``: the command ``bandmaster``, where its script is not on the PATH."""

from bandmaster.cli import main

if __name__ == "__main__":
    main()
