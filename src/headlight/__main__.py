"""``python -m headlight``: the command line, where the command ``headlight`` is not on the path."""

from headlight.cli import main

if __name__ == "__main__":
    main()
