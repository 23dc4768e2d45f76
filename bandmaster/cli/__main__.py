"""``python -m bandmaster.cli``: the command ``bandmaster``, where its script is not on the PATH."""

from bandmaster.cli.app import main

if __name__ == "__main__":
    main()
